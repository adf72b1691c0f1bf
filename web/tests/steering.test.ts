import { expect, it } from "vitest";
import type { Api } from "../src/fetch/api";
import { FIRST, Store } from "../src/state/store";
import type { Info, Scenario } from "../src/state/told";
import { Actions } from "../src/ui/actions";
import { Steering } from "../src/ui/steering";

const clock = { start: "2003-01-01T00:00:00", step: 86400, calendar: "standard", units: "days since 2003-01-01" };
const scenario = (name: string, branch: number, step: number, target = step) => ({ name, branch, step, target, problem: null }) as Scenario;

function steered(...scenarios: Scenario[]) {
  const store = new Store();
  const [steps, actions] = [[] as [string, number][], new Actions()];
  const step = async (order: { scenario: string; steps: number }) => {
    steps.push([order.scenario, order.steps]);
    return { id: steps.length };
  };
  const steering = new Steering(store, () => ({ step }) as unknown as Api, actions);
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

it("nothing runs, and nothing can go on, when the engine gave up", () => {
  const { store, steering } = steered(scenario("main", 1, 20, 400), scenario("dry", 2, 20, 400));
  expect([steering.running, steering.stuck]).toEqual([true, null]);
  store.change({ info: { ...store.now.info, state: "failed" } as Info });
  expect([steering.running, steering.stuck]).toEqual([false, "the engine gave up: start it again, or go back"]);
});
