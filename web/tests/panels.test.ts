// @vitest-environment happy-dom
import { describe, expect, test, vi } from "vitest";
import { Api } from "../src/fetch/api";
import { FIRST, type Selection, type State, Store } from "../src/state/store";
import type { Info, Levels, LogRow, Scenario, Variable } from "../src/state/told";
import { arraysText, lengthText, Pace, standingOf } from "../src/ui/chip";
import { mount as mountNotices } from "../src/ui/notice";
import { changesOf, groupsOf } from "../src/ui/parameters";
import { eventText, madeIn, mount as mountRules, plannedFor } from "../src/ui/rules";
import { differenceOf, treeOf } from "../src/ui/scenarios";
import { csvCell, filmOf, linkTo, seriesCsv, storeOf, together } from "../src/ui/share";
import { asCurl, asPython, dateFault, goesOn, previewText, requestOf, rowDate, rowText } from "../src/ui/wording";

const clock = { start: "2003-01-01T00:00:00", step: 86400, calendar: "standard", units: "days since 2003-01-01" };
const variable = { name: "stock", units: "ha-1", long_name: "Stocking rate", role: "parameter", initial: 0.1 } as Variable;
const scenario = (name: string, branch: number, parent: number | null, more: Partial<Scenario> = {}): Scenario => ({
  ...{
    name,
    branch,
    parent,
    step: 40,
    at: null,
    seq: 0,
    target: 40,
    date: null,
    state: "ready",
    version: `b${branch}.1`,
    fork_step: 20,
    kept: null,
    problem: null,
  },
  ...more,
});
const info = (more: Partial<Info> = {}): Info => ({
  ...{ run: "out", state: "ready", version: "b1.1", engine: null, rate: null, model: "m", calendar: "standard", steps: 365, arrays: {} },
  ...{
    silent: false,
    deaths: 0,
    problem: null,
    waited: null,
    scenarios: [scenario("main", 1, null, { fork_step: 0 }), scenario("dry", 2, 1)],
  },
  ...more,
});
const run = {
  name: "out",
  title: "",
  model: "m",
  steps: 365,
  clock,
  forcing: null,
  variables: [variable],
  parameters: { stock: 0.1 },
  outputs: ["stock"],
  given: ["stock"],
  planned: [{ step: 58, set: { stock: 0.2 }, cells: 12 }],
};
const state = (more: Partial<State> = {}): State => ({
  ...FIRST,
  connection: { ...FIRST.connection, link: "live" },
  info: info(),
  run,
  ...more,
});
const row = (kind: string, given: Record<string, unknown>, more: Partial<LogRow> = {}): LogRow => ({
  ...{ seq: 1, at: 0, who: "kim", kind, scenario: "", arguments: given, state: "done", at_step: 25, branch: 2 },
  ...more,
});
const set = (value: number, more: Record<string, unknown> = {}) => ({
  ...{ variable: "stock", operation: "set", value, upload: "", region: "all", given: { value, units: "ha-1" } },
  ...more,
});

