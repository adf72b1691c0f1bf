/** The tree of scenarios: what each differs in and where it stands; two that are ticked are compared. */
import { counted } from "../decode/units";
import type { Api } from "../fetch/api";
import { paced } from "../state/pace";
import { LEFT, legsOf, onView, steeredNow } from "../state/scenario";
import type { State, Store } from "../state/store";
import type { Scenario } from "../state/told";
import type { Actions } from "./actions";
import { askBranch } from "./branch";
import { bar, fill, h } from "./dom";
import { BARRING, barred, send } from "./orders";
import { rowDate, rowText, stepWords } from "./wording";

const UNDO = 10_000; // [ms]

/** Scenarios in the order of a tree, with how deep each lies. What was left is there when somebody asked for it or something grew from it. */
export function treeOf(scenarios: readonly Scenario[], left: boolean): { scenario: Scenario; depth: number }[] {
  const found: { scenario: Scenario; depth: number }[] = [];
  const shown = (each: Scenario): boolean => left || !LEFT.test(each.name);
  const told = new Set(scenarios.map((each) => each.branch)); // of those that were left the newest alone
  const parentOf = ({ parent }: Scenario) => (parent !== null && told.has(parent) ? parent : null);
  const grow = (parent: number | null, depth: number) => {
    for (const scenario of scenarios.filter((each) => parentOf(each) === parent)) {
      if (shown(scenario)) found.push({ scenario, depth });
      grow(scenario.branch, shown(scenario) ? depth + 1 : depth);
    }
  };
  grow(null, 0);
  return found;
}

/** What made a scenario differ: the first change that was made in it, also before it was rewound; if there is none, the first that is to come. */
export function differenceOf(scenario: Scenario, state: State): string {
  if (scenario.parent === null) return "";
  const legs = legsOf(state.info?.scenarios ?? [], scenario, (each) => each.name.replace(LEFT, "") === scenario.name);
  const within = state.log.filter(
    (each) => (each.kind === "set" || each.kind === "event") && (each.at_step ?? 0) <= (legs.get(Number(each.branch)) ?? -1),
  );
  const made = within.find((each) => each.kind === "set" && each.state === "done");
  if (made) return rowText(made, state);
  const coming = within.find((each) => each.state === "queued" || (each.kind === "event" && each.state === "done"));
  if (!coming) return "";
  const when = coming.kind === "set" && coming.at_step !== null ? `, ${rowDate(coming, state)}` : "";
  return `to come: ${rowText(coming, state)}${when}`;
}

/** Where a scenario began and stands. What its rewinds have left belongs to it, so that a rewind and its undoing begin nothing new. */
export function whereText(scenario: Scenario, state: State): string {
  const scenarios = state.info?.scenarios ?? [];
  let [first, fork] = [scenario, scenario.fork_step];
  for (let own = parentOf(first); own?.name.replace(LEFT, "") === scenario.name; own = parentOf(first)) {
    first = own;
    fork = Math.min(fork, own.fork_step);
  }
  function parentOf({ parent }: Scenario): Scenario | undefined {
    return scenarios.find((each) => each.branch === parent);
  }
  const parent = parentOf(first);
  const from = parent ? `from ${stepWords(state, fork)} of ${parent.name}, ` : "";
  const length = scenario.step - fork;
  const unit = state.run?.clock.step === 86400 ? "day" : "step";
  return `${from}${counted(length, unit)}, at ${stepWords(state, scenario.step)}`;
}

