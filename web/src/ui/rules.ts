/** What is to happen by itself: changes on dates, and triggers, which are looked at after each step. */
import type { Api } from "../fetch/api";
import type { Refused } from "../fetch/problem";
import { mapName } from "../state/levels";
import type { State, Store } from "../state/store";
import type { EventInfo, LogRow, TriggerInfo } from "../state/told";
import { bar, fill, h, say } from "./dom";
import { barred, barredForm, ordered, send } from "./orders";
import { beginWords, nameOf, rowText, stepWords } from "./wording";

const ACTIONS = { pause: "Pause", message: "Show a message", image: "Save a map" };

function here<T extends { scenario: string }>(all: readonly T[], store: Store): T[] {
  const name = ordered(store)?.name;
  return all.filter((each) => each.scenario === name);
}

/** A change on a date as a row of the log that is to be done. */
export function asRow({ id, who, scenario, arguments: change, at_step }: EventInfo): LogRow {
  return { seq: id, at: 0, who, kind: "set", scenario, arguments: change, state: "queued", at_step };
}

/** A change that is to come, in words. */
export function eventText(event: EventInfo, state: State): string {
  const when = event.yearly ? `every year on ${event.yearly}` : event.at_step === null ? "next" : beginWords(state, event.at_step);
  return `${rowText(asRow(event), state)}, ${when}`;
}

/** The events of the run file from a step on, as changes that are to come in a scenario; nobody can remove them. */
export function plannedFor({ run }: Pick<State, "run">, scenario: string, from: number): EventInfo[] {
  return (run?.planned ?? [])
    .filter(({ step }) => step >= from)
    .flatMap(({ step, set, cells }) =>
      Object.entries(set).map(([variable, value]): EventInfo => {
        const region = cells === null ? "all" : { cells: Array.from({ length: cells }) };
        const change = { variable, operation: "set", value, region, given: { value } };
        return { id: 0, scenario, at_step: step, arguments: change, date: null, yearly: null, who: "run file" };
      }),
    );
}

/** The changes that were made in a scenario, those on dates too. legs: of its path. */
export function madeIn(log: readonly LogRow[], legs: ReadonlyMap<number, number>): Pick<EventInfo, "at_step" | "yearly" | "arguments">[] {
  const removed = log.filter((row) => row.kind === "remove").map((row) => row.arguments.rule);
  return log
    .filter(({ seq, kind, state, at_step, branch }) => {
      const made = /^(set|event)$/.test(kind) && state === "done" && !removed.includes(seq);
      return made && (at_step ?? 0) <= (legs.get(Number(branch)) ?? -1);
    })
    .map(({ at_step, arguments: { change, step, ...given } }) => ({
      at_step: change ? ((step ?? null) as number | null) : at_step,
      yearly: null,
      arguments: (change ?? given) as Record<string, unknown>,
    }));
}

export function mount(element: HTMLElement, store: Store, api: Api): void {
  const events = h("ul", { class: "rules" });
  const triggers = h("ul", { class: "rules" });
  fill(
    element,
    h("h2", {}, "To come ", h("small", {}, "changes on dates")),
    events,
    h("h2", {}, "Triggers ", h("small", {}, "evaluated after each step")),
    triggers,
    triggerForm(store, api),
  );
  const take = (label: string, act: () => Promise<unknown>) => {
    const button = h(
      "button",
      { type: "button", class: "small quiet", "aria-label": `Remove: ${label}`, onclick: () => void act() },
      "Remove",
    );
    bar(button, barred(store));
    return button;
  };
  const eventOf = (event: EventInfo) => {
    const text = eventText(event, store.now);
    return h(
      "li",
      {},
      h("span", {}, text, " ", h("small", {}, event.who)),
      event.id > 0 && take(text, () => send(store, () => api.removeEvent(event.id, { wait: 2 }))),
    );
  };
  const triggerOf = (trigger: TriggerInfo) => {
    const { expression, action, off, fired, text, variable, id } = trigger;
    const done = off ? `switched off: ${off}` : fired.length ? `last ${stepWords(store.now, fired.at(-1))}` : "not yet";
    return h(
      "li",
      {},
      h(
        "span",
        {},
        h("code", {}, expression),
        ` ${ACTIONS[action]}${variable ? ` of ${variable}` : ""}${text ? `: ${text}` : ""} `,
        h("small", {}, done),
      ),
      take(expression, () => send(store, () => api.removeTrigger(id, { wait: 2 }))),
    );
  };
  const none = (text: string) => h("li", { class: "none" }, text);
  const planned = () => plannedFor(store.now, ordered(store)?.name ?? "", ordered(store)?.step ?? 0);
  const draw = () => {
    const when = ({ at_step }: EventInfo) => at_step ?? Number.MAX_SAFE_INTEGER; // those of every year come last
    const coming = [...planned(), ...here(store.now.events, store)].sort((one, other) => when(one) - when(other));
    const watched = here(store.now.triggers, store);
    fill(events, ...(coming.length ? coming.map(eventOf) : [none("None. A change with “From: a date” is listed here until it is made.")]));
    fill(triggers, ...(watched.length ? watched.map(triggerOf) : [none("None.")]));
  };
  store.subscribe(
    (state) => [
      ...[state.events, state.triggers, state.steered, state.info?.scenarios.length, state.viewer, state.connection.link],
      planned().length,
    ],
    draw,
  );
}

