// @vitest-environment happy-dom
import { expect, it, vi } from "vitest";
import type { Api, SetOrder } from "../src/fetch/api";
import { Refused } from "../src/fetch/problem";
import { FIRST, Store } from "../src/state/store";
import type { Info, Levels, LogRow, Preview, Problem, Scenario, Variable } from "../src/state/told";
import { ChangeForm, plainUnit } from "../src/ui/change";
import { groupsOf } from "../src/ui/parameters";
import { isHarmless } from "../src/ui/stale";

const clock = { start: "1990-03-01T00:00:00", step: 86400, calendar: "standard", units: "days since 1990-03-01" };
const rate = { name: "rate", units: "ha-1", long_name: "Rate", role: "parameter", settable: true, initial: 0.1 } as Variable;
const main = { name: "main", branch: 1, step: 4, target: 4, version: "b1.1", problem: null } as Scenario;
const hectopascals = { name: "level", values: [1000, 850], units: "hPa" } as Levels;
const row = (seq: number, kind: string, outcome: string) => ({ seq, kind, outcome, arguments: { variable: "rate" } }) as unknown as LogRow;

/** The form of a variable, and what it sends: each change fails that has a negative value, and moves the version all the same. */
function opened(role: "steer" | "view" = "steer", levels: Levels | null = null) {
  const store = new Store();
  const variable = { ...rate, levels };
  const sent: { order: SetOrder; match: string | undefined }[] = [];
  const log: LogRow[] = [];
  const api = {
    preview: async ({ value }: SetOrder): Promise<Preview> => {
      return { variable: "rate", units: "ha-1", step: 4, cells: 9, before: 0.1, after: value ?? 0, outside: (value ?? 0) < 0 ? 9 : 0 };
    },
    set: async (order: SetOrder, { match }: { match?: string }) => {
      sent.push({ order, match });
      const version = `b1.${log.at(-1)?.seq ?? 1}`;
      const stale = { code: "version-stale", title: "", detail: "", status: 412 } as Problem;
      if (match !== version) throw new Refused(stale, { version, changed: log.map(({ seq, kind }) => ({ seq, who: "kim", kind })) }, null);
      return { id: 9, state: "done", version: "b1.9" };
    },
    log: async () => log,
  };
  store.change({
    connection: { ...FIRST.connection, link: "live" },
    viewer: { name: "kim", role, may_steer: role === "steer" },
    run: {
      ...{ name: "out", title: "", model: "m", steps: 30, clock, forcing: null },
      ...{ variables: [variable], parameters: {}, outputs: [], given: [], planned: [] },
    },
    info: { state: "ready", scenarios: [main] } as unknown as Info,
    steered: "main",
  });
  const form = new ChangeForm(store, api as unknown as Api, variable);
  document.body.replaceChildren(form.element);
  const field = <T extends HTMLElement = HTMLInputElement>(part: string) => form.element.querySelector(`#change-rate-${part}`) as T;
  const type = (part: string, text: string) => {
    field(part).value = text;
    field(part).dispatchEvent(new Event("input", { bubbles: true }));
  };
  const enter = async () => {
    form.element.dispatchEvent(new SubmitEvent("submit", { cancelable: true }));
    await vi.waitFor(() => expect((form as unknown as { busy: boolean }).busy).toBe(false));
  };
  return { store, form, sent, log, field, type, enter };
}

it("a change that its preview says would be refused is not sent", async () => {
  const { form, sent, type, enter, field } = opened();
  type("value", "-3");
  await enter();
  await enter();
  expect(sent).toEqual([]);
  expect(form.element.textContent).toContain("This would be refused: give a value that keeps all cells within the range below.");
  expect(field("value").getAttribute("aria-invalid")).toBe("true");
  type("value", "3");
  await enter();
  await enter();
  expect(sent).toMatchObject([{ order: { value: 3 }, match: "b1.1" }]);
});

