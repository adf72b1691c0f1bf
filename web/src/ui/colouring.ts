/** Which value has which colour: the ranges and histograms of what is on the screen, found at most 5 times a second. */
import type { Frame } from "../decode/frame";
import type { Screen } from "../decode/screen";
import { automaticRange, differences, histogram, levelCounts, percentiles, type Range, symmetricRange } from "../decode/statistics";
import { paced } from "../state/pace";
import type { Store } from "../state/store";

export interface Coloured {
  range: Range;
  counts: number[];
  beyond: [boolean, boolean];
  missing: number;
}
const BINS = 50;
const SHARES = [0, 0.02, 0.98, 1];

export class Colouring {
  /** Of the variable; of the difference where there is one. */
  values: Coloured | null = null;
  difference: (Coloured & { resolution: number }) | null = null;
  private of = "";
  private readonly followers = new Set<() => void>();

  constructor(
    private readonly store: Store,
    private readonly screen: Screen,
  ) {
    const later = paced(5, () => this.find());
    screen.follow(() =>
      this.values && (this.difference || !screen.paired) && this.of === this.wanted() && screen.frames.length ? later() : this.find(),
    );
    store.subscribe(
      (state) => [state.look.range, state.look.maps],
      () => this.find(),
    );
  }

  follow(heard: () => void): void {
    this.followers.add(heard);
  }

  private wanted(): string {
    return this.store.now.shown[0]?.variable ?? "";
  }

  private find(): void {
    const { frames } = this.screen;
    const [a, b] = frames;
    if (!a) {
      this.values = this.difference = null;
      for (const follower of this.followers) follower();
      return;
    }
    const fresh = this.of !== this.wanted();
    this.of = this.wanted();
    if (fresh) this.values = this.difference = null;
    this.values = this.valuesOf(frames);
    this.difference = a && b && this.screen.paired ? this.differenceOf(a, b) : null;
    for (const follower of this.followers) follower();
  }

  private valuesOf(frames: readonly Frame[]): Coloured {
    const counted = frames.map((frame) => ({ frame, counts: levelCounts(frame) }));
    const found = counted.map(({ frame, counts }) => percentiles(frame, counts, SHARES)).filter((each) => each !== null);
    const least = (which: number) => Math.min(...found.map((each) => each[which] as number));
    const most = (which: number) => Math.max(...found.map((each) => each[which] as number));
    const held = this.values?.range ?? null;
    const range = this.store.now.look.range ?? (found.length ? automaticRange(held, least(1), most(2)) : (held ?? [0, 1]));
    const [first] = counted;
    const step = Math.max(...frames.map((frame) => frame.scale));
    return {
      range,
      counts: first ? histogram(first.frame, first.counts, range, BINS) : [],
      beyond: found.length ? [least(0) < range[0] - step, most(3) > range[1] + step] : [false, false],
      missing: frames[0]?.missing ?? 0,
    };
  }

  private differenceOf(a: Frame, b: Frame): Coloured & { resolution: number } {
    const { most, missing } = differences(a, b, [0, 0], 1);
    const range = symmetricRange(this.difference?.range ?? null, most);
    const { counts } = differences(a, b, range, BINS);
    return { range, counts, beyond: [most > range[1], most > range[1]], missing, resolution: a.scale + b.scale };
  }
}
