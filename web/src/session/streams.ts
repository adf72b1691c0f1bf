/** Which streams of the live socket show what somebody chose. */
import type { Stream } from "../fetch/live";
import { mapName } from "../state/levels";
import { componentsOf, mapsOf, variableOf } from "../state/scenario";
import type { State } from "../state/store";
import type { Variable } from "../state/told";

const LARGE = 2_000_000; // cells above which a map comes in no more pixels than it is shown in
const ACROSS = 128; // arrows that a grid has along a row, at most
/** The streams of the components of the arrows; those of the maps have lower numbers. */
export const ARROWS = [3, 4] as const;

/** One stream a map, and two for arrows. width: device pixels across the page. */
export function streamsOf(state: Pick<State, "look" | "run" | "grid" | "frame_rate">, width: number): Stream[] {
  const { look, frame_rate: rate } = state;
  const maps = mapsOf(look).map(
    ({ scenario, variable }, index): Stream => ({
      ...{ stream: index + 1, scenario, variable, bits: 16, range: "auto", rate },
      ...coarser(state, variable, width),
    }),
  );
  const arrows = arrowsOf(state).map(
    ({ scenario, variable, width }, index): Stream => ({
      ...{ stream: ARROWS[index] as number, scenario, variable, bits: 16, range: "auto", rate },
      ...(width ? { width } : {}),
    }),
  );
  return [...maps, ...arrows.filter((each) => !maps.some((map) => isSame(map, each)))];
}

/** How a map of a large grid is made smaller: its pixels are means of cells; of classes, which have no mean, every n-th cell. */
function coarser({ run, grid }: Pick<State, "run" | "grid">, variable: string, width: number): Pick<Stream, "width" | "stride"> {
  if (grid === null || grid.rows * grid.columns <= LARGE) return {};
  const across = Math.min(grid.columns, Math.max(1, Math.round(width)));
  return Object.keys(variableOf({ run }, variable)?.classes ?? {}).length
    ? { stride: Math.ceil(grid.columns / across) }
    : { width: across };
}

/** Whether two streams show the same, of which the server sends one. */
function isSame(one: Stream, other: Stream): boolean {
  return one.scenario === other.scenario && one.variable === other.variable && one.width === other.width;
}

/** The streams of both components of the arrows: where a map shows one, that of the map. */
export function arrowStreams(wanted: readonly Stream[], parts: ReturnType<typeof arrowsOf>): number[] {
  return parts.map(
    ({ scenario, variable, width }) =>
      wanted.find((each) => each.scenario === scenario && each.variable === variable && each.width === width)?.stream ?? 0,
  );
}

/** The components of the arrows that are drawn, and in how many columns a large grid has them. */
export function arrowsOf({
  look,
  run,
  grid,
}: Pick<State, "look" | "run" | "grid">): { scenario: string; variable: string; width?: number }[] {
  const width = grid && grid.columns > ACROSS ? { width: ACROSS } : {};
  const [scenario = ""] = look.scenarios;
  return (componentsOf({ run, look }, look.arrows) ?? []).map(({ name }) => ({ scenario, variable: name, ...width }));
}

/** Whether what is shown is what was wanted. */
export function fits(told: { stream: number; scenario: string; variable: string }, wanted: Stream): boolean {
  return told.stream === wanted.stream && told.scenario === wanted.scenario && told.variable === wanted.variable;
}

/** Whether the variable that was chosen has a map. The others are one number of the whole grid. */
export function hasMap({ run, look }: Pick<State, "run" | "look">): boolean {
  return !!variableOf({ run }, look.variable)?.map;
}

/**
 * The variable that a page opens on: the first recorded one with a map that the model computes, else the first state with a map. A
 * diagnostic has no value before the first step. step: at which the scenario stands.
 */
export function firstMap(variables: readonly Variable[], outputs: readonly string[], step: number): string {
  const maps = variables.filter((each) => each.map);
  const states = maps.filter((each) => each.role === "state");
  const roles = ["state", "derived", ...(step > 0 ? ["diagnostic"] : [])];
  const recorded = outputs.flatMap((name) => maps.filter((each) => each.name === name && roles.includes(each.role)));
  const first = recorded[0] ?? states[0] ?? maps[0] ?? variables[0];
  return first ? mapName(first, "") : "";
}
