// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";
import { type Frame, frameOf } from "../src/decode/frame";
import { Screen } from "../src/decode/screen";
import { Api } from "../src/fetch/api";
import type { Hearers } from "../src/fetch/live";
import { Following } from "../src/session/following";
import { Past } from "../src/session/past";
import { Session } from "../src/session/session";
import { scenarioNow } from "../src/state/scenario";
import { type Selection, type State, Store } from "../src/state/store";
import type { Hello, Info, Problem, Scenario, Variable, Watching } from "../src/state/told";
import { Actions } from "../src/ui/actions";
import { Steering } from "../src/ui/steering";

const scenario: Scenario = {
  ...{ name: "main", branch: 1, step: 40, at: null, seq: 0, target: 365, date: null, state: "stepping", version: "b1.1" },
  ...{ parent: null, fork_step: 0, kept: null, problem: null },
};
const info: Info = {
  ...{ run: "out", state: "stepping", version: "b1.1", engine: null, rate: null, model: "m", calendar: "standard", steps: 365 },
  ...{ silent: false, deaths: 0, problem: null, arrays: {}, waited: null, scenarios: [scenario] },
};
const hello: Hello = {
  ...{ type: "hello", run: "out", model: "m", title: "", steps: 365, name: "kim", role: "steer", read_only: false, steers: null, info },
  clock: { start: "2003-01-01T00:00:00", step: 86400, calendar: "standard", units: "days since 2003-01-01" },
  grid: {
    ...{ kind: "raster", shape: { lat: 1, lon: 2 }, cells: 2, digest: "d", bounds: [140, -21, 142, -20] },
    ...{ lat0: -20.5, dlat: -1, lon0: 140.5, dlon: 1 },
  },
  variables: [{ name: "green", units: "kg ha-1", role: "state", map: "field", dims: ["cell"] } as Variable],
  ...{
    forcing: null,
    parameters: {},
    outputs: ["green"],
    given: [],
    planned: null,
    kept: {},
    ranges: {},
    checkpoints: [],
    viewers: 1,
    event: 0,
  },
};
const watching = { stream: 1, scenario: "main", variable: "green", units: "kg ha-1" } as Watching;
const map = (step: number): Frame => frameOf([1, 2], [1, 2], null, { stream: 1, time: step - 1, step, number: step });

/** A page whose run stands at step 40 as far as it was told, and has shown a map of step 57 since. */
function watched(answer: (path: string) => Response = () => new Response("{}", { status: 404 })) {
  const asked: string[] = [];
  const request = async (input: string | URL | Request, how?: RequestInit) => {
    asked.push(`${String(input).replace("http://server/api/v1/runs/out/", "")} ${how?.body ?? ""}`.trim());
    return answer(asked.at(-1) ?? ""); // in most tests what is asked for counts, not what comes
  };
  const [store, screen, api] = [new Store(), new Screen(), new Api(new URL("http://server/"), "out", request)];
  const steering = new Steering(store, api, new Actions());
  const hear: { hearers?: Hearers } = {};
  const wire = (hearers: Hearers) => {
    hear.hearers = hearers;
    return { watch: () => undefined, follow: () => undefined, cursor: () => undefined, close: () => undefined };
  };
  new Session(
    store,
    screen,
    api,
    wire,
    async () => "",
    () => 1000,
  );
  new Past(store, screen, api);
  new Following(store, api);
  const hearers = hear.hearers as Hearers;
  hearers.message(hello);
  hearers.message({ type: "watching", streams: [watching] });
  hearers.frame(map(57));
  return { store, hearers, steering, asked };
}

test("a scenario stands where the newest word of it says, be it a map or a message", () => {
  const { store, hearers } = watched();
  const step = () => scenarioNow(store.now, "main")?.step;
  expect(step()).toBe(57);
  hearers.message({ type: "progress", scenarios: [{ ...scenario, step: 60 }] });
  expect(step()).toBe(60);
  hearers.frame(map(61));
  hearers.message({ type: "info", ...info, scenarios: [{ ...scenario, branch: 2, step: 20, fork_step: 20 }] });
  expect(step()).toBe(20); // somebody went back
  hearers.frame(map(21));
  expect(step()).toBe(21);
  expect(scenarioNow(store.now, "dry")).toBeUndefined();
});

test("what a stream told of a cell is gone once it shows another map", () => {
  const { store, hearers } = watched();
  store.change({ cursor: { cell: 0, readings: {} } });
  hearers.message({ type: "cursor", stream: 1, cell: 0, step: 57, value: 1.5, text: "1.5" });
  expect(store.now.cursor.readings[1]?.value).toBe(1.5);
  hearers.message({ type: "watching", streams: [{ ...watching, variable: "runoff" }] });
  expect(store.now.cursor.readings).toEqual({});
});

test("a past date is asked for up to the newest map, and none that is still to come", async () => {
  const { store, asked } = watched();
  store.change({ preview: 58 });
  store.change({ preview: 56 });
  await vi.waitFor(() => expect(asked.filter((each) => each.startsWith("data/"))).toEqual([expect.stringContaining("time=step%3A56")]));
});

test("the series of a cell is asked for up to the newest map", async () => {
  const { store, asked } = watched();
  store.change({ pins: [{ cell: 0, place: [140.5, -20.5], colour: 1 }] });
  await vi.waitFor(() =>
    expect(asked.find((each) => each.startsWith("series/green"))).toContain("time=step%3A1%2F57&points=600&compute=0"),
  );
});

