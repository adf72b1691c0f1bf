import { expect, test } from "vitest";
import { placementOf } from "../src/draw/field";
import { arrowStreams, arrowsOf, firstMap, streamsOf } from "../src/session/streams";
import { gridOf } from "../src/state/grid";
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

test("a map of a large grid is one of means, and one of classes of every n-th cell, which lies where its cells lie", () => {
  const grid = gridOf({
    ...{ kind: "raster", shape: { lat: 1451, lon: 1451 }, cells: 1451 * 1451, digest: "d", bounds: [0, -29, 29.02, 0.02] },
    ...{ lat0: 0.01, dlat: -0.02, lon0: 0.01, dlon: 0.02 },
  });
  const kinds = { ...variable("kind", "state"), classes: { 1: "sand", 2: "clay" } };
  const state = (name: string): State =>
    ({
      ...FIRST,
      grid,
      run: { variables: [kinds, variable("age", "state")] },
      look: { ...FIRST.look, variable: name },
    }) as unknown as State;
  const [age, kind] = ["age", "kind"].map((name) => streamsOf(state(name), 1092)[0]);
  expect([age?.width, age?.stride, kind?.width, kind?.stride]).toEqual([1092, undefined, undefined, 2]);
  const [panel, view] = [
    { x: 0, y: 0, width: 1092, height: 900 },
    { x: 14.51, y: -14.49, zoom: 30 },
  ];
  const whole = placementOf(view, grid, panel, { rows: 1451, columns: 1451 });
  const half = placementOf(view, grid, panel, { rows: 726, columns: 726, stride: 2 });
  expect(half.start.map((cells) => 2 * cells)).toEqual(whole.start.map((cells) => expect.closeTo(cells, 6)));
  expect(half.stride.map((cells) => 2 * cells)).toEqual(whole.stride.map((cells) => expect.closeTo(cells, 9)));
});