export function mount(element: HTMLElement, store: Store, api: Api, actions: Actions): void {
  const tree = h("ul", { role: "tree", "aria-label": "Scenarios", class: "tree" });
  const left = h("input", { type: "checkbox", id: "scenarios-left" });
  const leaving = new Map<number, () => void>(); // branches that are deleted when nobody undoes it, and what deletes them now
  window.addEventListener("pagehide", () => {
    for (const now of leaving.values()) now();
  });
  let focused: number | null = null;
  let renaming: number | null = null;
  const branch = h(
    "button",
    { type: "button", class: "small", onclick: () => askBranch(form, store, api, () => branch.focus()) },
    "Branch…",
  );
  const form = h("div", { class: "ask" });
  fill(
    element,
    h(
      "section",
      { class: "card" },
      h("h2", {}, "Scenarios ", h("small", {}, "tick two to compare"), branch),
      form,
      tree,
      h("label", { class: "switch" }, left, "Show those that were left"),
    ),
  );
  left.addEventListener("change", () => draw());

  const show = (scenario: Scenario) => store.look({ scenarios: [scenario.name], maps: 1 });
  const tick = (scenario: Scenario) => {
    const { look } = store.now;
    const ticked = onView(look);
    const rest = ticked.filter((name) => name !== scenario.name);
    const next = rest.length === ticked.length ? [...ticked.slice(-1), scenario.name] : rest;
    if (next.length === 0) return;
    store.look({ scenarios: next, maps: next.length === 2 ? 3 : 1 });
  };
  const rename = async (scenario: Scenario, name: string) => {
    renaming = null;
    if (name && name !== scenario.name) {
      const made = await send(store, () => api.rename(scenario.name, name, { match: scenario.version, wait: 2 }));
      if (made && store.now.steered === scenario.name) store.change({ steered: name });
      if (made) store.look({ scenarios: store.now.look.scenarios.map((each) => (each === scenario.name ? name : each)) });
    }
    draw();
    tree.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  };
  /** Whether a scenario may be renamed or deleted; tells why it may not. */
  const may = (be: string, scenario: Scenario): boolean => {
    const reason = barred(store) ?? (scenario.name === "main" ? "the run begins with it" : null);
    if (reason) store.notify({ weight: "warn", text: `${scenario.name} cannot be ${be}: ${reason}.`, lasts: 6000 });
    return reason === null;
  };
  const leave = (scenario: Scenario) => {
    const { look, steered } = store.now;
    if (look.scenarios.includes(scenario.name)) store.look({ scenarios: ["main"], maps: 1 });
    if (steered === scenario.name) store.change({ steered: "main" });
    const now = () => {
      clearTimeout(clock);
      void send(store, () => api.leave(scenario.name, { wait: 2 })).then(() => {
        leaving.delete(scenario.branch);
        draw();
      });
    };
    leaving.set(scenario.branch, now);
    const clock = setTimeout(now, UNDO);
    const undo = () => {
      clearTimeout(clock);
      leaving.delete(scenario.branch);
      draw();
    };
    const detail = `Its past stays: you can look at it and branch it off. Orders go to ${store.now.steered}.`;
    store.notify({ weight: "warn", text: `${scenario.name} is deleted`, detail, lasts: UNDO, actions: [{ label: "Undo", act: undo }] });
    draw();
  };
  const ask = (scenario: Scenario) => {
    if (!may("deleted", scenario)) return;
    const close = () => {
      fill(form);
      tree.querySelector<HTMLElement>("[tabindex='0']")?.focus();
    };
    const goOn = () => {
      close();
      leave(scenario);
    };
    const sure = h("button", { type: "button", class: "main", onclick: goOn }, "Delete");
    fill(
      form,
      h(
        "div",
        { class: "stale-note", role: "alertdialog", "aria-label": "Delete" },
        h("b", {}, `Delete ${scenario.name}?`),
        h("div", { class: "acts" }, sure, h("button", { type: "button", onclick: close }, "Keep")),
      ),
    );
    sure.focus();
  };
  const itemOf = ({ scenario, depth }: { scenario: Scenario; depth: number }): HTMLElement => {
    const { now } = store;
    const at = now.look.scenarios.indexOf(scenario.name);
    const steers = scenario.name === now.steered;
    const compared = at >= 0 && onView(now.look).length > 1;
    const difference = differenceOf(scenario, now);
    const ticks = (event: Event) => {
      event.preventDefault(); // the tree is drawn anew with what is compared
      event.stopPropagation();
      setTimeout(() => tick(scenario));
    };
    const box = h("input", { type: "checkbox", tabindex: -1, "aria-label": `Compare ${scenario.name}`, onclick: ticks });
    box.checked = compared;
    const label = renaming === scenario.branch ? renameField(scenario) : h("b", {}, scenario.name);
    return h(
      "li",
      {
        role: "treeitem",
        "aria-level": depth + 1,
        "aria-selected": String(at >= 0),
        "aria-label": `${scenario.name}, ${whereText(scenario, now)}${difference ? `, ${difference}` : ""}${compared ? ", compared" : ""}${steers ? ", orders go here" : ""}`,
        tabindex: scenario.branch === focused ? 0 : -1,
        "data-branch": scenario.branch,
        class: `scenario depth-${Math.min(depth, 6)}`,
        onclick: () => {
          focused = scenario.branch;
          show(scenario);
        },
      },
      box,
      h(
        "div",
        {},
        label,
        steers && h("em", {}, " orders go here"),
        h("small", {}, whereText(scenario, now)),
        difference ? h("small", { class: "difference" }, difference) : null,
      ),
      h(
        "span",
        { class: "acts" },
        !steers &&
          !LEFT.test(scenario.name) &&
          action("Steer", `Orders go to ${scenario.name}`, () => store.change({ steered: scenario.name })),
        scenario.name !== "main" &&
          !LEFT.test(scenario.name) &&
          action("Rename", `Rename ${scenario.name} (F2)`, () => startRenaming(scenario)),
        scenario.name !== "main" && !LEFT.test(scenario.name) && action("Delete", `Delete ${scenario.name}`, () => ask(scenario)),
      ),
    );
  };
  const action = (text: string, title: string, act: () => void) => {
    const onclick = (event: Event) => {
      event.stopPropagation();
      act();
    };
    return h("button", { type: "button", class: "small quiet", title, tabindex: -1, onclick }, text);
  };
  const startRenaming = (scenario: Scenario) => {
    if (!may("renamed", scenario)) return;
    renaming = scenario.branch;
    draw();
    tree.querySelector<HTMLInputElement>(".rename")?.select();
  };
  const renameField = (scenario: Scenario): HTMLElement => {
    const field = h("input", {
      class: "rename",
      value: scenario.name,
      "aria-label": `New name of ${scenario.name}`,
      onclick: (event) => event.stopPropagation(),
    });
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") void rename(scenario, field.value.trim());
      if (event.key === "Escape") void rename(scenario, "");
    });
    return field;
  };
  const draw = () => {
    if (renaming !== null && tree.querySelector(".rename") === document.activeElement && document.activeElement) return;
    const had = tree.contains(document.activeElement);
    const rows = treeOf(store.now.info?.scenarios ?? [], left.checked).filter(({ scenario }) => !leaving.has(scenario.branch));
    if (!rows.some(({ scenario }) => scenario.branch === focused)) {
      focused = (rows.find(({ scenario }) => scenario.name === store.now.look.scenarios[0]) ?? rows[0])?.scenario.branch ?? null;
    }
    fill(tree, ...rows.map(itemOf));
    if (had) tree.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  };
  tree.addEventListener("keydown", (event) => {
    const items = [...tree.querySelectorAll<HTMLElement>("[role=treeitem]")];
    const index = items.findIndex((item) => item.dataset.branch === String(focused));
    const scenario = store.now.info?.scenarios.find((each) => each.branch === focused);
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined) {
      focused = Number((items[to] ?? items[index])?.dataset.branch ?? focused);
      draw();
    } else if (!scenario) return;
    else if (event.key === "Enter") show(scenario);
    else if (event.key === " " || event.key.toLowerCase() === "k") tick(scenario);
    else if (event.key === "F2") startRenaming(scenario);
    else if (event.key === "Delete") ask(scenario);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const shown = (act: () => void) => () => {
    store.change({ pane: "scenarios" });
    act();
  };
  actions.on(
    "branch",
    shown(() => branch.click()),
  );
  actions.on(
    "rename",
    shown(() => {
      const steered = steeredNow(store.now);
      if (steered) startRenaming(steered);
    }),
  );
  actions.on(
    "compare",
    shown(() => tree.querySelector<HTMLElement>("[tabindex='0']")?.focus()),
  );
  const soon = paced(2, draw);
  store.follow(["info.scenarios", "log"], soon);
  store.follow(["look.scenarios", "look.maps", "run", "viewer", "steered"], draw);
  store.follow(["steered", ...BARRING], ({ steered }) => {
    branch.dataset.title = `Branch from where ${steered} stands (R)`;
    bar(branch, barred(store));
  });
}
