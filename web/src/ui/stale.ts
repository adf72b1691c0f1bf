/** What is told of a draft that was overtaken: who ordered what in the meantime, and what can be done. */
import type { State } from "../state/store";
import type { LogRow } from "../state/told";
import { h } from "./dom";
import { rowDate, rowText, scenarioOf } from "./wording";

/** An order that was given since, as a 412 tells it. */
export interface Changed {
  seq: number;
  who: string;
  kind: string;
}

/** Whether it changes no value, so that a draft is as good behind it. rows: the journal since. */
export function isHarmless({ seq, kind }: Changed, rows: readonly LogRow[]): boolean {
  const failed = rows.some((each) => each.seq === seq && each.outcome === "failed");
  return failed || ["step", "pause", "checkpoint"].includes(kind);
}

/** rows: the journal since; typed: the draft; acts: what the buttons do. */
export function staleNote(
  state: State,
  changed: readonly Changed[],
  rows: readonly LogRow[],
  typed: string,
  acts: { apply: () => void; drop: () => void },
): HTMLElement[] {
  const lines = changed
    .filter((each) => !isHarmless(each, rows))
    .map(({ seq, who, kind }) => {
      const row = rows.find((each) => each.seq === seq);
      return row
        ? `${who}: ${rowText(row, state)}, ${[scenarioOf(state, row.branch)?.name, rowDate(row, state)].filter(Boolean).join(", ")}`
        : `${who}: ${kind}`;
    });
  return [
    h("b", {}, `While you typed ${typed}`),
    h("ul", {}, ...lines.map((line) => h("li", {}, line))),
    h(
      "div",
      { class: "acts" },
      h("button", { type: "button", class: "main", onclick: acts.apply }, "Apply anyway"),
      h("button", { type: "button", onclick: acts.drop }, "Drop"),
    ),
  ];
}
