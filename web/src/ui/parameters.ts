/** What can be changed: a row for each variable, which opens into the form that changes it; what is computed names what to change instead. */
import { grouped, prettyUnit, rounded } from "../decode/units";
import type { Api } from "../fetch/api";
import { paced } from "../state/pace";
import { shownFirst } from "../state/scenario";
import type { State, Store } from "../state/store";
import type { LogRow, Variable } from "../state/told";
import { ChangeForm } from "./change";
import { fill, h, s } from "./dom";
import { ordered } from "./orders";
import { nameOf, regionText, rowDate } from "./wording";

const GROUPS: readonly { title: string; roles: Variable["role"][] }[] = [
  { title: "Parameters", roles: ["parameter"] },
  { title: "State", roles: ["state"] },
  { title: "Computed", roles: ["derived", "diagnostic", "forcing"] },
];
const FEW = 8; // rows of the first group that are seen before somebody asks for all

/** The changes of a variable that hold where a scenario stands, the newest first. */
export function changesOf(state: State, name: string): LogRow[] {
  const legs = new Map<number, number>(); // branch -> the last step of it that is on the path
  let at = shownFirst(state);
  let end = Number.POSITIVE_INFINITY;
  while (at && !legs.has(at.branch)) {
    legs.set(at.branch, end);
    end = at.fork_step;
    const { parent } = at;
    at = state.info?.scenarios.find((each) => each.branch === parent);
  }
  return state.log
    .filter((row) => row.kind === "set" && row.state === "done" && row.arguments.variable === name)
    .filter((row) => (row.at_step ?? 0) <= (legs.get(Number(row.branch)) ?? -1))
    .reverse();
}

/** The value as far as it is one number: what the run began with, or what somebody set everywhere since. */
function valueText(state: State, variable: Variable, changes: readonly LogRow[]): string {
  if (variable.role !== "parameter") return "";
  const [last] = changes;
  const everywhere =
    last && last.arguments.operation === "set" && last.arguments.region === "all" && typeof last.arguments.value === "number";
  if (everywhere) return rounded(Number(last.arguments.value), 6);
  const first = state.run?.parameters[variable.name] ?? variable.initial;
  if (last) return "differs";
  return typeof first === "number" ? rounded(first, 6) : first === "per cell" ? "per cell" : "";
}

function byWhom(state: State, changes: readonly LogRow[]): string {
  const [last] = changes;
  if (!last) return "";
  return `${last.who}, ${rowDate(last, state)}, ${regionText(last.arguments.region)}`;
}

function rangeText({ low, high }: Variable): string {
  const number = (value: number) => grouped(String(value));
  if (low !== null && high !== null) return `${number(low)} to ${number(high)}`;
  return low !== null ? `${number(low)} or more` : high !== null ? `at most ${number(high)}` : "";
}

function lock(): SVGElement {
  return s(
    "svg",
    { viewBox: "0 0 12 14", class: "lock", "aria-hidden": "true" },
    s("path", { d: "M2 6h8v7H2zM4 6V4a2 2 0 0 1 4 0v2", fill: "none", stroke: "currentColor", "stroke-width": 1.5 }),
  );
}

