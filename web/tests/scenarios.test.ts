// @vitest-environment happy-dom
import { expect, it } from "vitest";
import type { Api } from "../src/fetch/api";
import { FIRST, type State, Store } from "../src/state/store";
import type { Info, Scenario } from "../src/state/told";
import { askBranch } from "../src/ui/branch";
import { h } from "../src/ui/dom";
import { whereText } from "../src/ui/scenarios";

const clock = { start: "1990-01-01T00:00:00", step: 86400, calendar: "standard", units: "days since 1990-01-01" };
const scenario = (name: string, branch: number, parent: number | null, fork_step: number, step: number) =>
  ({ name, branch, parent, fork_step, step }) as Scenario;
const told = (...scenarios: Scenario[]) => {
  const state = { ...FIRST, run: { clock } as State["run"], info: { scenarios } as unknown as Info };
  return whereText(scenarios.at(-1) as Scenario, state);
};

it("a scenario began where it was branched off, also after a rewind and its undoing", () => {
  const main = scenario("main", 1, null, 0, 151);
  const before = "from 1 Apr 1990 of main, 61 days, at 1 Jun 1990";
  expect(told(main, scenario("more", 2, 1, 91, 152))).toBe(before);
  const left = scenario("more@1", 2, 1, 91, 152);
  expect(told(main, left, scenario("more", 3, 2, 100, 100))).toBe("from 1 Apr 1990 of main, 9 days, at 10 Apr 1990");
  expect(told(main, left, scenario("more@2", 3, 2, 100, 100), scenario("more", 4, 2, 152, 152))).toBe(before);
  expect(told(main, left, scenario("more", 5, 2, 60, 60))).toBe("from 1 Mar 1990 of main, 0 days, at 1 Mar 1990"); // back behind the branch
  expect(told(scenario("main@1", 1, null, 0, 152), scenario("main", 2, 1, 100, 100))).toBe("100 days, at 10 Apr 1990");
});

it("a name that the server would refuse is refused with the letters that it may have", () => {
  const store = new Store({
    run: { clock } as State["run"],
    info: { scenarios: [scenario("main", 1, null, 0, 3)] } as Info,
    steered: "main",
  });
  const place = h("div");
  askBranch(place, store, {} as Api, () => undefined);
  const field = place.querySelector("input") as HTMLInputElement;
  for (const name of ["NOx -50 %", "ü", "-a", ".a", ""]) {
    field.value = name;
    place.querySelector("form")?.dispatchEvent(new SubmitEvent("submit", { cancelable: true }));
    expect(place.querySelector("[role=alert]")?.textContent).toBe("A name has 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit.");
  }
});
