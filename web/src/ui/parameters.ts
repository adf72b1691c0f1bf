/** What can be changed: a row for each variable, which opens into the form that changes it; what is computed names what to change instead. */
import { grouped, prettyUnit, rounded } from "../decode/units";
import type { Api } from "../fetch/api";
import { named, parted } from "../state/levels";
import { paced } from "../state/pace";
import { legsOf, steeredNow } from "../state/scenario";
import type { State, Store } from "../state/store";
import type { LogRow, Variable } from "../state/told";
import type { Actions } from "./actions";
import { ChangeForm } from "./change";
import { fill, h, s } from "./dom";
import { ordered } from "./orders";
import { asRow, plannedFor } from "./rules";
import { yearly } from "./timeline";
import { atText, nameOf, regionText, rowDate } from "./wording";

const [GIVEN, CHANGED] = ["Set by the run file", "Changed"];
const FEW = 8; // rows of a group that are seen before the viewer asks for all

/** What the run file sets, what was changed, then the parameters in the groups of the model, the state, and what is computed. */
export function groupsOf({ run, log }: Pick<State, "run" | "log">): Map<string, Variable[]> {
  const changed = new Set(log.filter((row) => row.kind === "set" && row.state === "done").map(changedOf));
  let heading = "Parameters";
  const titled = (run?.variables ?? []).map((variable) => {
    const { name, role, settable } = variable;
    if (role === "parameter") heading = variable.heading || heading;
    const usual = role === "parameter" ? heading : role === "state" ? "State" : "Computed";
    return [run?.given.includes(name) ? GIVEN : changed.has(name) ? CHANGED : settable ? usual : "Computed", variable] as const;
  });
  const groups = new Map<string, Variable[]>([GIVEN, CHANGED].map((title) => [title, []]));
  const last = ({ role }: Variable) => ["parameter", "state"].indexOf(role) >>> 0; // all others
  for (const [title, variable] of titled.sort(([, one], [, other]) => last(one) - last(other)))
    groups.set(title, [...(groups.get(title) ?? []), variable]);
  return groups;
}

/** The variable that a row of the log has changed, whole or at a level. */
function changedOf(row: LogRow): string {
  return parted(String(row.arguments.variable))[0];
}

/** The orders on the path to where the steered scenario stands. */
function pathOf(state: State): LogRow[] {
  const legs = legsOf(state.info?.scenarios ?? [], steeredNow(state));
  return state.log.filter((row) => row.state === "done" && (row.at_step ?? 0) <= (legs.get(Number(row.branch)) ?? -1));
}

/** What events have changed there, of each event the last change. */
function eventsMade(state: State): LogRow[] {
  const { run } = state;
  const [path, stands] = [pathOf(state), steeredNow(state)?.step ?? 0];
  const events = path.flatMap((row): LogRow[] => {
    if (row.kind !== "event" || !run) return [];
    const { change, yearly: day, step } = row.arguments;
    const removed = path.find((each) => each.kind === "remove" && each.arguments.rule === row.seq)?.at_step ?? stands;
    const steps = day ? yearly(run.clock, stands, String(day), row.at_step ?? 0) : [Number(step)];
    const last = steps.findLast((each) => each < Math.min(stands, removed));
    return last === undefined ? [] : [{ ...row, kind: "set", arguments: change as LogRow["arguments"], at_step: last }];
  });
  const planned = plannedFor({ run }, "", 0).filter(({ at_step }) => (at_step ?? 0) < stands);
  return [...planned.map(asRow), ...events];
}

/** The changes of a variable that hold where the steered scenario stands, the newest first. */
export function changesOf(state: State, name: string): LogRow[] {
  return [...pathOf(state).filter(({ kind }) => kind === "set"), ...eventsMade(state)]
    .filter((row) => changedOf(row) === name)
    .reverse()
    .sort((one, other) => (other.at_step ?? 0) - (one.at_step ?? 0));
}

/** The value as far as it is one number: what the run began with, or what somebody set everywhere since. */
function valueText(state: State, variable: Variable, changes: readonly LogRow[]): string {
  if (variable.role !== "parameter") return "";
  const [last] = changes;
  const everywhere =
    last?.arguments.variable === variable.name &&
    last.arguments.operation === "set" &&
    last.arguments.region === "all" &&
    typeof last.arguments.value === "number";
  if (everywhere) return rounded(Number(last.arguments.value), 6);
  const first = state.run?.parameters[variable.name] ?? variable.initial;
  if (last) return "differs";
  return typeof first === "number" ? rounded(first, 6) : first === "per cell" ? "per cell" : "";
}

