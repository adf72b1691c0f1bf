/** Where scenarios stand: of a run at work that is told but once a second, and its maps come in between. */
import type { State } from "./store";
import type { Scenario } from "./told";

type Known = Pick<State, "info" | "reached">;

/** A scenario with the newest step that is known of it; undefined where there is none of this name. */
export function scenarioNow({ info, reached }: Known, name: string | undefined): Scenario | undefined {
  const told = info?.scenarios.find((each) => each.name === name);
  return told && { ...told, step: reached[told.name] ?? told.step };
}

/** The first scenario that is shown, to which orders go. */
export function shownFirst(state: Known & Pick<State, "look">): Scenario | undefined {
  return scenarioNow(state, state.look.scenarios[0]) ?? scenarioNow(state, state.info?.scenarios[0]?.name);
}
