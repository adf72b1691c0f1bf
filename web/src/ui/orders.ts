/** Sending an order: what the server refuses is told beside what caused it, or as a message when nothing is. */
import { type Failure, isFailure, Refused } from "../fetch/problem";
import { steeredNow } from "../state/scenario";
import type { Part, Store } from "../state/store";
import type { Ordered, Scenario } from "../state/told";
import { bar, h, say } from "./dom";

const own = new Set<number>(); // numbers of the orders that this page gave
const open = new Set<Promise<unknown>>(); // of which there is no reply yet

/** Whether this page gave an order; known when the replies to all that it has sent are there. */
export async function isOwn(seq: number): Promise<boolean> {
  await Promise.allSettled(open);
  return own.has(seq);
}

/** The scenario that orders go to. */
export function ordered(store: Store): Scenario | undefined {
  return steeredNow(store.now);
}

/** What decides whether orders are taken. */
export const BARRING: readonly Part[] = ["connection.link", "viewer", "run"];

/** Why orders are not taken now, in words; null when they are. */
export function barred(store: Store): string | null {
  const { connection, viewer, run } = store.now;
  if (connection.link !== "live") return "not connected";
  if (!run) return "no run yet";
  if (viewer && !viewer.may_steer) return viewer.role === "view" ? "needs a steer token" : "the server is read-only";
  return null;
}

/** A sentence above a form that cannot be sent now; "" above one that can. */
function barredText(store: Store): string {
  const reason = barred(store);
  if (store.now.viewer?.role === "view") return "Your role may look only: orders need a steer token.";
  return reason ? `This cannot be sent: ${reason}.` : "";
}

/** Bars the button of a form that cannot be sent now. Gives the sentence above the form, and what ends this. */
export function barredForm(store: Store, button: HTMLButtonElement): { sentence: HTMLElement; end: () => void } {
  const sentence = h("p", { class: "none only" });
  const end = store.follow(BARRING, () => {
    const reason = barred(store);
    bar(button, reason);
    say(sentence, barredText(store));
    sentence.hidden = reason === null;
  });
  return { sentence, end };
}

/** Asks the server for something that is no order; what goes wrong becomes a message. Null when it failed. */
export async function act<T>(store: Store, ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (!isFailure(error)) throw error;
    tell(store, error);
    return null;
  }
}

function tell(store: Store, error: Failure): void {
  const title = error instanceof Refused ? error.problem.title : "The server did not answer";
  store.notify({ weight: "bad", text: title, detail: error.message, lasts: 20_000 });
}

/** Sends an order. What goes wrong becomes a message, unless `wrong` takes it and returns true. Null when it failed. */
export async function send(store: Store, act: () => Promise<Ordered>, wrong?: (error: Refused) => boolean): Promise<Ordered | null> {
  const reason = barred(store);
  if (reason) {
    store.notify({ weight: "warn", text: `This cannot be done: ${reason}.`, lasts: 6000 });
    return null;
  }
  const reply = act();
  open.add(reply);
  try {
    const made = await reply;
    own.add(made.id);
    return made;
  } catch (error) {
    if (!isFailure(error)) throw error;
    if (error instanceof Refused && wrong?.(error)) return null;
    tell(store, error);
    return null;
  } finally {
    open.delete(reply);
  }
}