function byWhom(state: State, variable: Variable, changes: readonly LogRow[]): string {
  const [last] = changes;
  if (!last) return "";
  return `${last.who}, ${rowDate(last, state)},${atText([variable], last.arguments.variable)} ${regionText(last.arguments.region)}`;
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

/** Returns what leads to a change in the region that is selected. */
export function mount(element: HTMLElement, store: Store, api: Api, actions: Actions): () => void {
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
  let here: State["selection"] = null; // in which forms begin
  const unfolded = new Set<string>();

  const toggle = (name: string) => {
    form?.end();
    form = null;
    open = open === name ? null : name;
    draw();
    (form as ChangeForm | null)?.focus();
  };
  const details = (variable: Variable): HTMLElement => {
    const begun = store.now.run?.parameters[variable.name];
    const facts: [string, string][] = [
      ["This run", typeof begun === "number" ? `began with ${rounded(begun, 6)}` : begun ? `began with a value ${begun}` : ""],
      ["Range", rangeText(variable)],
      ["Default", variable.initial === null ? "" : rounded(variable.initial, 6)],
      ["Source", variable.source],
    ];
    if (!variable.settable) {
      const names = variable.settable_by.map((name) => nameOf(store.now.run?.variables ?? [], name));
      return h(
        "p",
        { class: "instead" },
        names.length
          ? `It is computed. Set ${names.join(", ")} instead.`
          : `It is ${variable.role === "parameter" ? "given by the run file" : "computed"} and cannot be set.`,
      );
    }
    if (!form) {
      form = new ChangeForm(store, api, variable);
      if (here && here === store.now.selection) form.inSelection();
      const typed = filter.value.trim();
      if (named([variable], typed)?.levels === null) form.atLevel(typed);
    }
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
      h("span", { class: "name" }, nameOf([variable], variable.name)),
      h("span", { class: "value" }, valueText(now, variable, changes)),
      h("span", { class: "unit" }, prettyUnit(variable.units)),
      changes.length > 0 && h("small", {}, byWhom(now, variable, changes)),
    );
    return h("li", { class: "variable" }, head, expanded && details(variable));
  };
  const draw = () => {
    const focused = document.activeElement; // asked for before the form is moved, which takes the focus from it
    const kept = focused instanceof HTMLElement && list.contains(focused) ? focused : null;
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (variable: Variable) => {
      const { name, long_name, standard_name, levels } = variable;
      const text = [name, long_name, standard_name, ...(levels?.values ?? []).map((_, level) => `${name}[${level}]`)]
        .join(" ")
        .toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const parts: HTMLElement[] = [];
    for (const [title, group] of groupsOf(store.now)) {
      const these = group.filter(fits);
      const few = these.length <= FEW && title !== "Computed";
      const shown = few || words.length || unfolded.has(title) ? these : these.filter((each) => each.name === open);
      if (!these.length) continue;
      parts.push(h("h3", {}, title, " ", h("small", {}, grouped(String(these.length)))), h("ul", {}, ...shown.map(rowOf)));
      const more = () => {
        unfolded.add(title);
        draw();
      };
      if (shown.length < these.length)
        parts.push(h("button", { type: "button", class: "small quiet more", onclick: more }, `All ${these.length}`));
    }
    if (!parts.length) parts.push(h("p", { class: "none" }, words.length ? "No variable of this name." : "No run yet."));
    const name = kept?.closest<HTMLElement>(".row-head")?.dataset.variable;
    fill(list, ...parts);
    if (kept?.isConnected) kept.focus();
    else if (name) list.querySelector<HTMLElement>(`[data-variable="${CSS.escape(name)}"]`)?.focus();
  };
  filter.addEventListener("input", draw);
  filter.addEventListener("keydown", (event) => {
    const first = list.querySelector<HTMLElement>(".row-head")?.dataset.variable;
    if (event.key === "Enter" && filter.value.trim() && first && first !== open) {
      event.preventDefault(); // it would be a press in the form that opens
      toggle(first);
    }
  });
  actions.on("set", () => {
    store.change({ pane: "steer" });
    filter.focus();
  });
  fill(element, h("h2", { id: "parameters-name" }, "Change ", h("small", {}, ""), filter), list);
  const small = element.querySelector("h2 small");
  const soon = paced(2, draw);
  store.subscribe(
    ({ run }) => JSON.stringify(run && [run.name, run.model, run.variables.map(({ name }) => name)]), // a connection made anew ends no draft
    () => {
      form?.end();
      form = null;
      open = null;
      draw();
    },
  );
  store.follow(["steered", "info.scenarios.length"], soon);
  store.subscribe((state) => [state.log, ...(state.pane === "steer" ? eventsMade(state).map(({ at_step }) => at_step) : [])], soon);
  store.subscribe(
    () => ordered(store)?.name ?? "",
    (scenario) => {
      if (small) small.textContent = scenario && `in ${scenario}`;
    },
  );
  return () => {
    store.change({ pane: "steer" });
    here = store.now.selection;
    form?.inSelection();
    (form ?? filter).focus();
  };
}
