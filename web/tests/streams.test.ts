import { expect, test } from "vitest";
import { arrowStreams, arrowsOf, firstMap, streamsOf } from "../src/session/streams";
import { FIRST, type State } from "../src/state/store";
import type { Variable } from "../src/state/told";

const variable = (name: string, role: Variable["role"], map: Variable["map"] = "field") => ({ name, role, map }) as Variable;
const variables = [
  variable("rain", "forcing"),
  variable("gravity", "parameter", ""),
  variable("green", "state"),
  variable("growth", "diagnostic"),
  variable("standing", "derived"),
];

test("what is written and has a value at once is shown first, else a state with a map", () => {
  expect(firstMap(variables, ["rain", "growth", "standing", "green"], 0)).toBe("standing");
  expect(firstMap(variables, ["rain", "growth"], 0)).toBe("green");
  expect(firstMap(variables, [], 0)).toBe("green");
  expect(firstMap(variables, ["rain", "growth", "standing", "green"], 60)).toBe("growth");
  expect(firstMap([], ["green"], 0)).toBe("");
});

test("arrows take a component from the map that shows it, whose stream the server would not send twice", () => {
  const part = (name: string, toward: string) => ({ name, role: "state", map: "field", levels: null, vector: "flow", toward }) as Variable;
  const run = { variables: [part("u", "east"), part("v", "north")] } as unknown as State["run"];
  const state = (variable: string): State => ({ ...FIRST, run, look: { ...FIRST.look, variable, scenarios: ["main"], arrows: "flow" } });
  const streams = (variable: string) => {
    const wanted = streamsOf(state(variable), 800);
    return [wanted.map((each) => each.stream), arrowStreams(wanted, arrowsOf(state(variable)))];
  };
  expect(streams("depth")).toEqual([
    [1, 3, 4],
    [3, 4],
  ]);
  expect(streams("v")).toEqual([
    [1, 3],
    [3, 1],
  ]);
});
