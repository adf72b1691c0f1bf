/** Which value has which colour: the run's ranges, the same for all viewers, or those that this one holds; histograms at most 5 times a second. */
import type { Frame } from "../decode/frame";
import type { Screen } from "../decode/screen";
import { differences, histogram, levelCounts, type Range } from "../decode/statistics";
import { suitable } from "../draw/palette";
import { parted } from "../state/levels";
import { paced } from "../state/pace";
import { besides, variableOf } from "../state/scenario";
import type { State, Store } from "../state/store";

export interface Coloured {
  range: Range;
  counts: number[];
  beyond: [boolean, boolean];
  missing: number;
}
const BINS = 50;

/** The range of the colours of the variable that is shown. */
export function rangeOf({ look, ranges }: Pick<State, "look" | "ranges">): Range | null {
  return look.range ?? ranges[look.variable] ?? null;
}

export class Colouring {
  /** Of the variable; of the one beside it and of the difference where there are some. */
  values: Coloured | null = null;
  other: Coloured | null = null;
  difference: (Coloured & { resolution: number }) | null = null;
  private of = "";
  private readonly followers = new Set<() => void>();

  constructor(
    private readonly store: Store,
    private readonly screen: Screen,
  ) {
    const later = paced(5, () => this.find());
    screen.follow(() =>
      this.values && (this.difference || this.other || !this.subtracts) && this.of === this.wanted() && screen.frames.length
        ? later()
        : this.find(),
    );
    store.follow(["look.range", "look.maps", "ranges"], () => this.find());
  }

  follow(heard: () => void): void {
    this.followers.add(heard);
  }

  private wanted(): string {
    return this.store.now.shown.map((each) => each.variable).join(" ");
  }

  /** Whether there is a difference to colour: numbers of classes have none. */
  private get subtracts(): boolean {
    return this.screen.paired && variableOf(this.store.now, this.store.now.shown[0]?.variable)?.map !== "classes";
  }

  private find(): void {
    const [a, b] = this.screen.frames;
    const { look, ranges, shown } = this.store.now;
    this.of = this.wanted();
    this.values = this.other = this.difference = null;
    const [variable = "", other = ""] = shown.map((each) => each.variable);
    if (a) {
      const range = look.range ?? ranges[variable] ?? [0, 1];
      const apart = besides(look);
      this.values = coloured(apart ? [a] : this.screen.frames, range);
      if (b && apart) this.other = coloured([b], ranges[other] ?? [0, 1]);
      else if (b && this.subtracts) {
        const wide = range[1] - range[0];
        const both = ranges[[variable, ...[...look.scenarios].sort()].join(" ")] ?? [-wide, wide];
        this.difference = { range: both, ...differences(a, b, both, BINS), resolution: a.scale + b.scale };
      }
    }
    for (const follower of this.followers) follower();
  }
}

/** Chooses the colours that suit a variable when it is chosen; its levels have one palette. suited: a variable that has its colours. */
export function suit(store: Store, suited = ""): void {
  let before = suited;
  store.follow(["look.variable", "run"], ({ look, run }) => {
    const variable = variableOf({ run }, look.variable);
    const [name] = parted(look.variable);
    if (!variable || name === before) return;
    before = name;
    store.look({ palette: suitable(variable), logarithmic: null });
  });
}

/** The histogram is of the first frame; what is beyond the range is of all. */
function coloured(frames: readonly Frame[], range: Range): Coloured {
  const all = frames.map((frame) => ({ frame, counts: levelCounts(frame) }));
  const ends = all
    .filter(({ counts }) => counts.some((count) => count > 0))
    .flatMap(({ frame: { offset, scale }, counts }) =>
      [counts.findIndex(Boolean), counts.findLastIndex(Boolean)].map((level) => [offset + scale * level, scale] as const),
    );
  const beyond: [boolean, boolean] = [
    ends.some(([value, step]) => value < range[0] - step),
    ends.some(([value, step]) => value > range[1] + step),
  ];
  const [{ frame, counts }] = all as [{ frame: Frame; counts: Uint32Array }];
  return { range, counts: histogram(frame, counts, range, BINS), beyond, missing: frame.missing };
}
