/** The journal: who ordered what and what became of it; each order can be gone back to, or taken away as a line of a program. */
import type { Api } from "../fetch/api";
import { paced } from "../state/pace";
import { LEFT } from "../state/scenario";
import type { Store } from "../state/store";
import type { LogRow } from "../state/told";
import type { Actions } from "./actions";
import { bar, fill, h } from "./dom";
import { BARRING, barred, send } from "./orders";
import { asCurl, asPython, goesOn, outcomeText, requestOf, rowDate, rowText, scenarioOf } from "./wording";

const MOST = 300; // rows that are drawn

export function mount(element: HTMLElement, store: Store, api: Api, actions: Actions): void {
  const filter = h("input", { type: "search", class: "filter", placeholder: "Filter", "aria-label": "Filter the log", id: "log-filter" });
  const list = h("ol", { class: "log", reversed: true });
  const more = h("p", { class: "none" });
  let open: number | null = null;
  fill(element, h("section", { class: "card" }, h("h2", {}, "Log", filter), list, more));

  const copy = async (text: string, what: string) => {
    try {
      await navigator.clipboard.writeText(text);
      store.notify({ weight: "good", text: `Copied as ${what}`, lasts: 3000 });
    } catch {
      store.notify({ weight: "warn", text: `This browser does not let the page copy. ${what}:`, detail: text });
    }
  };
  const back = (row: LogRow) => {
    const scenario = goesOn(store.now, row);
    const step = row.at_step ?? (row.ended_step as number | null);
    if (!scenario || step === null) return;
    void send(store, () => api.before(scenario.name, step, { match: scenario.version, wait: 2 }));
  };
  const actsOf = (row: LogRow): HTMLElement => {
    const scenario = goesOn(store.now, row);
    const request = requestOf(row, (scenarioOf(store.now, row.branch)?.name ?? "main").replace(LEFT, ""));
    const address = request ? api.orderAddress(request.path) : "";
    const python = request && asPython(request, api.page.href, api.run);
    const goes = h("button", { type: "button", class: "small", onclick: () => back(row) }, `Go back to before this in ${scenario?.name}`);
    bar(goes, barred(store));
    return h(
      "div",
      { class: "acts" },
      scenario && row.kind !== "step" && row.at_step !== null && goes,
      request &&
        h("button", { type: "button", class: "small", onclick: () => void copy(asCurl(request, address), "curl") }, "Copy as curl"),
      python && h("button", { type: "button", class: "small", onclick: () => void copy(python, "Python") }, "Copy as Python"),
    );
  };
  const rowOf = (row: LogRow): HTMLElement => {
    const { now } = store;
    const time = new Date(row.at * 1000);
    const expanded = open === row.seq;
    const scenario = scenarioOf(now, row.branch);
    const toggle = () => {
      open = expanded ? null : row.seq;
      draw();
      list.querySelector<HTMLElement>(`[data-seq="${row.seq}"]`)?.focus();
    };
    return h(
      "li",
      { class: "log-row", "data-state": row.state, value: row.seq },
      h(
        "button",
        { type: "button", class: "row-head", "aria-expanded": String(expanded), "data-seq": row.seq, onclick: toggle },
        h("time", { datetime: time.toISOString(), title: time.toLocaleString() }, time.toTimeString().slice(0, 5)),
        h("span", { class: "name" }, rowText(row, now)),
        h("small", {}, [row.who, scenario?.name, rowDate(row, now), outcomeText(row)].filter(Boolean).join(", ")),
      ),
      expanded && actsOf(row),
    );
  };
  const draw = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const { now } = store;
    const fits = (row: LogRow) => {
      const text =
        `${row.who} ${row.kind} ${row.arguments.variable ?? ""} ${rowText(row, now)} ${scenarioOf(now, row.branch)?.name} ${outcomeText(row)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const rows = now.log.filter(fits).reverse();
    const seq = list.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.seq : undefined;
    fill(list, ...rows.slice(0, MOST).map(rowOf));
    if (seq) list.querySelector<HTMLElement>(`[data-seq="${seq}"]`)?.focus();
    more.textContent =
      rows.length > MOST
        ? `${rows.length - MOST} older ones: filter to find them.`
        : rows.length
          ? ""
          : words.length
            ? "No order matches."
            : "There are no orders yet.";
  };
  filter.addEventListener("input", draw);
  actions.on("log", () => {
    store.change({ pane: "log" });
    filter.focus();
  });
  const soon = paced(4, () => {
    if (store.now.pane === "log") draw();
  });
  store.follow(["log", "pane", "run", "info.scenarios.length", ...BARRING], soon);
}
