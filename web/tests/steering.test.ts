// @vitest-environment happy-dom
import { expect, it } from "vitest";
import type { Api } from "../src/fetch/api";
import { FIRST, Store } from "../src/state/store";
import type { EventInfo, Info, LogRow, Scenario } from "../src/state/told";
import { Actions } from "../src/ui/actions";
import { standingOf } from "../src/ui/chip";
import { Steering } from "../src/ui/steering";
import { mount as mountTimeline } from "../src/ui/timeline";
import { countFault } from "../src/ui/wording";

const clock = { start: "2003-01-01T00:00:00", step: 86400, calendar: "standard", units: "days since 2003-01-01" };
const scenario = (name: string, branch: number, step: number, target = step) => ({ name, branch, step, target, problem: null }) as Scenario;

function steered(...scenarios: Scenario[]) {
  const store = new Store();
  const [steps, actions] = [[] as [string, number][], new Actions()];
  const step = async (order: { scenario: string; steps: number }) => {
    steps.push([order.scenario, order.steps]);
    return { id: steps.length };
  };
  const steering = new Steering(store, { step } as unknown as Api, actions);
  store.change({
    connection: { ...FIRST.connection, link: "live" },
    run: {
      ...{ name: "out", title: "", model: "m", steps: 400, clock, forcing: null },
      variables: [],
      parameters: {},
      outputs: [],
      given: [],
      planned: [],
    },
    info: { state: "ready", scenarios } as unknown as Info,
    steered: "dry",
    look: { ...FIRST.look, scenarios: ["main", "dry"], maps: 2 },
  });
  return { store, steering, steps, actions };
}

it("a month is counted from where each scenario stands, and three presses make three", async () => {
  const { steps, actions } = steered(scenario("main", 1, 360), scenario("dry", 2, 32));
  for (let press = 0; press < 3; press++) actions.do("step-month");
  await expect.poll(() => steps.length).toBe(5);
  expect(steps).toEqual([
    ["main", 31], // 26 Dec 2003 to 26 Jan
    ["dry", 28], // 1 Feb to 1 Mar
    ["main", 9], // the run ends
    ["dry", 31],
    ["dry", 30],
  ]);
});

it("a number of steps ends with the run, and one that is none or too great is refused in words", async () => {
  const { steering, steps, store } = steered(scenario("main", 1, 360), scenario("dry", 2, 380));
  const faultOf = (text: string) => store.now.run && countFault(store.now.run, text, "main", 360);
  expect(["", "0", "-1", "2.5", "1 0"].map(faultOf)).toEqual(Array(5).fill("Give a number of steps, such as 10."));
  expect(["1000000000", "41"].map(faultOf)).toEqual(Array(2).fill("The run ends at 4 Feb 2004: main has 40 steps left."));
  expect(faultOf("40")).toBe("");
  steering.step(30);
  await expect
    .poll(() => steps)
    .toEqual([
      ["main", 30],
      ["dry", 20],
    ]);
});

it("the past of another scenario than the steered one is for looking only", () => {
  const { steering, store } = steered(scenario("main", 1, 60), scenario("dry", 2, 50));
  expect([steering.apart, steering.rewound(20)]).toEqual([false, ["main", "dry"]]);
  store.look({ maps: 1 });
  expect([steering.apart, steering.rewound(20)]).toEqual([true, []]);
  steering.look(55); // of main, where dry has not come yet
  expect(store.now.preview).toBe(55);
  store.change({ steered: "main" });
  expect([steering.apart, steering.rewound(20)]).toEqual([false, ["main"]]);
});

it("the state in words is that of the steered scenario where a map shows it, and names any other", () => {
  const { store } = steered(scenario("main", 1, 60), scenario("dry", 2, 50, 70));
  expect(standingOf(store.now, 0).text).toBe("Running");
  store.look({ maps: 1 });
  expect(standingOf(store.now, 0).text).toBe("main: Paused at 1 Mar 2003");
  store.change({ steered: "main", look: { ...store.now.look, scenarios: ["dry"] } });
  expect(standingOf(store.now, 0).text).toBe("dry: Running");
});

it("a month from the start, or from the end of a month, is done with the last day of a month", async () => {
  const { steps, actions, store } = steered(scenario("dry", 2, 0));
  for (let press = 0; press < 3; press++) actions.do("step-month");
  await expect.poll(() => steps.map(([, count]) => count)).toEqual([31, 28, 31]); // with 31 Jan, 28 Feb, 31 Mar
  const run = store.now.run && { ...store.now.run, clock: { ...clock, step: 21_600 } };
  const short = steered(scenario("dry", 2, 0));
  short.store.change({ run });
  short.actions.do("step-month");
  await expect.poll(() => short.steps).toEqual([["dry", 124]]); // 1 Feb, 00:00, is the instant of its end
});

it("nothing runs, and nothing can go on, when the engine gave up", () => {
  const { store, steering } = steered(scenario("main", 1, 20, 400), scenario("dry", 2, 20, 400));
  expect([steering.running, steering.stuck]).toEqual([true, null]);
  store.change({ info: { ...store.now.info, state: "failed" } as Info });
  expect([steering.running, steering.stuck]).toEqual([false, "the engine gave up: start it again, or go back"]);
});

it("an event of every year has no mark on the bar of time before it was ordered", () => {
  const { store, steering, actions } = steered(scenario("main", 1, 100), scenario("dry", 2, 100));
  const place = document.createElement("div");
  mountTimeline(place, store, steering, actions);
  const yearly = (id: number, day: string) => ({ id, scenario: "main", at_step: null, yearly: day, arguments: { variable: "leak" } });
  const ordered = (seq: number) => ({ seq, kind: "event", branch: 1, at_step: 100, state: "done", arguments: { change: {} } });
  store.change({
    events: [yearly(1, "02-01"), yearly(2, "11-01")] as unknown as EventInfo[],
    log: [ordered(1), ordered(2)] as unknown as LogRow[],
  });
  const marks = [...place.querySelectorAll<HTMLElement>(".event")].map((each) => each.title);
  expect(marks).toEqual(["leak, 1 Feb 2004", "leak, 1 Nov 2003"]);
});
