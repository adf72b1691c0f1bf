/**
 * Frames of past dates. While the bar of time is dragged the newest wish is fetched, what was wished before it is forgotten; what is played is
 * fetched a few frames ahead.
 */
import type { RawArray } from "../decode/array";
import { isoDate, isShort, momentOf, monthsLater, parseMoment, stepOf } from "../decode/calendar";
import { frameOf } from "../decode/frame";
import type { Screen } from "../decode/screen";
import type { Api } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import { loopOf, mapsOf, onView, scenarioNow } from "../state/scenario";
import type { Shown, Store } from "../state/store";
import { ARROWS, arrowsOf, hasMap } from "./streams";

const AHEAD = 5; // frames that are fetched before they are shown
const LEAST = 0.02; // [s] between two frames, at least

export class Past {
  private busy = false;
  private readonly fetched = new Map<number, Promise<PromiseSettledResult<RawArray>[]>>(); // by step; of what is shown now

  constructor(
    private readonly store: Store,
    private readonly screen: Screen,
    private readonly api: Api,
  ) {
    store.subscribe(
      ({ look, info }) => [look.arrows, JSON.stringify(mapsOf(look)), info?.version],
      () => this.fetched.clear(),
    );
    store.follow(["playing"], ({ playing }) => playing && void this.play());
    store.subscribe(
      () => this.wished,
      () => void this.follow(),
    );
  }

  /** The date and the maps that are wanted. */
  private get wished(): string {
    const { preview, look } = this.store.now;
    return JSON.stringify([preview, look.arrows, mapsOf(look)]);
  }

  private async follow(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      for (let done = ""; this.store.now.preview !== null && this.wished !== done; ) {
        done = this.wished;
        await this.show(this.store.now.preview);
      }
    } finally {
      this.busy = false;
    }
  }

  private get names(): string[] {
    return onView(this.store.now.look);
  }

  /** The maps of a step in the order in which they are shown, behind them the components of arrows. */
  private fetch(step: number): Promise<PromiseSettledResult<RawArray>[]> {
    const { now } = this.store;
    const wanted = [...mapsOf(now.look), ...arrowsOf(now)];
    const isToCome = (scenario: string) => step > (scenarioNow(now, scenario)?.step ?? 0);
    const found =
      this.fetched.get(step) ??
      Promise.allSettled(
        wanted.map(({ variable, ...more }) =>
          isToCome(more.scenario) ? Promise.reject(null) : this.api.data(variable, { ...more, time: `step:${step}` }),
        ),
      );
    this.fetched.delete(step); // the newest is the last one
    this.fetched.set(step, found);
    for (const old of [...this.fetched.keys()].slice(0, -2 * AHEAD)) this.fetched.delete(old);
    return found;
  }

  /** Plays what was computed between the ends of the loop, again and again. Steps that are not at hand are left out. */
  private async play(): Promise<void> {
    const { store } = this;
    let [due, coarse, rounds] = [performance.now(), false, 0]; // rounds: ends of the loop since a map was shown
    const stands = () => Math.min(...this.names.map((name) => scenarioNow(store.now, name)?.step ?? 0));
    const after = (step: number): number => {
      const [first, last] = loopOf(store.now, stands());
      const { kept, look } = store.now;
      if (step < first || step >= last) return first;
      return Math.min(last, coarse && step + 1 < (kept[look.scenarios[0] ?? ""]?.[0] ?? 0) ? this.endOfMonth(step + 1) : step + 1);
    };
    for (let step = after(store.now.preview ?? stands()); store.now.playing; step = after(step)) {
      for (let each = step, ahead = 0; ahead < AHEAD; each = after(each), ahead++) void this.fetch(each);
      const [found] = await this.fetch(step);
      if (!store.now.playing) return;
      if (found?.status !== "fulfilled") {
        coarse = true; // a record of a month holds its last step
        const [, last] = loopOf(store.now, stands());
        rounds += Number(step >= last);
        if (store.now.connection.link === "live" && rounds < 2) continue;
        store.notify({
          weight: "warn",
          text: "No date of the loop is available",
          detail: isFailure(found?.reason) ? found.reason.message : "",
        });
        return store.change({ playing: false });
      }
      await new Promise((go) => setTimeout(go, due - performance.now()));
      due = Math.max(due, performance.now()) + 1000 * (store.now.speed === null ? LEAST : 1 / store.now.speed);
      rounds = 0;
      if (store.now.playing) store.change({ preview: step });
    }
  }

  private endOfMonth(step: number): number {
    const clock = this.store.now.run?.clock;
    const moment = clock && momentOf(clock, step);
    if (!clock || !moment) return step;
    const first = parseMoment(`${isoDate(moment).slice(0, -2)}01`, clock.calendar);
    return stepOf(clock, monthsLater(first, 1, clock.calendar)) - (isShort(clock) ? 0 : 1);
  }

  private async show(step: number): Promise<void> {
    const { look, grid, run } = this.store.now;
    const { names } = this;
    if (!grid || !run || !hasMap(this.store.now)) return;
    if (step > (scenarioNow(this.store.now, names[0])?.step ?? 0)) return this.store.change({ not_at_hand: step }); // still to come
    try {
      const told = await this.fetch(step);
      if (this.store.now.preview === null) return;
      const maps = mapsOf(look);
      const asked = told.slice(0, maps.length);
      const [first] = asked;
      if (first?.status !== "fulfilled") throw first?.reason; // without the first map there is nothing to see
      const missing = asked.findIndex((each) => each.status === "rejected");
      const there = missing < 0 ? asked : asked.slice(0, missing);
      const arrays = there.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      const frame = ({ head, values }: RawArray, index: number) => {
        const shape = [head.shape.at(-2) ?? 1, head.shape.at(-1) ?? 1] as const;
        return frameOf(values, shape, grid.active, { stream: index + 1, time: step - 1, step, number: 0 });
      };
      const frames = arrays.map(frame);
      const arrows = told.slice(maps.length).flatMap((each) => (each.status === "fulfilled" ? [frame(each.value, ARROWS[0])] : []));
      const shown = frames.map(({ stream }, index): Shown => {
        const { variable, units } = arrays[index]?.head ?? { variable: look.variable, units: "" };
        return { stream, scenario: maps[index]?.scenario ?? "", variable, units, step, live: false };
      });
      this.store.change({ shown, not_at_hand: null });
      this.screen.show(frames, arrows.length === 2 ? arrows : []);
    } catch (error) {
      if (!isFailure(error)) throw error;
      this.fetched.delete(step); // it may be at hand later
      if (this.store.now.preview === step) this.store.change({ not_at_hand: step }); // the picture stays, and says its own date
    }
  }
}
