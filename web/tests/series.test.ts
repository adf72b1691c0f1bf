import { expect, it } from "vitest";
import { dateTicks } from "../src/decode/calendar";
import { exactText } from "../src/decode/units";
import type { Api } from "../src/fetch/api";
import { Following, joined } from "../src/session/following";
import { FIRST, type Line, type State, Store } from "../src/state/store";
import { axisTexts, lineText } from "../src/ui/chart";
import { aligned } from "../src/ui/lines";

const line = (steps: number[], values: (number | null)[], more: Partial<Line> = {}): Line => ({
  ...{
    variable: "green",
    pin: 1,
    cell: 7,
    place: [140, -20],
    scenario: "main",
    branch: 1,
    steps,
    values,
    gaps: [],
    end: 9,
    thinned: false,
  },
  ...more,
});

it("what is told of some steps replaces what a line had of them, and nothing else", () => {
  const grown = joined(line([1, 2, 5, 9], [10, 20, 50, 90]), { steps: [2, 3], values: [21, 30], gaps: [] }, 2, 6);
  expect([grown.steps, grown.values]).toEqual([
    [1, 2, 3, 9],
    [10, 21, 30, 90],
  ]);
  const region = joined(line([4], [4], { low: [3], high: [5] }), { steps: [3], values: [3], low: [2], high: [4], gaps: [] }, 1, 3);
  expect([region.steps, region.low, region.high]).toEqual([
    [3, 4],
    [2, 3],
    [4, 5],
  ]);
});

it("the value of the last step stays where it cannot be told again", () => {
  const gap = { first: 3, last: 3, reason: "Too long.", open: false };
  const kept = joined(line([2, 3], [20, 30], { end: 3 }), { steps: [3, 4], values: [null, 40], gaps: [gap] }, 3, 4);
  expect([kept.steps, kept.values, kept.gaps]).toEqual([[2, 3, 4], [20, 30, 40], []]);
});

it("a gap is cut where steps are told, and its reason stays beside them", () => {
  const gap = { first: 2, last: 8, reason: "No record.", open: true };
  const told = { steps: [4, 5], values: [4, null], gaps: [{ first: 5, last: 5, reason: "Too long.", open: false }] };
  expect(joined(line([], [], { gaps: [gap] }), told, 4, 5).gaps).toEqual([
    { ...gap, last: 3 },
    { first: 5, last: 5, reason: "Too long.", open: false },
    { ...gap, first: 6 },
  ]);
});

it("a chart is drawn over what another line has, and not over what has no value", () => {
  const found = aligned([line([1, 2, 3], [10, null, 30]), line([2, 4], [5, 6], { low: [4, 5], high: [6, 7] })]);
  expect(found.steps).toEqual([1, 2, 3, 4]);
  expect(found.columns).toEqual([
    [10, null, 30, undefined],
    [undefined, 5, undefined, 6],
    [undefined, 4, undefined, 5],
    [undefined, 6, undefined, 7],
  ]);
});

it("a line says what it has at a date in the server's digits, or that it has nothing", () => {
  const one = line([1, 2], [Math.fround(130.82826), null], { gaps: [{ first: 5, last: 7, reason: "No record." }] });
  expect([1, 2, 3, 6].map((step) => lineText(one, step))).toEqual(["130.82826", "missing", "…", "no value"]);
  expect([9, 10].map((step) => lineText(one, step, {}, 9))).toEqual(["…", "not reached"]); // its scenario is behind
  expect(exactText(0.1 + 0.2)).toBe("0.30000000000000004");
});

it("a region has its statistics in six digits", () => {
  const region = line([1], [0.7820630912345], { low: [0.6177366899402694], high: [1113.907175567036] });
  expect(lineText(region, 1)).toBe("0.782063 (0.617737 to 1\u00a0113.91)");
});

