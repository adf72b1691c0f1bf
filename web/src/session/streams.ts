/** Which streams of the live socket show what somebody chose. */
import type { Stream } from "../fetch/live";
import type { Grid } from "../state/grid";
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

/**
 * The variable that is shown when nobody has chosen one: the first that the model computes of those that are written, of one number a
 * cell; else the first of the state. A diagnostic has no value before the first step. step: at which the scenario stands.
 */
export function first(variables: readonly Variable[], outputs: readonly string[], step: number): string {
  const flat = variables.filter((each) => each.dims.length <= 1);
  const states = flat.filter((each) => each.role === "state");
  const roles = ["state", "derived", ...(step > 0 ? ["diagnostic"] : [])];
  const written = outputs.flatMap((name) => flat.filter((each) => each.name === name && roles.includes(each.role)));
  return (written[0] ?? states[0] ?? flat[0] ?? variables[0])?.name ?? "";
}