describe("orders in words", () => {
  test("an order is told as people say it", () => {
    expect(rowText(row("set", set(0.08)), state())).toBe("Stocking rate (stock) set to 0.08 ha⁻¹ everywhere");
    expect(rowText(row("set", set(2, { operation: "scale", region: "west" })), state())).toBe("Stocking rate (stock) times 2 in west");
    const levels = { name: "level", values: [1000, 850], units: "hPa" } as Levels;
    const high = state({ run: { ...run, variables: [{ ...variable, levels }] } });
    const told = ["stock", "stock[1]"].map((name) => rowText(row("set", set(0.08, { variable: name })), high));
    expect(told).toEqual(["all levels", "850 hPa"].map((at) => `Stocking rate (stock) at ${at} set to 0.08 ha⁻¹ everywhere`));
    expect(changesOf({ ...high, log: [row("set", set(1, { variable: "stock[1]" }))], steered: "dry" }, "stock")).toHaveLength(1);
    expect(rowText(row("step", { until: 51 }), state())).toBe("Play to 20 Feb 2003");
    expect(rowText(row("rewind", { step: 51 }), state())).toBe("Back to 20 Feb 2003");
  });
  test("as a command line it survives any shell", () => {
    const request = requestOf(
      row("trigger", { expression: "mean(stock) > 1", action: "message", text: "it's $HOME `x`", variable: "" }),
      "main",
    );
    const line = asCurl(request!, "http://h/api/v1/runs/out/triggers");
    expect(line).toContain(`'{"scenario":"main","expression":"mean(stock) > 1","action":"message","text":"it'\\''s $HOME \`x\`"}'`);
    expect(line).toContain("Bearer $STEPPE_TOKEN");
  });
  test("an event of the run file is told until it has happened", () => {
    const told = (step: number) => plannedFor(state(), "main", step).map((each) => eventText(each, state()));
    expect(told(58)).toEqual(["Stocking rate (stock) set to 0.2 ha⁻¹ in 12 cells, 28 Feb 2003"]);
    expect(told(59)).toEqual([]);
  });
  test("the value of a variable is also changed by events that have come", () => {
    const log = [
      row("set", set(0.08), { at_step: 25 }),
      row("event", { change: set(0.3), yearly: "02-10" }, { seq: 2, at_step: 26 }), // its date is step 41, after 40 others
      row("remove", { rule: 2 }, { seq: 3, at_step: 50 }),
    ];
    const values = (step: number) => {
      const scenarios = info().scenarios.map((each) => ({ ...each, step }));
      const at = state({ run: { ...run, planned: [] }, info: info({ scenarios }), log, steered: "dry" });
      return changesOf(at, "stock").map((each) => [each.at_step, each.arguments.value]);
    };
    expect(values(40)).toEqual([[25, 0.08]]);
    expect(values(41)).toEqual([
      [40, 0.3],
      [25, 0.08],
    ]);
    expect(values(60)).toEqual([
      [40, 0.3],
      [25, 0.08],
    ]);
  });
  test("an order is gone back to in the scenario that has it in its past, also after a rewind", () => {
    const left = [scenario("main@1", 1, null, { fork_step: 0 }), scenario("main", 3, 1, { fork_step: 25 }), scenario("dry", 2, 1)];
    const of = (branch: number, at_step: number) =>
      goesOn(state({ info: info({ scenarios: left }) }), { ...row("set", set(1)), branch, at_step })?.name;
    expect([of(3, 30), of(1, 25), of(1, 26), of(2, 30)]).toEqual(["main", "main", undefined, "dry"]);
    left.splice(1, 1, scenario("main@2", 3, 1, { fork_step: 25 }), scenario("main", 4, 3, { fork_step: 10 })); // back behind the first fork
    expect([of(1, 10), of(1, 11), of(3, 26), of(4, 26)]).toEqual(["main", undefined, undefined, "main"]);
  });
  test("a change that waits for a date is given for this date again", () => {
    const request = requestOf({ ...row("set", set(0.2)), state: "queued", at_step: 59 }, "dry");
    expect(request?.body.when).toEqual({ step: 59 });
    expect(asPython(request!, "http://h/", "out")).toContain(", when=59)");
  });
  test("as Python it says what the client takes", () => {
    const request = requestOf(row("set", set(0.08, { region: { box: [1, 2, 3, 4] } })), "dry");
    expect(asPython(request!, "http://h/", "out")).toBe(
      'import steppe\n\nrun = steppe.connect("http://h/", run="out")\nrun.scenario("dry").set("stock", 0.08, units="ha-1", box=[1, 2, 3, 4])',
    );
    expect(requestOf(row("set", set(0.08, { upload: "00" })), "dry")).toBeNull();
  });
});

test("the run file's parameters stand first, then those that were changed, then groups of the model", () => {
  const parameter = (name: string, heading = "", more: Partial<Variable> = {}) =>
    ({ name, role: "parameter", settable: true, heading, ...more }) as Variable;
  const variables = [parameter("depth", "Soil"), parameter("sand"), parameter("root", "Plant"), parameter("leaf"), variable];
  const known = [...variables, parameter("water", "", { role: "state" }), parameter("growth", "", { role: "diagnostic", settable: false })];
  const log = [row("set", { variable: "leaf" })];
  const groups = groupsOf({ run: { ...run, variables: known.map((each) => ({ ...each, settable: each.settable ?? true })) }, log });
  expect([...groups].map(([title, some]) => [title, ...some.map(({ name }) => name)])).toEqual([
    ["Set by the run file", "stock"],
    ["Changed", "leaf"],
    ["Soil", "depth", "sand"],
    ["Plant", "root"],
    ["State", "water"],
    ["Computed", "growth"],
  ]);
});

