/** Keeps the journal as new as the rest: it is only told by HTTP. */
import type { Api } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import { paced } from "../state/pace";
import type { Store } from "../state/store";
import type { LogRow } from "../state/told";
import { others } from "./others";

const RATE = 2; // [1/s] at most

export function follow(store: Store, api: Api): void {
  const tell = others(store, api);
  let asking = false;
  let again = false;
  const ask = async () => {
    if (asking || store.now.connection.link !== "live" || !store.now.run) {
      again = asking;
      return;
    }
    asking = true;
    const { name } = store.now.run;
    try {
      const known = store.now.log;
      const open = known.find((row) => row.state === "queued");
      const after = open ? open.seq - 1 : (known.at(-1)?.seq ?? 0);
      const rows = await api.log(after);
      const log = [...known.filter((row) => row.seq <= after), ...rows.map(plain)];
      if (store.now.run?.name === name) {
        store.change({ log });
        void tell(log);
      }
      again ||= log.some((row) => row.state === "queued" && row.kind !== "step" && isDue(store, row)); // over within a moment
    } catch (error) {
      if (!isFailure(error)) throw error; // the connection tells of it
    } finally {
      asking = false;
      if (again) soon();
      again = false;
    }
  };
  const soon = paced(RATE, () => void ask());
  store.follow(["run.name"], () => store.change({ log: [] }));
  store.subscribe(
    ({ info, connection, happenings, run }) =>
      `${run?.name} ${connection.link} ${happenings.length} ${info?.scenarios.map((each) => `${each.name} ${each.version} ${each.step >= each.target}`).join()}`,
    soon,
  );
}

function isDue({ now }: Store, { at_step, branch }: LogRow): boolean {
  return at_step === null || at_step <= (now.info?.scenarios.find((each) => each.branch === branch)?.step ?? -1);
}

/** A row as the journal writes it, under the names of the page. */
function plain(row: LogRow): LogRow {
  return { ...row, at: Number(row.accepted_at ?? row.at), state: String(row.outcome ?? "queued"), scenario: "" };
}