it("a change is one of the level that the map shows, or of all levels, and says so", async () => {
  const { store, form, sent, type, enter, field } = opened("steer", hectopascals);
  const button = () => form.element.querySelector("button")?.textContent;
  expect([...field<HTMLSelectElement>("level").options].map(({ text }) => text)).toEqual(["All levels", "1000 hPa", "850 hPa"]);
  expect(button()).toBe("Preview at all levels in main"); // of a map without levels
  store.look({ variable: "rate[1]" });
  expect(button()).toBe("Preview at 850 hPa in main");
  type("value", "3");
  await enter();
  expect(button()).toBe("Set at 850 hPa in main");
  expect(form.element.textContent).toContain("9 cells at 850 hPa: mean 0.1 → 3 ha⁻¹");
  store.look({ variable: "rate[0]" }); // the draft stays as it is
  await enter();
  expect(store.now.notices.at(-1)?.text).toBe("Rate (rate) at 850 hPa: set in main");
  expect(button()).toBe("Preview at 1000 hPa in main");
  type("value", "2");
  type("level", "");
  await enter();
  await enter();
  expect(store.now.notices.at(-1)?.text).toBe("Rate (rate) at all levels: set in main");
  form.atLevel("rate[1]");
  expect(button()).toBe("Preview at 850 hPa in main");
  expect(sent.map(({ order }) => order.variable)).toEqual(["rate[1]", "rate"]);
});

it("an order that failed makes no draft stale", async () => {
  const { form, sent, log, type, enter } = opened();
  type("value", "3");
  await enter();
  log.push(row(2, "set", "failed"), row(3, "step", "done"));
  await enter();
  await vi.waitFor(() => expect(sent.map(({ match }) => match)).toEqual(["b1.1", "b1.3"]));
  expect(form.element.textContent).not.toContain("While you typed");
  expect(isHarmless({ seq: 2, who: "kim", kind: "set" }, [row(2, "set", "done")])).toBe(false);
});

it("a parameter whose change failed is not listed as changed", () => {
  const log = [
    { ...row(1, "set", "failed"), state: "failed" },
    { ...row(2, "set", "done"), state: "done" },
  ].slice(0, 1);
  const groups = groupsOf({ run: { variables: [rate], given: [] } as never, log });
  expect(groups.get("Changed")).toEqual([]);
});

it("a unit is taken as the page shows it, and dates are of this run", async () => {
  const { sent, type, enter, field } = opened();
  expect(["ha⁻¹", " kg m⁻² ", "m³ m−3", "degC"].map(plainUnit)).toEqual(["ha-1", "kg m-2", "m3 m-3", "degC"]);
  type("value", "3");
  type("units", "ha⁻¹");
  await enter();
  await enter();
  expect(sent[0]?.order.units).toBeUndefined();
  type("when", "date");
  expect(field("date").placeholder).toBe("1990-03-05");
  type("when", "yearly");
  expect(field("date").placeholder).toBe("03-05");
});

it("a time of a day is refused by the preview of a daily run", async () => {
  const { form, type, enter } = opened();
  type("value", "3");
  type("when", "date");
  type("date", "1990-03-10T06:00");
  await enter();
  expect(form.element.textContent).toContain("Steps begin at midnight: give 1990-03-10.");
});

it("at the last step nothing can be changed", async () => {
  const { store, form, sent, type, enter } = opened();
  store.change({ info: { state: "ready", scenarios: [{ ...main, step: 30, target: 30 }] } as unknown as Info });
  type("value", "3");
  await enter();
  await enter();
  expect(form.element.textContent).toContain("The run ends here: go back, or branch off an earlier date.");
  expect(form.element.querySelector("button")?.textContent).toBe("Preview in main");
  expect(sent).toEqual([]);
});

it("a viewer reads above the form that it cannot be sent", () => {
  const text = (role: "steer" | "view") => opened(role).form.element.querySelector<HTMLElement>(".only");
  expect(text("view")?.textContent).toBe("Your role may look only: orders need a steer token.");
  expect(text("steer")?.hidden).toBe(true);
});