test("a change of a run of short steps is told by the instant at which it takes effect, of days by the day after", () => {
  const short = state({ run: { ...run, clock: { ...clock, step: 600 } } });
  const event = { id: 3, scenario: "main", at_step: 72, arguments: set(0.2), date: null, yearly: null, who: "kim" };
  const waits = row("set", set(0.2), { state: "queued", at_step: 72 });
  const planned = row("event", { change: set(0.2), step: 0 });
  const told = (at: State) => [eventText(event, at), rowDate(waits, at), rowText(planned, at)];
  const change = "Stocking rate (stock) set to 0.2 ha⁻¹ everywhere";
  expect(told(short)).toEqual([`${change}, 1 Jan 2003, 12:00`, "1 Jan 2003, 12:00", `${change}, from 1 Jan 2003, 00:00`]);
  expect(told(state())).toEqual([`${change}, 14 Mar 2003`, "14 Mar 2003", `${change}, from 1 Jan 2003`]);
  expect(rowDate({ ...waits, state: "done" }, state())).toBe("14 Mar 2003"); // also once it is made
});

test("a change stays on the bar of time once it is made, unless it was removed before", () => {
  const event = (seq: number, step: number) => row("event", { change: set(0.2), step }, { seq, at_step: 3 });
  const log = [
    ...[row("set", set(0.1), { at_step: 5 }), event(2, 9), event(3, 12), row("remove", { rule: 3 })],
    ...[row("set", set(1), { at_step: 7, state: "failed" }), row("set", set(1), { at_step: 6, branch: 1 })],
  ];
  const legs = new Map([
    [2, 20],
    [1, 4],
  ]);
  expect(madeIn(log, legs).map((each) => [each.at_step, each.arguments.variable])).toEqual([
    [5, "stock"],
    [9, "stock"],
  ]);
});

test("what is to come is listed by its date", () => {
  const place = document.createElement("div");
  const change = (at_step: number | null, yearly: string | null) => ({
    id: 1,
    scenario: "dry",
    arguments: set(1),
    date: null,
    who: "kim",
    at_step,
    yearly,
  });
  const store = new Store(state({ events: [change(null, "03-01"), change(90, null), change(70, null)], steered: "dry" }));
  mountRules(place, store, new Api(new URL("http://h/"), "out"));
  const dates = [...place.querySelectorAll(".rules")[0]!.querySelectorAll("li")].map(
    (each) => /, (\d.*|every .*) (kim|run file)/.exec(each.textContent ?? "")?.[1],
  );
  expect(dates).toEqual(["28 Feb 2003", "12 Mar 2003", "1 Apr 2003", "every year on 03-01"]);
});

test("the store of a branch is there after its first checkpoint, that of the run after the first record", () => {
  const told = (name: string) => storeOf(state({ look: { ...FIRST.look, scenarios: [name] } }));
  expect([told("main")?.first, told("dry")?.first]).toEqual(["record", "checkpoint of the scenario"]);
});

test("the command of a film quotes the name of a run and a level as a shell needs it", () => {
  const run = { ...state().run, name: "Kim's run", outputs: ["gas"] } as State["run"];
  expect(filmOf(state({ run, look: { ...FIRST.look, variable: "gas[3]", range: [-1, 2] } }))).toBe(
    "steppe plot 'Kim'\\''s run' --movie 'gas[3].mp4' --variable 'gas[3]' --scale=-1,2",
  );
});

test("a time between two steps is refused with both", () => {
  const short = { clock: { ...clock, step: 600 }, steps: 144 };
  const faultOf = (text: string) => dateFault(short, text, "main", 3, 4, 144);
  expect(faultOf("2003-01-01 01:10")).toBe("");
  expect(faultOf("2003-01-01 01:05")).toBe("No step ends then: give 1 Jan 2003, 01:00 or 1 Jan 2003, 01:10.");
  expect(faultOf("2003-01-01 00:25")).toBe("main stands at 1 Jan 2003, 00:30: give a later date.");
});

