import { expect, it } from "vitest";
import { drawTitles } from "../src/draw/picture";
import { FIRST, type Shown, type State } from "../src/state/store";
import type { Variable } from "../src/state/told";
import { titlesOf } from "../src/ui/titles";

const clock = { start: "2003-01-01T00:00:00", step: 86400, calendar: "standard", units: "days since 2003-01-01" };
const green = { name: "green", units: "kg ha-1", long_name: "Green leaf", map: "field" } as Variable;
const frame = (scenario: string, step: number, live = true): Shown => ({
  ...{ stream: 1, scenario, variable: "green", units: "kg ha-1", step, live },
});
const state = (parts: Partial<State>): State => ({
  ...FIRST,
  connection: { ...FIRST.connection, link: "live" },
  run: {
    name: "q",
    title: "",
    model: "pasture",
    steps: 400,
    clock,
    forcing: null,
    variables: [green],
    parameters: {},
    outputs: [],
    given: [],
    planned: [],
  },
  look: { ...FIRST.look, variable: "green", scenarios: ["main", "dry"] },
  ...parts,
});
const texts = (parts: Partial<State>) => titlesOf(state(parts), [0, 1, 2]).map(({ title, text }) => `${title}: ${text}`);

it("a title says scenario, variable, unit and date, and that a difference needs equal dates", () => {
  expect(texts({ shown: [frame("main", 51), frame("dry", 51)] })).toEqual([
    "main: Green leaf, kg ha⁻¹, 20 Feb 2003",
    "dry: Green leaf, kg ha⁻¹, 20 Feb 2003",
    "dry − main: Green leaf, kg ha⁻¹, 20 Feb 2003",
  ]);
  expect(texts({ shown: [frame("main", 51), frame("dry", 50)] })[2]).toBe("dry − main: no difference: the dates differ");
  const run = { ...state({}).run, variables: [{ ...green, map: "classes" }] } as State["run"];
  const title = "dry − main: no difference: its numbers name classes";
  expect(texts({ run, shown: [frame("main", 51), frame("dry", 51)] })[2]).toBe(title);
});

it("what is past, smoothed, lost or not at hand is said", () => {
  const shown = [frame("main", 51, false)];
  expect(texts({ shown, preview: 51 })[0]).toContain("past");
  expect(texts({ shown, preview: 20, not_at_hand: 20 })[0]).toContain("20 Jan 2003 is not at hand");
  expect(texts({ shown, look: { ...state({}).look, smooth: true } })[0]).toContain("smoothed");
  expect(texts({ shown, connection: { ...FIRST.connection, link: "lost" } })[0]).toContain("not live");
  expect(texts({ shown: [] })[0]).toBe("main: no value yet: it comes with the next step");
  expect(texts({ shown: [], preview: 20, not_at_hand: 20 })[0]).toBe("main: 20 Jan 2003 is not at hand: look at another date");
  const info = { scenarios: [{ name: "dry", step: 400 }] } as State["info"];
  expect(texts({ shown: [], info })).toContain("dry: no value of its last step: look at an earlier date");
});

it("titles of a saved picture stay within their maps, and none loses its date", () => {
  const written: { text: string; x: number }[] = [];
  const pen = {
    measureText: (text: string) => ({ width: 7 * text.length }),
    fillText: (text: string, x: number) => written.push({ text, x }),
    ...{ beginPath: () => undefined, roundRect: () => undefined, fill: () => undefined, stroke: () => undefined },
  };
  const shown = [frame("main", 51), frame("dry", 51)];
  const variables = [{ ...green, long_name: "Soil evaporation demand since the litter was wet" }];
  const run = state({}).run as State["run"] & object;
  const maps = titlesOf(state({ shown, run: { ...run, variables } }), [0, 1, 2]);
  type Plate = Parameters<typeof drawTitles>[1];
  drawTitles(pen as never, { maps: maps as unknown as Plate["maps"], size: [930, 300], colours: {} as Plate["colours"] });
  for (const [index, { title, text }] of maps.entries()) {
    const own = written.filter(({ x }) => x >= 310 * index && x < 310 * (index + 1));
    expect(own.map((each) => each.text).join(" ")).toBe(`${title} ${text}`);
    for (const each of own) expect(each.x + 7 * each.text.length).toBeLessThan(310 * (index + 1) - 12);
  }
});
