/** What can be done about a date that is looked at: buttons that act, and two handles between which the past is played in a loop. */
import { stepText } from "../decode/calendar";
import { listed, loopOf, onView } from "../state/scenario";
import type { Store } from "../state/store";
import type { Actions } from "./actions";
import { bar, fill, h, say } from "./dom";
import { BARRING, barred, ordered } from "./orders";
import type { Steering } from "./steering";

/** A row above the bar of time. */
export function strip(store: Store, steering: Steering, actions: Actions): HTMLElement {
  const button = (act: () => void) => h("button", { type: "button", class: "small", onclick: act });
  const text = h("b", { role: "status" });
  const goOn = button(() => steering.rewind(store.now.preview ?? 0));
  const branch = button(() => actions.do("branch"));
  const compute = button(() => steering.to(inView() ?? 0));
  /** The date that is looked at, or to which one that stands behind the other could be brought. */
  const inView = () =>
    steering.aimed ?? store.now.preview ?? (steering.running || !steering.behind(steering.at).length ? null : steering.at);
  const back = button(() => steering.backToNow());
  say(back, "Back to now");
  const element = h("div", { class: "looking", role: "group", "aria-label": "The date in view", hidden: true });
  fill(element, text, goOn, branch, compute, back);
  store.follow(["preview", "aimed", "steered", "look", "info", "reached", ...BARRING], ({ preview, run, steered, look }) => {
    const { aimed } = steering;
    const step = inView();
    element.hidden = step === null || !run;
    if (step === null || !run) return;
    const looks = preview !== null || aimed !== null;
    const [whom, behind, reason] = [listed(steering.rewound(step)), steering.behind(step), barred(store)];
    const { last } = steering;
    say(
      text,
      looks || !last
        ? `${stepText(run.clock, step)}, ${aimed !== null ? "still to come" : steering.apart ? `past of ${listed(onView(look))}; orders go to ${steered}` : "past"}`
        : `${last.name} is behind, at ${stepText(run.clock, last.step)}`,
    );
    say(goOn, `Go on from here in ${whom || steered}`);
    bar(goOn, reason ?? (whom ? null : `${steered} has not reached this date`));
    say(branch, `Branch from here off ${steered}`);
    bar(branch, reason ?? ((ordered(store)?.step ?? 0) < step ? `${steered} has not reached this date` : null));
    say(compute, `Compute ${listed(behind.map(({ name }) => name))} to ${looks ? "here" : stepText(run.clock, step)}`);
    bar(compute, reason);
    for (const control of [goOn, branch]) control.hidden = aimed !== null || !looks || steering.apart;
    compute.hidden = behind.length === 0;
    back.hidden = !looks;
  });
  return element;
}

/** The ends of the loop, over the bar of time. line: the bar; total: its steps. */
export function handles(line: HTMLElement, store: Store, steering: Steering, total: () => number): HTMLElement[] {
  const ends = ["First", "Last"].map((which, index) => {
    const handle = h("i", { class: "handle", role: "slider", tabindex: 0, "aria-label": `${which} date of the loop`, hidden: true });
    const move = (step: number) => {
      const loop = [...loopOf(store.now, steering.at)] as [number, number];
      loop[index] = index ? Math.min(Math.max(step, loop[0] + 1), steering.at) : Math.max(0, Math.min(step, loop[1] - 1));
      store.change({ loop });
    };
    handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
    handle.addEventListener("pointermove", ({ pointerId, clientX }) => {
      const { x, width } = line.getBoundingClientRect();
      if (handle.hasPointerCapture(pointerId)) move(Math.round(((clientX - x) / width) * total()));
    });
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -30, PageUp: 30 }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      move((loopOf(store.now, steering.at)[index] ?? 0) + by);
    });
    return handle;
  });
  const show = () => {
    const { run } = store.now;
    ends.forEach((handle, index) => {
      const step = loopOf(store.now, steering.at)[index] ?? 0;
      handle.hidden = !run || !steering.past;
      handle.style.left = `${line.offsetLeft + (step / total()) * line.offsetWidth}px`;
      handle.style.top = `${line.offsetTop + 4}px`;
      handle.setAttribute("aria-valuemin", "0");
      handle.setAttribute("aria-valuemax", String(total()));
      handle.setAttribute("aria-valuenow", String(step));
      if (run) handle.setAttribute("aria-valuetext", stepText(run.clock, step));
    });
  };
  store.follow(["run", "loop", "preview", "info", "reached", "look", "steered"], show);
  new ResizeObserver(show).observe(line);
  return ends;
}