it("all numbers of an axis are written in one way", () => {
  expect(axisTexts([-1e-5, -5e-6, 0, 5e-6, 1e-5])).toEqual(["−1e−5", "−5e−6", "0", "5e−6", "1e−5"]);
  expect(axisTexts([9.7e-10, 9.8e-10, 9.9e-10])).toEqual(["9.7e−10", "9.8e−10", "9.9e−10"]);
  expect(axisTexts([0, 0.00005, 0.0001])).toEqual(["0.00000", "0.00005", "0.00010"]);
  expect(axisTexts([0, 5e6, 1e7])).toEqual(["0", "5e6", "1e7"]);
});

it("classes have names, and a region the one that all its cells have, but no mean", () => {
  const names = { 1: "pasture", 2: "forest" };
  expect(lineText(line([1], [2]), 1, names)).toBe("forest");
  const region = line([1, 2], [1, 1.5], { low: [1, 1], high: [1, 2] });
  expect([1, 2].map((step) => lineText(region, step, names))).toEqual(["pasture", ""]);
});

it("an axis has the first of years and months, in the calendars of CF", () => {
  const clock = { start: "1990-01-01T00:00:00", step: 86400, calendar: "standard", units: "" };
  expect(dateTicks(clock, 1, 3652, 10)).toEqual(
    Array.from({ length: 10 }, (_, year) => ({ step: 365 * year + 1 + [0, 0, 0, 1, 1, 1, 1, 2, 2, 2][year]!, text: String(1990 + year) })),
  );
  expect(dateTicks(clock, 40, 200, 6).map(({ step, text }) => [step, text])).toEqual([
    [60, "Mar 1990"],
    [91, "Apr"],
    [121, "May"],
    [152, "Jun"],
    [182, "Jul"],
  ]);
  expect(dateTicks({ ...clock, calendar: "360_day" }, 1, 1081, 4).map(({ step }) => step)).toEqual([1, 361, 721, 1081]);
  expect(dateTicks({ ...clock, calendar: "noleap" }, 700, 1500, 4).map(({ step }) => step)).toEqual([731, 1096, 1461]);
  const minutes = { ...clock, start: "2001-03-05T00:00:00", step: 600 };
  expect(dateTicks(minutes, 1, 144, 6).map(({ step, text }) => [step, text])).toEqual([
    [36, "06:00"],
    [72, "12:00"],
    [108, "18:00"],
    [144, "6 Mar"],
  ]);
  const hours = { ...clock, start: "2000-01-01T02:00:00", step: 3600 };
  const times = (high: number) => dateTicks(hours, 0, high, 6).map(({ step, text }) => [step, text]);
  expect(times(30)).toEqual([
    [4, "06:00"],
    [10, "12:00"],
    [16, "18:00"],
    [22, "2 Jan"],
    [28, "06:00"],
  ]);
  expect(times(280).map(([, text]) => text)).toEqual(["3 Jan", "5 Jan", "7 Jan", "9 Jan", "11 Jan"]);
  expect(times(5000).map(([, text]) => text)).toEqual(["Feb 2000", "Mar", "Apr", "May", "Jun", "Jul"]);
  expect(dateTicks({ ...clock, start: "", step: null }, 0, 10, 4).map(({ text }) => text)).toEqual(["step 0", "step 5", "step 10"]);
});

it("the value of the present step is asked for again once the line goes on, though the run is not yet known to", async () => {
  const asked: string[] = [];
  const api = {
    series: async (_: string, __: object, { time }: { time: string }) => {
      if (asked.push(time) > 5) throw new Error("asked again and again");
      return { steps: [65], values: [[12]], gaps: [], thinned: null, places: [[140, -20]] };
    },
  } as unknown as Api;
  const scenario = { name: "main", branch: 1, step: 65, version: "b1.4" };
  const store = new Store({
    run: { variables: [{ name: "green", dims: ["cell"] }] } as unknown as State["run"],
    info: { scenarios: [scenario] } as unknown as State["info"],
    look: { ...FIRST.look, variable: "green", scenarios: ["main"] },
  });
  new Following(store, api);
  store.change({ series: [line([64, 65, 66], [13, 90, 85], { end: 105, present: 65, version: "b1.4" })], preview: 64 });
  await expect.poll(() => store.now.series[0]?.values[1]).toBe(12);
  expect(asked).toEqual(["step:65/65"]);
});