test("global arrays are told with what passed between hosts, and not at all without any", () => {
  expect(arraysText({})).toBe("");
  expect(arraysText(undefined)).toBe("");
  expect(arraysText({ arrays: 1, bytes: 384_000, messages: 0 })).toBe("1 array, 0.4 MB");
  const busy = { arrays: 2, bytes: 1.5e6, messages: 1200, sent: 3e6, longest_wait: 0.0021 };
  expect(arraysText(busy)).toBe("2 arrays, 1.5 MB; 1 200 messages between hosts, 3.0 MB, longest wait 2.1 ms");
});

describe("where things stand", () => {
  const at = (more: Partial<State>) => standingOf(state(more), 0);
  test("each state has its words and its weight", () => {
    expect(at({})).toEqual({ weight: "none", text: "Paused at 9 Feb 2003", stale: false });
    expect(at({ info: info({ state: "recovering" }) })).toMatchObject({ weight: "warn", stale: true });
    expect(at({ info: info({ state: "paused" }) })).toEqual({ weight: "warn", text: "The disk is full, waiting for room", stale: true });
    expect(at({ info: info({ state: "compiling" }) }).text).toBe("Starting: compiling the model");
    expect(at({ info: info({ state: "compiling", deaths: 1 }) }).text).toBe("Engine died, coming back: compiling the model");
    expect(standingOf(state({ info: info({ state: "loading" }), since: 1000 }), 13_400).text).toBe("Starting: reading inputs, 12 s");
    const changed = info({ state: "compiling", deaths: 1, scenarios: [scenario("dry", 2, 1, { step: 40, target: 60 })] });
    expect(standingOf(state({ info: changed, since: 1000 }), 13_400)).toEqual({
      ...{ weight: "good", text: "Running: compiling the model, 12 s", stale: false },
    });
    const back = info({ deaths: 1, scenarios: [scenario("dry", 2, 1, { step: 1400, at: 1030 })] });
    expect(at({ info: back })).toEqual({ weight: "warn", text: "Coming back: step 1 030 of 1 400", stale: true });
    expect(at({ info: info({ silent: true }) }).text).toBe("Engine is silent");
    expect(at({ info: null, runs: [] }).text).toBe("No run yet");
    const ended = info({ scenarios: [scenario("dry", 2, 1, { step: 365, target: 365 })] });
    const days = { first: "2003-01-01", last: "2003-12-31" }; // of the run: its forcing may go on
    expect(at({ info: ended, run: { ...run, forcing: days } }).text).toBe("Ended 31 Dec 2003");
    const lost = { ...FIRST.connection, link: "lost" as const, retry_at: 3500 };
    expect(at({ connection: lost })).toEqual({ weight: "bad", text: "Connection lost, trying again in 4 s", stale: true });
  });
  test("the rate is that of the last seconds, and begins anew on another branch", () => {
    const pace = new Pace();
    expect(pace.rate(0, 1, 10)).toBeNull();
    expect(pace.rate(1000, 1, 14)).toBe(4);
    expect(pace.rate(2000, 1, 18)).toBe(4);
    expect(pace.rate(2500, 2, 18)).toBeNull();
    expect([lengthText(12), lengthText(180), lengthText(7200)]).toEqual(["12 s", "3 min", "2 h"]);
  });
});

