/** Which streams of the live socket show what somebody chose. */
import type { Stream } from "../fetch/live";
import type { Grid } from "../state/grid";
import type { State } from "../state/store";
import type { Variable } from "../state/told";

const LARGE = 2_000_000; // cells above which a map comes in no more pixels than it is shown in

/** One stream a scenario. rate: frames a second; width: device pixels across the page. */
export function streamsOf(scenarios: readonly string[], variable: string, rate: number, grid: Grid | null, width: number): Stream[] {
  const large = grid !== null && grid.rows * grid.columns > LARGE;
  return scenarios.map((scenario, index) => ({
    ...{ stream: index + 1, scenario, variable, bits: 16, range: "auto", rate },
    ...(large ? { width: Math.min(grid.columns, Math.round(width)) } : {}),
  }));
}

/** Whether what is shown is what was wanted. */
export function fits(told: { stream: number; scenario: string; variable: string }, wanted: Stream): boolean {
  return told.stream === wanted.stream && told.scenario === wanted.scenario && told.variable === wanted.variable;
}

/** Whether the variable that was chosen has a map. The others are one number of the whole grid. */
export function hasMap({ run, look }: Pick<State, "run" | "look">): boolean {
  return !!run?.variables.find((each) => each.name === look.variable)?.map;
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
  return (recorded[0] ?? states[0] ?? maps[0] ?? variables[0])?.name ?? "";
}