test("a region that cannot be followed gives way to the one before it, and is told once", async () => {
  const [good, bad] = [{ box: [140, -21, 141, -20] }, { box: [1, 2, 3, 4] }] as [Selection, Selection];
  const values = { steps: [57], values: [[1], [1], [1]], gaps: [], places: [], thinned: null, cells: 1 };
  const { store, hearers } = watched((path) =>
    path.includes("box=140") ? Response.json(values) : Response.json({ code: "cell-outside", title: "No cell" }, { status: 422 }),
  );
  store.change({ selection: good });
  await vi.waitFor(() => expect(store.now.series[0]?.end).toBe(57));
  store.change({ selection: bad });
  hearers.message({ type: "problem", problem: { code: "cell-outside", title: "No cell", detail: "" } as Problem });
  await vi.waitFor(() => expect(store.now.selection).toBe(good));
  expect(store.now.notices.map(({ text }) => text)).toEqual(["This region cannot be followed"]);
  store.change({ selection: null });
  store.change({ selection: bad });
  await vi.waitFor(() => expect(store.now.selection).toBeNull()); // not one that was given up before
});

/** A server that computes again what it has no record of: all but the steps up to `newest`. */
function recomputing(newest: number, fail = false) {
  return (path: string) => {
    const [, first = 0, last = 0] = (/time=step%3A([0-9]+)%2F([0-9]+)/.exec(path) ?? []).map(Number);
    const [places, again] = [path.match(/at=/g)?.length ?? 0, !path.includes("compute=0") && !fail];
    const steps = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    const gaps = again || first > newest ? [] : [{ first, last: Math.min(last, newest), reason: "No record." }];
    const values = Array.from({ length: places }, (_, place) => steps.map((step) => (again || step > newest ? 100 * place + step : null)));
    return path.startsWith("series/")
      ? Response.json({ steps, values, gaps, places: new Array(places).fill([0, 0]), thinned: null, cells: null })
      : Response.json({}, { status: 404 });
  };
}
const pins = [0, 1].map((cell) => ({ cell, place: [140.5 + cell, -20.5] as [number, number], colour: cell + 1 }));
const series = (asked: string[]) => asked.filter((each) => each.startsWith("series/"));
const timeOf = (path: string) => /step%3A([0-9]+%2F[0-9]+)/.exec(path)?.[1]?.replace("%2F", "-");

test("cells that lack the same steps are asked for together", async () => {
  const { store, asked } = watched(recomputing(50));
  store.change({ pins });
  await vi.waitFor(() => expect(store.now.series.every((line) => line.end === 57 && line.gaps.length === 0)).toBe(true));
  expect(store.now.series.map(({ values }) => values[9])).toEqual([10, 110]);
  expect(series(asked).map((each) => [timeOf(each), each.match(/at=[^&]+/g)?.length])).toEqual([
    ["1-57", 2],
    ["1-50", 2],
  ]);
});

test("a date that is looked at is asked for where the line has only a gap, and once", async () => {
  const { store, asked } = watched(recomputing(57, true));
  store.change({ filling: false, pins });
  await vi.waitFor(() => expect(series(asked).map(timeOf)).toEqual(["1-57", "57-57"])); // the newest, too, after a rewind that was undone
  store.change({ preview: 20 });
  await vi.waitFor(() => expect(series(asked).map(timeOf)).toEqual(["1-57", "57-57", "20-20"]));
  store.change({ preview: null });
  store.change({ preview: 20 });
  await new Promise((go) => setTimeout(go, 800));
  expect(series(asked)).toHaveLength(3);
});

test("lines are there again when their variable is, but what could not be computed again is asked for anew", async () => {
  for (const fails of [false, true]) {
    const { store, asked } = watched(recomputing(50, fails));
    const run = store.now.run as State["run"] & object;
    store.change({ run: { ...run, variables: [...run.variables, { ...(run.variables[0] as Variable), name: "dry" }] }, pins });
    const isFilled = () => expect(store.now.series[1]?.gaps.map(({ open }) => open)).toEqual(fails ? [false] : []);
    await vi.waitFor(() => expect(store.now.series[1]?.end).toBe(57));
    await vi.waitFor(isFilled);
    const filled = store.now.series;
    store.look({ variable: "dry" });
    await vi.waitFor(() => expect(store.now.series[1]?.end).toBe(57));
    await vi.waitFor(isFilled);
    const count = series(asked).length;
    store.look({ variable: "green" });
    expect(store.now.series[1]?.end).toBe(fails ? 0 : 57);
    if (!fails) expect(store.now.series).toEqual(filled);
    expect(series(asked).length > count).toBe(fails);
  }
});

test("a branch has the line of the one that it began from, up to there", async () => {
  const { store, hearers, asked } = watched(recomputing(50));
  store.change({ pins });
  await vi.waitFor(() => expect(store.now.series[1]).toMatchObject({ end: 57, gaps: [] }));
  const left = { ...scenario, name: "main@1", step: 57 };
  const main = { ...scenario, branch: 2, parent: 1, fork_step: 20, step: 20, target: 20, version: "b2.0" };
  asked.length = 0;
  hearers.message({ type: "info", ...info, scenarios: [main, left] });
  await vi.waitFor(() => expect(store.now.series[1]).toMatchObject({ branch: 2, scenario: "main", end: 20, version: "b2.0" }));
  expect(store.now.series[1]?.values).toEqual(Array.from({ length: 20 }, (_, step) => 101 + step));
  expect(series(asked).map(timeOf)).toEqual(["20-20"]);
});

test("a message of a run names its scenario", () => {
  const { store, hearers } = watched();
  hearers.message({ type: "event", number: 1, kind: "message", step: 57, text: "it is wet", branch: 1 });
  expect(store.now.notices.map(({ text }) => text)).toEqual(["main: it is wet"]);
});

test("one step back is back from the newest map", async () => {
  const { steering, asked } = watched();
  steering.rewind(steering.at - 1);
  await vi.waitFor(() => expect(asked).toContain('scenarios/main/rewind {"step":56}'));
});
