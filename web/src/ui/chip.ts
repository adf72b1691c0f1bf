/** The state of the run and of the connection in words, beside a dot; and what lies over the map while it is not live. */
import { counted, grouped } from "../decode/units";
import type { Api } from "../fetch/api";
import { steeredNow, toldOf } from "../state/scenario";
import type { State, Store, Weight } from "../state/store";
import type { Info, Scenario } from "../state/told";
import { fill, h, say } from "./dom";
import { act, send } from "./orders";
import { stepWords } from "./wording";

const WINDOW = 5000; // [ms]
const ENDED = "The run has ended";
const BEGINNING: readonly string[] = ["starting", "loading", "compiling"];

export interface Standing {
  weight: Weight | "none";
  text: string;
  /** Whether the map shows something that is no longer, or not yet, so. */
  stale: boolean;
}

/** "2.5", "40", "1 200": a rate in words. */
function rateText(rate: number): string {
  return grouped(rate >= 10 ? String(Math.round(rate)) : rate.toFixed(1));
}

/** "12 s", "3 min", "2 h". */
export function lengthText(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function unit({ run }: State): string {
  return run?.clock.step === 86400 ? "days" : "steps";
}

/** Where the run stands. now: milliseconds since 1970. */
export function standingOf(state: State, now: number): Standing {
  const { connection, info, runs } = state;
  if (connection.link === "lost") {
    const wait = connection.retry_at === null ? 0 : Math.ceil((connection.retry_at - now) / 1000);
    const when = wait > 0 ? `trying again in ${wait} s` : "trying again";
    return { weight: "bad", text: `Connection lost, ${when}`, stale: true };
  }
  if (connection.link === "ended") return { weight: "none", text: ENDED, stale: true };
  if (connection.link === "refused") return { weight: "bad", text: connection.reason || "No token", stale: true };
  if (!info) return { weight: "none", text: runs?.length === 0 ? "No run yet" : "Connecting", stale: false };
  const problem = (info.problem ?? {}) as { text?: string };
  const at = toldOf(state);
  switch (info.state) {
    case "failed":
      return { weight: "bad", text: "Engine gave up", stale: true };
    case "recovering":
      return { weight: "warn", text: `Engine died${problem.text ? `: ${problem.text}` : ""}, coming back`, stale: true };
    case "paused":
      return { weight: "warn", text: "The disk is full, waiting for room", stale: true };
    case "starting":
    case "loading":
    case "compiling": {
      const doing = { starting: "starting the engine", loading: "reading inputs", compiling: "compiling the model" }[info.state];
      const waited = state.since === null ? 0 : (now - state.since) / 1000;
      const long = waited >= 1 ? `, ${lengthText(waited)}` : "";
      if (info.state === "compiling" && at && at.target > at.step && typeof at.at !== "number") {
        return { weight: "good", text: `Running: ${doing}${long}`, stale: false }; // a change may need another kernel
      }
      return {
        weight: "warn",
        text: `${info.deaths > 0 ? "Engine died, coming back" : "Starting"}: ${doing}${long}`,
        stale: info.deaths > 0,
      };
    }
    case "absent":
      return { weight: "none", text: "No engine", stale: false };
    case "archived":
    case "deleted":
      return { weight: "none", text: ENDED, stale: true };
  }
  if (at?.problem) return { weight: "bad", text: "The scenario cannot continue", stale: true };
  if (info.silent) return { weight: "warn", text: "Engine is silent", stale: true };
  if (typeof at?.at === "number") {
    return { weight: "warn", text: `Coming back: step ${grouped(String(at.at))} of ${grouped(String(at.step))}`, stale: true };
  }
  const others = at && state.steered && at.name !== state.steered ? `${at.name}: ` : ""; // not where orders go
  if (at && at.target > at.step) return { weight: "good", text: `${others}${runningText(state, at, now)}`, stale: false };
  if (at && info.steps !== null && at.step >= info.steps) {
    return { weight: "none", text: `${others}Ended ${stepWords(state, at.step)}`, stale: false };
  }
  return {
    weight: "none",
    text: `${others}Paused ${at && at.step > 0 ? "at" : ""} ${stepWords(state, at?.step)}`.replace(/ +/g, " "),
    stale: false,
  };
}

/** Steps a second over the last seconds, from what was told of them. */
export class Pace {
  private marks: { at: number; branch: number; step: number }[] = [];

  /** at: milliseconds. Null before there is anything to tell it from. */
  rate(at: number, branch: number, step: number): number | null {
    this.marks = this.marks.filter((mark) => mark.branch === branch && mark.step <= step && mark.at > at - WINDOW);
    if (this.marks.at(-1)?.step !== step) this.marks.push({ at, branch, step });
    const [first] = this.marks;
    return first && step > first.step && at > first.at ? (1000 * (step - first.step)) / (at - first.at) : null;
  }
}

const pace = new Pace();

function runningText(state: State, at: Scenario, now: number): string {
  const rate = state.info?.rate ?? pace.rate(now, at.branch, at.step);
  if (!rate) return "Running";
  const left = (at.target - at.step) / rate;
  return `Running, ${rateText(rate)} ${unit(state)} a second${left >= 2 ? `, ${lengthText(left)} left` : ""}`;
}

/** The global arrays of the run's models in words, "" without any: "2 arrays, 1.5 MB; 120 messages between hosts, 3.0 MB". */
export function arraysText(counts: Info["arrays"] | undefined): string {
  const { arrays = 0, bytes = 0, messages = 0, sent = 0, longest_wait = 0 } = counts ?? {};
  if (!bytes) return "";
  const size = `${counted(arrays, "array")}, ${(bytes / 1e6).toFixed(1)} MB`;
  if (!messages) return size;
  const wait = `longest wait ${(1000 * longest_wait).toFixed(1)} ms`;
  return `${size}; ${grouped(String(messages))} messages between hosts, ${(sent / 1e6).toFixed(1)} MB, ${wait}`;
}

/** How the engine ended last, and its last lines, or why the scenario cannot go on; null while all is well. */
function failure(state: State): { text: string; log: string[] } | null {
  const problem = (state.info?.problem ?? toldOf(state)?.problem) as { text?: string; log?: string[] | string } | null | undefined;
  if (!problem?.text) return null;
  const log = typeof problem.log === "string" ? problem.log.split("\n") : (problem.log ?? []);
  return { text: problem.text, log: log.filter(Boolean) };
}

/** chip: in the header, a dot and words; over: a notice on the map; map: what is greyed while it is not live. */
export function mount(store: Store, api: Api, parts: { chip: HTMLElement; over: HTMLElement; map: HTMLElement }): void {
  const { chip, over, map } = parts;
  const skipped = h("small", { class: "skipped" });
  chip.after(skipped);
  for (const kind of ["pointerdown", "pointerup", "dblclick", "wheel", "keydown"]) {
    over.addEventListener(kind, (event) => event.stopPropagation()); // the map would take them for its own, and no button would hear of a click
  }
  const words = chip.querySelector("b") ?? chip.appendChild(h("b"));
  const draw = () => {
    const state = store.now;
    const absent = state.preview !== null && state.preview === state.not_at_hand; // the map is of another date than was asked for
    const { weight, text, stale } = standingOf(state, Date.now());
    chip.dataset.weight = weight;
    say(words, text);
    chip.title = [text, arraysText(state.info?.arrays)].filter(Boolean).join("\n"); // a narrow header shortens it
    map.classList.toggle("stale", (stale || absent) && state.shown.length > 0);
    say(skipped, state.connection.skipped > 0 ? `${grouped(String(state.connection.skipped))} frames skipped` : "");
  };
  store.follow(["connection", "info", "look", "run", "runs", "steered", "preview", "not_at_hand"], draw);
  setInterval(() => {
    if (store.now.connection.link === "lost" || store.now.since !== null) draw();
  }, 500);
  store.subscribe(
    (state) =>
      JSON.stringify([
        failure(state),
        standingOf(state, 0).stale,
        state.shown[0]?.step,
        state.info?.state,
        state.steered,
        mayCancel(state),
      ]),
    () => tell(over, store, api),
  );
}

/** Whether somebody looks at a run that begins for the first time, and may end it. */
function mayCancel({ connection, info, run, viewer }: State): boolean {
  return connection.link !== "ended" && viewer?.role === "admin" && run === null && BEGINNING.includes(info?.state ?? "");
}

async function cancel(store: Store, api: Api): Promise<void> {
  if (!(await act(store, () => api.endRun()))) return;
  location.hash = "";
  location.reload(); // shows another run, or that there is none
}

function tell(over: HTMLElement, store: Store, api: Api): void {
  const state = store.now;
  const wrong = failure(state);
  const { stale } = standingOf(state, Date.now());
  const steered = steeredNow(state);
  const [frame] = state.shown;
  const beginning = mayCancel(state);
  over.hidden = !beginning && (!stale || (!wrong && !frame));
  if (over.hidden) return;
  if (beginning) {
    const button = h("button", { type: "button", onclick: () => void cancel(store, api) }, "Cancel");
    return fill(
      over,
      h("p", {}, "The run begins: its engine reads the inputs and compiles the model."),
      h("div", { class: "acts" }, button),
    );
  }
  fill(
    over,
    frame ? h("b", {}, `${stepWords(state, frame.step)}, not live`) : null,
    wrong && h("p", {}, wrong.text),
    wrong && wrong.log.length > 0 && h("details", {}, h("summary", {}, "Last lines of the engine"), h("pre", {}, wrong.log.join("\n"))),
    state.info?.state === "failed" &&
      state.viewer?.may_steer &&
      h(
        "div",
        { class: "acts" },
        h("button", { type: "button", onclick: () => void act(store, () => api.start()) }, "Start the engine again"),
        steered &&
          h(
            ...(["button", { type: "button", onclick: () => void send(store, () => api.before(steered.name, steered.step)) }] as const),
            `Go back a step in ${steered.name}`,
          ),
      ),
  );
}