export function mount(element: HTMLElement, store: Store, api: () => Api): void {
  const filter = h("input", {
    type: "search",
    class: "filter",
    placeholder: "Filter",
    "aria-label": "Filter variables",
    id: "parameter-filter",
  });
  const list = h("div", { class: "variables" });
  let open: string | null = null;
  let form: ChangeForm | null = null;
  let all = false;

  const toggle = (name: string) => {
    form?.end();
    form = null;
    open = open === name ? null : name;
    draw();
    (form as ChangeForm | null)?.focus();
  };
  const details = (variable: Variable): HTMLElement => {
    const facts: [string, string][] = [
      ["Range", rangeText(variable)],
      ["Default", variable.initial === null ? "" : rounded(variable.initial, 6)],
      ["Source", variable.source],
      ["Name", variable.name],
    ];
    if (!variable.settable) {
      const names = variable.settable_by.map((name) => nameOf(store.now.run?.variables ?? [], name));
      return h(
        "p",
        { class: "instead" },
        names.length ? `It is computed. Set ${names.join(", ")} instead.` : "It is computed and cannot be set.",
      );
    }
    form ??= new ChangeForm(store, api, variable);
    return h(
      "div",
      {},
      form.element,
      h("dl", { class: "facts" }, ...facts.flatMap(([name, text]) => (text ? [h("dt", {}, name), h("dd", {}, text)] : []))),
    );
  };
  const rowOf = (variable: Variable): HTMLElement => {
    const { now } = store;
    const changes = changesOf(now, variable.name);
    const expanded = open === variable.name;
    const head = h(
      "button",
      {
        type: "button",
        class: "row-head",
        "aria-expanded": String(expanded),
        "data-variable": variable.name,
        onclick: () => toggle(variable.name),
      },
      !variable.settable && lock(),
      h("span", { class: "name" }, variable.long_name || variable.name),
      h("span", { class: "value" }, valueText(now, variable, changes)),
      h("span", { class: "unit" }, prettyUnit(variable.units)),
      changes.length > 0 && h("small", {}, byWhom(now, changes)),
    );
    return h("li", { class: "variable" }, head, expanded && details(variable));
  };
  const draw = () => {
    const focused = document.activeElement; // asked for before the form is moved, which takes the focus from it
    const kept = focused instanceof HTMLElement && list.contains(focused) ? focused : null;
    const variables = store.now.run?.variables ?? [];
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (variable: Variable) =>
      words.every((word) => `${variable.name} ${variable.long_name} ${variable.standard_name}`.toLowerCase().includes(word));
    const changed = new Set(store.now.log.filter((row) => row.kind === "set").map((row) => row.arguments.variable));
    const parts: HTMLElement[] = [];
    for (const { title, roles } of GROUPS) {
      const these = variables.filter((variable) => roles.includes(variable.role) && fits(variable));
      const first = title === "Parameters" && !words.length && !all;
      const shown = first
        ? these.filter((each, index) => index < FEW || changed.has(each.name) || each.name === open)
        : words.length || title === "State" || all
          ? these
          : these.filter((each) => each.name === open);
      if (!these.length) continue;
      if (title === "Computed" && !shown.length) continue;
      parts.push(h("h3", {}, title, " ", h("small", {}, grouped(String(these.length)))), h("ul", {}, ...shown.map(rowOf)));
      if (shown.length < these.length) {
        const more = () => {
          all = true;
          draw();
        };
        parts.push(h("button", { type: "button", class: "small quiet more", onclick: more }, `All ${these.length}`));
      }
    }
    if (!parts.length) parts.push(h("p", { class: "none" }, words.length ? "No variable of this name." : "No run yet."));
    const name = kept?.closest<HTMLElement>(".row-head")?.dataset.variable;
    fill(list, ...parts);
    if (kept?.isConnected) kept.focus();
    else if (name) list.querySelector<HTMLElement>(`[data-variable="${CSS.escape(name)}"]`)?.focus();
  };
  filter.addEventListener("input", draw);
  fill(element, h("h2", { id: "parameters-name" }, "Change ", h("small", {}, ""), filter), list);
  const small = element.querySelector("h2 small");
  const soon = paced(2, draw);
  store.subscribe(
    (state) => state.run,
    () => {
      form?.end();
      form = null;
      open = null;
      draw();
    },
  );
  store.subscribe((state) => `${state.look.scenarios[0]} ${state.info?.scenarios.length}`, soon);
  store.subscribe((state) => state.log, soon);
  store.subscribe(
    () => ordered(store)?.name ?? "",
    (scenario) => {
      if (small) small.textContent = scenario && scenario !== "main" ? `in ${scenario}` : "";
    },
  );
}