describe("scenarios", () => {
  const all = [scenario("main@1", 1, null), scenario("main", 2, 1), scenario("dry", 3, 1), scenario("wet", 4, 3)];
  test("what was left is shown when somebody asks, and its children always", () => {
    expect(treeOf(all, false).map(({ scenario: { name }, depth }) => `${depth} ${name}`)).toEqual(["0 main", "0 dry", "1 wet"]);
    expect(treeOf(all, true).map(({ depth }) => depth)).toEqual([0, 1, 1, 2]);
    expect(treeOf(all.slice(1), false).map(({ scenario: { name } }) => name)).toEqual(["main", "dry", "wet"]); // main@1 is not told any more
  });
  test("the first change of a branch is what made it differ", () => {
    const log = [row("step", { steps: 3 }), row("set", set(0.08), { branch: 1 }), row("set", set(0.2))];
    expect(differenceOf(scenario("dry", 2, 1), state({ log }))).toContain("0.2");
  });
  test("what is to come made no difference yet, and a rewind takes none away", () => {
    const waits = row("set", set(0.2), { state: "queued", at_step: 20 });
    expect(differenceOf(scenario("dry", 2, 1), state({ log: [waits] }))).toMatch(/^to come: .*0\.2.*, 21 Jan 2003$/);
    const before = row("set", set(0.3), { branch: 2, at_step: 5 });
    const scenarios = [scenario("main", 1, null), scenario("dry@1", 2, 1), scenario("dry", 3, 2, { fork_step: 10 })];
    const log = [before, row("set", set(0.2), { branch: 3, state: "queued", at_step: 20 })];
    expect(differenceOf(scenarios[2]!, state({ log, info: info({ scenarios }) }))).toContain("0.3");
  });
  test("changes hold as far as they lie on the path of the steered scenario", () => {
    const log = [
      row("set", set(0.2), { branch: 1, at_step: 10, seq: 1 }),
      row("set", set(0.3), { branch: 1, at_step: 30, seq: 2 }), // behind the fork
      row("set", set(0.4), { branch: 2, at_step: 35, seq: 3 }),
    ];
    const look = (name: string) =>
      changesOf(state({ log, steered: name, look: { ...FIRST.look, scenarios: [name] } }), "stock").map(({ seq }) => seq);
    expect(look("dry")).toEqual([3, 1]);
    expect(look("main")).toEqual([2, 1]);
  });
});

describe("taking away", () => {
  test("a cell of CSV is never a formula", () => {
    expect(["=1+1", "+A1", "-2.5", "@x", 'a "b", c', "plain"].map(csvCell)).toEqual([
      "'=1+1",
      "'+A1",
      "-2.5",
      "'@x",
      '"a ""b"", c"',
      "plain",
    ]);
  });
  test("the series say what they are of", () => {
    const series = [
      {
        ...{ variable: "stock", pin: 1, cell: 3, place: null, scenario: "main", branch: 1 },
        ...{ steps: [1, 2], values: [5, null], end: 2, thinned: true },
        gaps: [{ first: 2, last: 2, reason: "No record." }],
      },
    ];
    const pins = [{ cell: 3, place: [147.35, -21.65] as [number, number], colour: 1 }];
    const lines = seriesCsv(state({ series, pins, look: { ...FIRST.look, variable: "stock" } })).split("\n");
    expect(lines).toContain("# variable stock, unit ha-1");
    expect(lines).toContain("# main cell 1: no values at steps 2 to 2: No record.");
    expect(together([1, 3, 5, 9].map((first) => ({ first, last: first + 1, reason: "No record." })))).toEqual([
      { first: 1, last: 6, reason: "No record." },
      { first: 9, last: 10, reason: "No record." },
    ]);
    expect(lines.some((line) => line.includes("least and the greatest"))).toBe(true);
    expect(lines).toContain("# main cell 1: longitude 147.35, latitude -21.65");
    expect(lines.slice(-4)).toEqual(["step,date,main cell 1", "1,2003-01-01,5", "2,2003-01-02,", ""]);
    const second = { pins: pins.map((pin) => ({ ...pin, colour: 2 })), series: series.map((line) => ({ ...line, pin: 2 })) };
    expect(seriesCsv(state(second))).toContain("step,date,main cell 1\n"); // the number on the map, not that of the colour
  });
  test("the series of a region say which it is, with its least and greatest values", () => {
    const line = { variable: "stock", pin: 0, cell: -1, place: null, scenario: "main", branch: 1, end: 2, thinned: false, gaps: [] };
    const region = {
      selection: { box: [170, -20, 190, 20] } as Selection,
      cells: 98,
      steps: [1, 2],
      values: [2, 5],
      low: [1, 4],
      high: [3, 6],
    };
    const lines = seriesCsv(state({ series: [{ ...line, ...region }] })).split("\n");
    expect(lines).toContain("# main region: 98 cells, box west, south, east, north 170, -20, 190, 20");
    expect(lines.slice(-4)).toEqual([
      "step,date,main region mean,main region least,main region greatest",
      ...["1,2003-01-01,2,1,3", "2,2003-01-02,5,4,6", ""],
    ]);
    expect(
      seriesCsv(
        state({
          series: [
            {
              ...line,
              ...region,
              selection: {
                polygon: [
                  [1, 2],
                  [3, 4],
                  [5, 6],
                ],
              },
            },
          ],
        }),
      ),
    ).toContain("polygon of longitude and latitude 1 2, 3 4, 5 6");
  });
  test("a link never holds a token", () => {
    const link = linkTo(state({ preview: 51 }), "http://h/steppe/");
    expect(link.startsWith("http://h/steppe/#run=out&")).toBe(true);
    expect(link).toContain("date=2003-02-20");
    expect(link).not.toContain("token");
  });
  test("a preview says how many cells and which means", () => {
    const told = { variable: "stock", units: "ha-1", step: 3, cells: 29016, before: 0.12, after: 0.1, outside: 0 };
    expect(previewText(told)).toBe("29 016 cells: mean 0.12 → 0.1 ha⁻¹");
    expect(previewText({ ...told, cells: 1, outside: 1 })).toContain("1 cell: mean 0.12 → 0.1 ha⁻¹; 1 would be outside the limits");
  });
});

