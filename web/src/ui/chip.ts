/** The state of the run in words: the chip in the header. Pure but for the last function. */
import { momentOf, momentText, stepText } from "../decode/calendar";
import { rounded } from "../decode/units";
import type { State, Store } from "../state/store";
import { byId, say } from "./dom";
import { ordered } from "./orders";

export interface Chip {
  text: string;
  weight: "good" | "warn" | "bad" | "still";
}

/** rate: steps a second as measured here, null when unknown; now: milliseconds since 1970. */
export function chipOf(state: State, rate: number | null, now: number): Chip {
  const { connection, run, info, runs } = state;
  if (connection.link === "refused") return { text: connection.reason, weight: "bad" };
  if (connection.link === "lost") {
    const wait = Math.max(0, Math.ceil(((connection.retry_at ?? now) - now) / 1000));
    return { text: wait > 0 ? `Connection lost, trying again in ${wait} s` : "Connection lost, trying again", weight: "warn" };
  }
  if (runs?.length === 0) return { text: "No run yet", weight: "still" };
  if (!info) return { text: "Connecting", weight: "still" };
  const scenario = info.scenarios.find((each) => each.name === state.look.scenarios[0]) ?? info.scenarios[0];
  const clock = run?.clock;
  const date = clock && scenario ? stepText(clock, scenario.step) : "";
  if (info.silent) return { text: "Engine is silent", weight: "warn" };
  switch (info.state) {
    case "absent":
      return { text: "Not started", weight: "still" };
    case "starting":
      return { text: "Starting: the engine", weight: "still" };
    case "loading":
      return { text: "Starting: reads its inputs", weight: "still" };
    case "compiling":
      return { text: "Starting: compiles its kernels", weight: "still" };
    case "recovering":
      return { text: `Engine died${info.deaths > 1 ? ` ${info.deaths} times` : ""}, is brought back`, weight: "warn" };
    case "failed":
      return { text: "Run has failed", weight: "bad" };
    case "archived":
    case "deleted":
      return { text: "Run has ended", weight: "still" };
    case "stepping":
    case "ready":
    case "paused":
    case "finished":
      break;
  }
  if (scenario && scenario.target > scenario.step) return { text: runningText(state, scenario.target - scenario.step, rate), weight: "good" };
  if (run && scenario && run.steps !== null && scenario.step >= run.steps) {
    const end = clock && momentOf(clock, run.steps);
    return { text: end && clock ? `${run.forcing ? "Forcing ends" : "Finished at"} ${momentText(end, clock)}` : "Finished", weight: "still" };
  }
  return { text: `Paused${date ? ` at ${date}` : ""}`, weight: "still" };
}

function runningText(state: State, left: number, rate: number | null): string {
  if (!rate) return "Running";
  const step = state.run?.clock.step;
  const unit = step === 86400 ? "days" : step === 3600 ? "hours" : "steps";
  const seconds = left / rate;
  const rest = seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${rounded(seconds / 3600, 2)} h`;
  return `Running, ${rounded(rate, 2)} ${unit} a second, ${rest} left`;
}

/** Steps a second of the first scenario that is shown, from what it was told in the last seconds. */
export class Rate {
  private told: { at: number; step: number }[] = [];
  value: number | null = null;

  hear(step: number, at: number): void {
    const last = this.told.at(-1);
    if (last && step < last.step) this.told = [];
    if (!last || step !== last.step) this.told.push({ at, step });
    while (this.told.length > 2 && (this.told[0] as { at: number }).at < at - 4000) this.told.shift();
    const [first, newest] = [this.told[0], this.told.at(-1)];
    const passed = first && newest ? (newest.at - first.at) / 1000 : 0;
    this.value = first && newest && passed > 0.2 && at - newest.at < 3000 ? (newest.step - first.step) / passed : null;
  }
}

export function mount(store: Store): void {
  const chip = byId("chip");
  const rate = new Rate();
  const words = chip.querySelector("b") as HTMLElement;
  function show(): void {
    const step = store.now.shown[0]?.live ? store.now.shown[0].step : ordered(store)?.step;
    if (step !== undefined) rate.hear(step, performance.now());
    const { text, weight } = chipOf(store.now, rate.value, Date.now());
    const skipped = store.now.connection.skipped;
    say(words, text);
    chip.dataset.weight = weight;
    say(byId("skipped"), skipped > 0 ? `${skipped} frames skipped` : "");
  }
  store.subscribe((state) => [state.connection.link, state.runs, state.info?.state, state.look.scenarios], show);
  setInterval(show, 500);
}