function triggerForm(store: Store, api: Api): HTMLElement {
  const expression = h("input", {
    id: "trigger-expression",
    autocomplete: "off",
    required: true,
    "aria-describedby": "trigger-wrong",
    spellcheck: "false",
  });
  const action = h("select", { id: "trigger-action" }, ...Object.entries(ACTIONS).map(([value, text]) => h("option", { value }, text)));
  const text = h("input", { id: "trigger-text", maxlength: 200, autocomplete: "off" });
  const variable = h("select", { id: "trigger-variable", "aria-label": "Variable of the map", hidden: true });
  const wrong = h("p", { class: "wrong", role: "alert", id: "trigger-wrong" });
  const button = h("button", { type: "submit" }, "Add the trigger");
  const { sentence } = barredForm(store, button);
  const form = h(
    "form",
    { class: "change", "aria-label": "New trigger", novalidate: true },
    sentence,
    h("label", { for: expression.id }, "When"),
    expression,
    h("label", { for: action.id }, "Then"),
    h("div", { class: "row" }, action, variable),
    h("label", { for: text.id }, "Words"),
    text,
    wrong,
    h("div", { class: "acts" }, button),
  );
  action.addEventListener("change", () => {
    variable.hidden = action.value !== "image";
  });
  store.follow(["run", "look.variable"], ({ run, look }) => {
    expression.placeholder = look.variable && `mean(${look.variable}) < 100`;
    const maps = (run?.variables ?? [])
      .map((each) => mapName(each, look.variable))
      .map((name) => [name, nameOf(run?.variables ?? [], name)]);
    fill(variable, ...maps.map(([value, text]) => h("option", { value }, text)));
  });
  store.follow(["steered"], ({ steered: name }) => say(button, `Add the trigger in ${name}`));
  const refused = (error: Refused) => {
    const { detail, title, nearest } = error.problem;
    expression.setAttribute("aria-invalid", "true");
    say(wrong, `${detail || title}${nearest ? ` Did you mean "${nearest}"?` : ""}`);
    return true;
  };
  const submit = async () => {
    say(wrong, "");
    expression.removeAttribute("aria-invalid");
    const scenario = ordered(store);
    if (!scenario) return;
    if (!expression.value.trim()) {
      expression.setAttribute("aria-invalid", "true");
      return say(wrong, `Write when, such as ${expression.placeholder}.`);
    }
    const order = {
      scenario: scenario.name,
      expression: expression.value.trim(),
      action: action.value as "image" | "message" | "pause",
      ...(text.value ? { text: text.value } : {}),
      ...(action.value === "image" ? { variable: variable.value } : {}),
    };
    const made = await send(store, () => api.addTrigger(order, { match: scenario.version, wait: 2 }), refused);
    if (made) form.reset();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit();
  });
  return h("details", { class: "more" }, h("summary", {}, "New trigger"), form);
}