test("a_name_with_markup_is_shown_as_text", () => {
  const store = new Store();
  const place = document.createElement("div");
  mountNotices(place, store);
  store.notify({ weight: "bad", text: "<b>bold</b>", detail: "<img src=x onerror=alert(1)>" });
  expect(place.querySelector("img")).toBeNull();
  expect(place.textContent).toContain("<b>bold</b><img src=x onerror=alert(1)>");
});

test("equal messages are shown once, with how often they came, and each way back stays", () => {
  const store = new Store();
  const place = document.createElement("div");
  mountNotices(place, store);
  for (let k = 0; k < 6; k++) store.notify({ weight: "warn", text: "This cannot be done", detail: "needs a token" });
  store.notify({ weight: "warn", text: "This cannot be done", detail: "ended" });
  expect([...place.querySelectorAll("b")].map((each) => each.textContent)).toEqual([
    "This cannot be done (6 times)",
    "This cannot be done",
  ]);
  const undo = [{ label: "Undo", act: () => undefined }];
  for (let k = 0; k < 2; k++) store.notify({ weight: "good", text: "main goes on", actions: undo });
  expect(store.now.notices).toHaveLength(4);
});

test("a message goes by itself, but not while somebody reads it", () => {
  vi.useFakeTimers();
  const store = new Store();
  const place = document.createElement("div");
  mountNotices(place, store);
  store.notify({ weight: "good", text: "done", lasts: 1000 });
  place.firstElementChild?.dispatchEvent(new Event("pointerenter"));
  vi.advanceTimersByTime(5000);
  expect(store.now.notices).toHaveLength(1);
  place.firstElementChild?.dispatchEvent(new Event("pointerleave"));
  vi.advanceTimersByTime(1001);
  expect(store.now.notices).toHaveLength(0);
  vi.useRealTimers();
});

test("an order has a key of its own and the version that it was made for", async () => {
  const asked: Request[] = [];
  const answer = () => new Response("{}", { status: 202 });
  const api = new Api(new URL("http://h/steppe/"), "out", async (address, how) => {
    asked.push(new Request(address, how));
    return answer();
  });
  await api.set({ scenario: "main", variable: "stock", value: 1 }, { match: "b1.7" });
  await api.leave("dry");
  expect(asked[0]?.url).toBe("http://h/steppe/api/v1/runs/out/set");
  expect(asked[0]?.headers.get("If-Match")).toBe('"b1.7"');
  expect(asked[1]?.method).toBe("DELETE");
  const keys = asked.map((each) => each.headers.get("Idempotency-Key"));
  expect(new Set(keys).size).toBe(2);
  expect(keys.every((key) => /^[0-9a-f]{32}$/.test(key ?? ""))).toBe(true);
});
