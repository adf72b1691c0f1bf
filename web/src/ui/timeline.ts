/** Playing and the bar of time: what was played, what can be shown again at once, what is still to come; checkpoints, events, now. */
import { dateTicks, isShort, momentOf, monthsLater, parseMoment, stepOf, stepText } from "../decode/calendar";
import { legsOf, listed, onView } from "../state/scenario";
import type { Store } from "../state/store";
import type { Clock } from "../state/told";
import type { Actions } from "./actions";
import { bar, fill, h, say } from "./dom";
import { handles, strip } from "./looking";
import { BARRING, barred } from "./orders";
import { madeIn, plannedFor } from "./rules";
import type { Steering } from "./steering";
import { beginWords, countFault, dateFault, exampleDate } from "./wording";

const MONTH = 31 * 86400; // [s]: shorter runs have no button for one

export function mount(element: HTMLElement, store: Store, steering: Steering, actions: Actions): void {
  const play = h("button", { type: "button", class: "main play", onclick: () => actions.do("play") });
  const day = button("+1 step", "One step on (.)", "step-day");
  const month = button("+1 month", "One month on (>)", "step-month");
  const number = h("button", { type: "button", title: "A number of steps, or until a date (N)", popovertarget: "until" }, "…");
  const steps = h("input", { type: "number", min: 1, step: 1, value: 10, "aria-label": "Steps" });
  const date = h("input", { type: "text", "aria-label": "Date", size: 10 });
  const wrong = h("p", { class: "wrong", role: "alert" });
  const speed = h("select", {
    "aria-label": "Speed of the run",
    onchange: () => steering.setSpeed(speed.value ? Number(speed.value) : null),
  });
  const frames = h("select", {
    "aria-label": "Frames of the picture a second",
    onchange: () => store.change({ frame_rate: Number(frames.value) }),
  });
  fill(
    speed,
    ...[0.5, 1, 2, 4, 10, 30, 100].map((each) => h("option", { value: each }, `${each} a second`)),
    h("option", { value: "" }, "as fast as possible"),
  );
  fill(frames, ...[1, 2, 5, 10, 20, 30, 60].map((each) => h("option", { value: each }, `${each} a second`)));
  const until = h(
    ...(["div", { id: "until", popover: "auto", class: "popover", "aria-label": "Steps and speed" }] as const),
    h("form", { onsubmit: goSteps, novalidate: true }, "Number of steps", steps, h("button", {}, "Go")),
    h("form", { onsubmit: goUntil, novalidate: true }, "Until", date, h("button", {}, "Go")),
    wrong,
    h("label", {}, "Steps of the run", speed),
    h("label", {}, "Frames of the picture", frames),
  );
  const now = h("output", { class: "date", "aria-label": "Date" });
  const layers = ["future", "played", "kept"].map((name) => h("i", { class: name }));
  const marks = h("span", { class: "marks" });
  const head = h("i", { class: "now" });
  const line = h(
    "div",
    { class: "line", role: "slider", tabindex: 0, "aria-label": "Date", "aria-orientation": "horizontal" },
    ...layers,
    marks,
    head,
  );
  const looking = strip(store, steering, actions);

  function button(text: string, title: string, action: Parameters<Actions["do"]>[0]): HTMLButtonElement {
    return h("button", { type: "button", title, onclick: () => actions.do(action) }, text);
  }
  /** The form stays open over a number that is none, or is too great. */
  function goSteps(event: Event): void {
    const { run } = store.now;
    const { last } = steering;
    const fault = run && countFault(run, steps.value, last?.name ?? "", last?.step ?? 0);
    if (!fault) return go(event, () => steering.step(Number(steps.value)));
    event.preventDefault();
    say(wrong, fault);
  }
  /** The form stays open over a date that is none, or is over. */
  function goUntil(event: Event): void {
    const { run } = store.now;
    const text = date.value.trim();
    const { last } = steering;
    if (!run) return event.preventDefault();
    const fault = dateFault(run, text, last?.name ?? "", last?.step ?? 0, (last?.step ?? 0) + 1, total());
    if (!fault) return go(event, () => steering.to(stepOf(run.clock, parseMoment(text, run.clock.calendar))));
    event.preventDefault();
    say(wrong, fault);
  }
  function go(event: Event, act: () => void): void {
    event.preventDefault();
    say(wrong, "");
    until.hidePopover();
    act();
  }
  actions.on("step-number", () => {
    until.showPopover();
    steps.focus();
    steps.select();
  });

  const total = () => Math.max(store.now.run?.steps ?? 0, steering.at, 1);
  fill(element, looking, play, day, month, number, until, now, line, ...handles(line, store, steering, total));
  const share = (step: number) => Math.min(Math.max(step / total(), 0), 1);

  function show(): void {
    const { run, kept, look, preview, shown } = store.now;
    const clock = run?.clock;
    date.placeholder = run ? exampleDate(run, total()) : "";
    const live = steering.scenarios.some(({ name }) => name === shown[0]?.scenario) && shown[0]?.live; // a map of what these buttons move
    const step = steering.aimed ?? preview ?? (live ? (shown[0]?.step ?? 0) : steering.at);
    const running = store.now.playing || (steering.running && !steering.past);
    say(play, running ? "❚❚" : "▶");
    const { whom } = steering;
    named(play, `${running ? "Pause" : "Play"} ${steering.past ? "the past" : whom} (Space)`);
    say(day, clock?.step === 86400 ? "+1 day" : clock?.step === 3600 ? "+1 hour" : "+1 step");
    for (const [control, key] of [
      [day, "."],
      [month, ">"],
    ] as const)
      named(control, preview === null ? `${control.textContent}: step ${whom} (${key})` : `${control.textContent}: look on (${key})`);
    named(number, `Step ${whom} by this number or to this date (N)`);
    const reason = barred(store);
    const over = steering.past && preview === null ? "the forcing ends here" : steering.stuck;
    bar(play, steering.past ? null : (reason ?? steering.stuck));
    for (const control of [day, month]) bar(control, preview === null ? (reason ?? over) : null);
    month.hidden = !clock || clock.step === null || total() * clock.step < MONTH;
    const text = clock ? stepText(clock, step) : "";
    const there = steering.scenarios.filter((each) => each.step === step).map(({ name }) => name); // not those that stand elsewhere
    const of = running || steering.aimed !== null || preview !== null ? whom : listed(there) || whom;
    const apart = steering.apart ? [`steering ${whom}`, `looking at ${listed(onView(look))}`] : [of];
    fill(now, text, ...apart.map((words) => h("small", {}, words)));
    const { at } = steering;
    const [first] = kept[look.scenarios[0] ?? ""] ?? [at]; // what is kept goes on to where the scenario stands
    place(layers[1], 0, share(at));
    place(layers[2], share(Math.min(first, at)), share(at));
    head.style.left = `${share(step) * 100}%`;
    line.setAttribute("aria-valuemin", "0");
    line.setAttribute("aria-valuemax", String(total()));
    line.setAttribute("aria-valuenow", String(step));
    line.setAttribute("aria-valuetext", text);
    speed.value = store.now.speed === null ? "" : String(store.now.speed);
    frames.value = String(store.now.frame_rate);
  }
  function named(control: HTMLElement, name: string): void {
    control.setAttribute("aria-label", name);
    control.dataset.title = control.title = name;
  }
  function place(layer: HTMLElement | undefined, from: number, to: number): void {
    if (!layer) return;
    layer.style.left = `${from * 100}%`;
    layer.style.width = `${Math.max(0, to - from) * 100}%`;
  }
  function markAll(): void {
    const { run, checkpoints, events, info, look, log } = store.now;
    if (!run) return;
    const [scenario] = look.scenarios;
    const shown = info?.scenarios.find((each) => each.name === scenario);
    const at = (step: number, tag: "i" | "span", name: string, title: string, text = "") => {
      const mark = h(tag, { class: name, title }, text);
      mark.style.left = `${share(step) * 100}%`;
      return mark;
    };
    const ticks = checkpoints
      .filter((each) => each.branch === shown?.branch)
      .map((each) => at(each.step, "i", "checkpoint", `Checkpoint, ${stepText(run.clock, each.step)}`));
    const begun = (event: object) => log.find(({ seq }) => "id" in event && event.id === seq)?.at_step ?? 0;
    const diamonds = [
      ...events.filter((each) => each.scenario === scenario),
      ...plannedFor({ run }, scenario ?? "", 0),
      ...madeIn(log, legsOf(info?.scenarios ?? [], shown)),
    ]
      .flatMap((each) =>
        (each.yearly ? yearly(run.clock, total(), each.yearly, begun(each)) : each.at_step === null ? [] : [each.at_step]).map(
          (step) => [each, step] as const,
        ),
      )
      .map(([each, step]) => at(step, "i", "event", `${each.arguments.variable ?? "Change"}, ${beginWords(store.now, step)}`));
    fill(
      marks,
      ...ticks,
      ...diamonds,
      ...labels(run.clock, total(), line.clientWidth).map(({ step, text }) => at(step, "span", "label", "", text)),
    );
  }
  store.follow(["info", "kept", "look", "steered", "preview", "aimed", "playing", "shown", "speed", "frame_rate", ...BARRING], show);
  store.follow(["run", "checkpoints", "events", "log", "info.scenarios.length", "look.scenarios"], markAll);
  new ResizeObserver(markAll).observe(line);

  // ---- the bar: to drag, click or press is to look, never an order ----
  const stepAt = (clientX: number) => {
    const box = line.getBoundingClientRect();
    return Math.round(Math.min(Math.max((clientX - box.x) / box.width, 0), 1) * total());
  };
  const aim = (step: number) => steering.look(Math.min(Math.max(step, 0), total()));
  line.addEventListener("pointerdown", (event) => {
    line.setPointerCapture(event.pointerId);
    aim(stepAt(event.clientX));
  });
  line.addEventListener("pointermove", (event) => line.hasPointerCapture(event.pointerId) && aim(stepAt(event.clientX)));
  line.addEventListener("pointercancel", () => steering.backToNow());
  line.addEventListener("keydown", (event) => {
    const { kept, look, run, preview } = store.now;
    const here = steering.aimed ?? preview ?? steering.at;
    const [first] = kept[look.scenarios[0] ?? ""] ?? [0];
    const clock = run?.clock;
    const months = (by: number) => {
      const moment = clock && momentOf(clock, Math.max(here, 1));
      return clock && moment ? stepOf(clock, monthsLater(moment, by, clock.calendar)) : here + 30 * by;
    };
    const to = {
      ...{ ArrowLeft: here - 1, ArrowDown: here - 1, ArrowRight: here + 1, ArrowUp: here + 1 },
      ...{ PageDown: months(-1), PageUp: months(1), Home: first, End: steering.at },
    }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      aim(to);
    } else if (event.key === "Enter") {
      event.preventDefault(); // it would press the button that it leads to
      looking.querySelector<HTMLElement>("button:not([hidden])")?.focus();
    } else if (event.key === "Escape") steering.backToNow();
  });
}

/** Steps from `first` on before which a day of every year begins, as "07-01". */
export function yearly(clock: Clock, total: number, day: string, first = 0): number[] {
  const [start, end] = [momentOf(clock, 1), momentOf(clock, total)];
  if (!start || !end) return [];
  return Array.from({ length: end.year - start.year + 1 }, (_, k) => `${String(start.year + k).padStart(4, "0")}-${day}`)
    .flatMap((date) => {
      try {
        return [stepOf(clock, parseMoment(date, clock.calendar)) - (isShort(clock) ? 0 : 1)];
      } catch {
        return []; // a year without this day
      }
    })
    .filter((step) => step >= first && step < total);
}

/** Steps with a text under them, as many as there is room for, and none at the ends. */
export function labels(clock: Clock, total: number, width: number): { step: number; text: string }[] {
  const end = (24 / width) * total;
  return momentOf(clock, 1) && width > 48 ? dateTicks(clock, end, total - end, width / 110) : [];
}
