/** Notices of what others ordered, and of each rewind: in every page that may steer it can be undone for ten seconds. */
import type { Api } from "../fetch/api";
import { LEFT } from "../state/scenario";
import type { Store } from "../state/store";
import type { LogRow } from "../state/told";
import { barred, isOwn, send } from "./orders";
import { orderText, scenarioOf } from "./wording";

const [UNDO, LASTS] = [10_000, 6000]; // [ms]
const MANY = 3; // new rows of which each is told; of more only how many there are

const goesBack = (row: LogRow) => row.kind === "rewind" || row.kind === "restart";

/** Is given all rows of the journal whenever there are others. */
export function others(store: Store, api: Api): (rows: readonly LogRow[]) => Promise<void> {
  let run = "";
  let told = new Set<number>();
  const shown = new Map<string, number>(); // what a notice is about -> the notice
  const notify = (about: string, text: string, lasts: number, actions: { label: string; act: () => void }[] = []) => {
    store.dismiss(shown.get(about) ?? 0);
    shown.set(about, store.notify({ weight: actions.length ? "warn" : "good", text, lasts, actions }));
  };
  const undo = (row: LogRow, scenario: string) => {
    const left = scenarioOf(store.now, row.branch)?.name ?? "";
    const last = Math.max(...store.now.log.filter(({ at }) => at === row.at).map(({ seq }) => seq)); // of the same request
    const match = `b${(row.detail as { branch?: number } | null)?.branch}.${last}`; // refused when somebody has ordered since
    void send(store, () => api.rewind(scenario, { left }, { match, wait: 2 }));
  };
  return async (rows) => {
    const first = run !== store.now.run?.name;
    if (first) [run, told] = [store.now.run?.name ?? "", new Set()];
    const news = rows.filter((row) => !told.has(row.seq) && !row.who.startsWith("trigger:") && !(goesBack(row) && row.state === "queued"));
    for (const { seq } of news) told.add(seq);
    if (first) return;
    const part = ({ seq, at }: LogRow) => rows.some((each) => goesBack(each) && each.at === at && each.seq < seq); // of what a rewind does
    const foreign = new Set<LogRow>();
    for (const row of news) if (!part(row) && !(await isOwn(row.seq))) foreign.add(row);
    if (foreign.size > MANY) notify("", `${foreign.size} orders of other clients: see the log`, LASTS);
    for (const row of news.filter((row) => !part(row))) {
      const scenario = (scenarioOf(store.now, row.branch)?.name ?? "").replace(LEFT, "");
      store.dismiss(shown.get(scenario) ?? 0); // what was ordered since would be lost
      if (goesBack(row) && row.state === "done" && !barred(store)) {
        notify(scenario, orderText(row, store.now), UNDO, [{ label: "Undo", act: () => undo(row, scenario) }]);
      } else if (foreign.has(row) && foreign.size <= MANY) notify(`${row.who} ${row.kind} ${scenario}`, orderText(row, store.now), LASTS);
    }
  };
}
