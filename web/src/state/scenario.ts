/** Where scenarios stand: of a run at work that is told but once a second, and its maps come in between. */
import { mapName, named } from "./levels";
import type { Look, State } from "./store";
import type { Scenario, Variable } from "./told";

type Known = Pick<State, "info" | "reached">;

/** A scenario with the newest step that is known of it; undefined where there is none of this name. */
export function scenarioNow({ info, reached }: Known, name: string | undefined): Scenario | undefined {
  const told = info?.scenarios.find((each) => each.name === name);
  return told && { ...told, step: reached[told.name] ?? told.step };
}

/** The scenarios on view, two where they are compared. */
export function onView({ maps, scenarios }: Pick<Look, "maps" | "scenarios">): string[] {
  return scenarios.slice(0, maps === 1 || maps === 5 ? 1 : 2);
}

/** Whether two variables of one scenario are shown side by side. */
export function besides({ maps, variable, other }: Pick<Look, "maps" | "variable" | "other">): boolean {
  return maps === 5 && other !== "" && other !== variable;
}

/** What each map shows. */
export function mapsOf(look: Pick<Look, "maps" | "scenarios" | "variable" | "other">): { scenario: string; variable: string }[] {
  const variables = besides(look) ? [look.variable, look.other] : [look.variable];
  return onView(look).flatMap((scenario) => variables.map((variable) => ({ scenario, variable })));
}

/** A variable of the run by its name. */
export function variableOf({ run }: Pick<State, "run">, name: string | undefined): Variable | undefined {
  return named(run?.variables ?? [], name);
}

/** The components of a vector of the run, at the level that is looked at: along east or west, along north or south. */
export function componentsOf({ run, look }: Pick<State, "run" | "look">, vector: string): [Variable, Variable] | null {
  const variables = run?.variables ?? [];
  const parts = variables
    .filter((each) => vector && each.vector === vector)
    .flatMap((each) => named(variables, mapName(each, look.variable)) ?? []);
  const along = (...ways: string[]) => parts.find((each) => ways.includes(each.toward));
  const [x, y] = [along("east", "west"), along("north", "south")];
  return x && y ? [x, y] : null;
}

/** The branches on the path to a scenario, and the last step of each that is on it. along: ends the path at the first that is not so. */
export function legsOf(
  scenarios: readonly Scenario[],
  from: Scenario | undefined,
  along: (scenario: Scenario) => boolean = () => true,
): Map<number, number> {
  const legs = new Map<number, number>();
  let [at, end] = [from, Number.POSITIVE_INFINITY];
  while (at && !legs.has(at.branch)) {
    legs.set(at.branch, end);
    const { fork_step, parent }: Scenario = at;
    end = Math.min(end, fork_step); // one that went back behind an earlier fork has no step between them
    at = scenarios.find((each) => each.branch === parent && along(each));
  }
  return legs;
}

/** What a rewind or a deletion left behind: nobody goes on with it. */
export const LEFT = /@[0-9]+$/;

/** The scenario that orders go to; undefined where it is not known yet. */
export function steeredNow(state: Known & Pick<State, "steered">): Scenario | undefined {
  return scenarioNow(state, state.steered);
}

/** Its name in a tree that has changed: one that was renamed keeps the orders, of one that is gone the first that is shown gets them. */
export function steeredIn({ info, look, steered }: Known & Pick<State, "look" | "steered">, scenarios: readonly Scenario[]): string {
  const names = scenarios.map((each) => each.name);
  const before = info?.scenarios.find((each) => each.name === steered);
  if (names.includes(steered) || (steered && info && !before)) return steered; // one that was made a moment ago is told of soon
  const renamed = scenarios.find((each) => each.branch === before?.branch && !LEFT.test(each.name));
  return renamed?.name ?? look.scenarios.find((name) => names.includes(name)) ?? names[0] ?? "";
}

/** First and last step of what is played again. at: where the run stands. */
export function loopOf({ loop }: Pick<State, "loop">, at: number): [number, number] {
  const [first, last] = loop ?? [0, at];
  return [Math.min(first, Math.max(0, at - 1)), Math.min(last, at)];
}

/** "main and heavy". */
export function listed(names: readonly string[]): string {
  return names.join(" and ");
}

/** The scenario whose state is told: the steered one where it is on view, else the first that is shown. */
export function toldOf(state: Known & Pick<State, "look" | "steered">): Scenario | undefined {
  const name = onView(state.look).find((each) => each === state.steered) ?? state.look.scenarios[0];
  return scenarioNow(state, name) ?? scenarioNow(state, state.info?.scenarios[0]?.name);
}
