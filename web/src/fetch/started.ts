/** What start.ts hands to main.ts, which have no code in common. */
import type { Info, Role } from "../state/told";

export interface Started {
  viewer: { name: string; role: Role };
  runs: Info[];
  /** The run whose socket is open; empty when there is none. */
  run: string;
  socket: WebSocket | null;
  /** What came through the socket meanwhile. */
  heard: MessageEvent[];
}

/** What a socket offers: a packed hello, too. */
export const PROTOCOLS = ["steppe.live.1", "steppe.packed.1"];

/** The run that a link names, or the first. */
export function chosenRun(runs: readonly Info[], named: string | null | undefined): Info | undefined {
  return runs.find((each) => each.run === named) ?? runs[0];
}

/** Once: after that there is nothing to take over. */
export async function takeStarted(): Promise<Started | null> {
  const place = globalThis as { steppeStarted?: Promise<Started | null> | null };
  const started = place.steppeStarted;
  place.steppeStarted = null;
  return (await started) ?? null;
}
