/** Series of pinned cells and of the region: the past by request, what comes by the frames that are shown. */
import { isoDate, momentOf } from "../decode/calendar";
import { type Frame, valueAt } from "../decode/frame";
import type { Screen } from "../decode/screen";
import type { Api } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import { areaOf } from "../state/grid";
import { scenarioNow } from "../state/scenario";
import type { Line, RegionMean, State, Store } from "../state/store";
import type { Place } from "../state/told";
import { hasMap } from "./streams";

const STEPS = 1500; // of the past that are asked for, the newest first
const [FIRST_PIECE, LARGEST_PIECE] = [60, 480]; // steps of a request
const VALUES = 500_000; // of a region in a request
const POINTS = 4000; // of a line; then every second one is dropped
const REST = 300; // [ms] without a frame after which steps that were not seen are asked for

/** The cells of a region: row-major numbers, and areas. */
interface Share {
  cells: Uint32Array;
  weights: Float64Array;
}

export class Following {
  private share: Share | null = null;
  private of = "";
  private readonly asked = new Set<string>(); // steps that were not seen
  private fetching = 0;
  private resting: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    private readonly screen: Screen,
    private readonly api: Api,
  ) {
    store.subscribe(followed, () => this.begin());
    store.subscribe(
      (state) => state.selection,
      (selection) => void this.select(selection),
    );
    screen.follow(() => this.append());
    store.subscribe(
      ({ shown, series }) => [series.length, ...shown.map((frame) => frame.step)],
      () => this.rest(),
    );
  }

  private rest(): void {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.complete(), REST);
  }

  /** Keeps the lines that are still wanted, and begins those that are not there. */
  private begin(): void {
    const { pins, look, run, series } = this.store.now;
    if (!run || !look.variable) return;
    if (!hasMap(this.store.now)) return this.store.change({ series: [] }); // one number of the whole grid has no series
    const fresh = this.of !== `${run.name} ${look.variable}`;
    this.of = `${run.name} ${look.variable}`;
    const wanted = (look.maps > 1 ? look.scenarios : look.scenarios.slice(0, 1)).flatMap((scenario) => [
      ...pins.map(({ cell, place, colour }): Line => ({ pin: colour, cell, place, scenario, steps: [], values: [] })),
      ...(this.share ? [{ pin: 0, cell: -1, place: null, scenario, steps: [], values: [], low: [], high: [] } as Line] : []),
    ]);
    const lines = wanted.map((line) => (fresh ? line : (series.find((each) => alike(each, line)) ?? line)));
    this.store.change({ series: lines });
    const begun = lines.filter((line) => line.steps.length === 0);
    if (fresh) this.asked.clear();
    this.append();
    for (const { scenario, mine, largest } of this.together(begun)) {
      const stands = scenarioNow(this.store.now, scenario)?.step ?? 0;
      void this.fetch(scenario, mine, largest, Math.max(1, stands - STEPS + 1), stands);
    }
  }

  /** Asks for the steps between those that were seen: of a run that goes fast, not every step is. */
  private complete(): void {
    if (this.fetching > 0) return;
    for (const { scenario, mine, largest } of this.together(this.store.now.series)) {
      const missing = gap(mine);
      const asked = `${scenario} ${mine.map((line) => line.cell)} ${missing}`;
      if (!missing || this.asked.has(asked)) continue;
      this.asked.add(asked);
      void this.fetch(scenario, mine, largest, ...missing);
    }
  }

  /** Lines that are asked for together. largest: steps of a request. */
  private together(lines: readonly Line[]): { scenario: string; mine: Line[]; largest: number }[] {
    return [...new Set(lines.map((line) => line.scenario))].flatMap((scenario) => {
      const mine = lines.filter((line) => line.scenario === scenario);
      const [cells, region] = [mine.filter((line) => line.pin > 0), mine.filter((line) => line.pin === 0)];
      const few = Math.max(1, Math.floor(VALUES / (this.share?.cells.length ?? 1)));
      return [
        { scenario, mine: cells, largest: LARGEST_PIECE },
        { scenario, mine: region, largest: Math.min(few, LARGEST_PIECE) },
      ].filter((each) => each.mine.length > 0);
    });
  }

  private async select(selection: State["selection"]): Promise<void> {
    this.share = null;
    this.store.change({ region_means: [], series: this.store.now.series.filter((line) => line.pin > 0) });
    if (!selection) return;
    try {
      const { head, values } = await this.api.cells(selection);
      if (this.store.now.selection !== selection) return;
      const count = head.shape.at(-1) ?? 0;
      const cells = Uint32Array.from({ length: count }, (_, cell) => values[count + cell] as number);
      const { grid } = this.store.now;
      this.share = { cells, weights: Float64Array.from(cells, (cell) => (grid && areaOf(grid, cell)) ?? 1) };
      this.begin();
    } catch (error) {
      if (!isFailure(error)) throw error;
      this.store.change({ selection: null });
      this.store.notify({ weight: "warn", text: "This region cannot be followed", detail: error.message, lasts: 10_000 });
    }
  }

  /** Steps of some lines of a scenario, piece by piece back in time, as long as they are wanted. What is not kept ends it. */
  private async fetch(scenario: string, lines: readonly Line[], largest: number, first: number, end: number): Promise<void> {
    this.fetching += 1;
    try {
      await this.fetchAll(scenario, lines, largest, first, end);
    } finally {
      this.fetching -= 1;
      this.rest();
    }
  }

  private async fetchAll(scenario: string, lines: readonly Line[], largest: number, first: number, end: number): Promise<void> {
    const { of } = this;
    let piece = Math.min(FIRST_PIECE, largest);
    for (let last = end; last >= first; last -= piece, piece = Math.min(piece * 2, largest)) {
      const wanted = lines.filter((line) => this.store.now.series.some((each) => alike(each, line)));
      if (wanted.length === 0) return;
      try {
        const found = await this.piece(scenario, wanted, Math.max(first, last - piece + 1), last);
        if (of !== this.of) return;
        this.store.change({
          series: this.store.now.series.map((line) =>
            joined(
              line,
              found.find((each) => alike(each, line)),
            ),
          ),
        });
      } catch (error) {
        if (!isFailure(error)) throw error;
        if (last !== end || end - first < 1) return;
        last = end - 1 + piece; // after a start the newest step may have no value; those before it have
      }
    }
  }

  private async piece(scenario: string, lines: readonly Line[], first: number, last: number): Promise<Line[]> {
    const { look, selection, run } = this.store.now;
    const [from, to] = run ? [momentOf(run.clock, first), momentOf(run.clock, last)] : [];
    const time = from && to && first < last ? `${isoDate(from)}/${isoDate(to)}` : `step:${last}`;
    const { share } = this;
    if (lines[0]?.pin === 0 && selection && share) {
      const { head, values } = await this.api.data(look.variable, { scenario, time, packed: true, ...selection });
      const steps = head.steps ?? [head.step];
      const told = steps.map((_, index) => meanOf((cell) => values[index * share.cells.length + cell] as number, share));
      const [low, high] = [told.map((each) => each.low), told.map((each) => each.high)];
      return [{ ...lines[0], steps, values: told.map(({ mean }) => mean), low, high }];
    }
    const places = lines.map((line) => line.place ?? [0, 0]) as Place[];
    const found = await this.api.series(look.variable, places, { scenario, time });
    return lines.map((line, index) => ({ ...line, steps: found.steps, values: found.values[index] ?? [] }));
  }

  /** Adds what is shown to the lines; a time that was shown before replaces it and all behind it. */
  private append(): void {
    const { series, shown, grid, look } = this.store.now;
    const { frames } = this.screen;
    if (!grid || series.length === 0 || shown.some((frame) => !frame.live || frame.variable !== look.variable)) return;
    const means: RegionMean[] = [];
    const next = series.map((line) => {
      const index = shown.findIndex((frame) => frame.scenario === line.scenario);
      const [frame, facts] = [frames[index], shown[index]];
      if (!frame || !facts || facts.step < 1 || frame.columns !== grid.columns || frame.rows !== grid.rows) return line;
      if (line.pin > 0) return extended(line, facts.step, number(frame, line.cell));
      if (!this.share) return line;
      const { cells } = this.share;
      const told = meanOf((cell) => valueAt(frame, cells[cell] as number) ?? Number.NaN, this.share);
      if (told.mean !== null) means.push({ scenario: line.scenario, step: facts.step, ...told });
      return extended(line, facts.step, told.mean, told.low, told.high);
    });
    this.store.change({ series: next, ...(this.share ? { region_means: means } : {}) });
  }
}

function followed({ pins, look, run }: State): unknown[] {
  return [pins, look.variable, look.maps > 1, run, ...look.scenarios];
}

function alike(one: Line, other: Line): boolean {
  return one.pin === other.pin && one.cell === other.cell && one.scenario === other.scenario;
}

function number(frame: Frame, cell: number): number | null {
  const value = valueAt(frame, cell);
  return value === undefined || Number.isNaN(value) ? null : value;
}

/** The first and the last of the steps that lines have not before the last that they have; null when they have them all. */
export function gap(lines: readonly Line[]): [number, number] | null {
  let missing: [number, number] | null = null;
  for (const { steps } of lines) {
    const begin = Math.max((steps.at(-1) ?? 0) - STEPS, 0);
    steps.forEach((step, index) => {
      const before = Math.max(steps[index - 1] ?? 0, begin);
      if (step - before < 2) return;
      missing = [Math.min(missing?.[0] ?? step, before + 1), Math.max(missing?.[1] ?? 0, step - 1)];
    });
  }
  return missing;
}

/** A line with what was told of its past; nothing behind its last step, from which a run may have gone back. */
export function joined(line: Line, told: Line | undefined): Line {
  if (!told) return line;
  const end = line.steps.at(-1) ?? Number.POSITIVE_INFINITY;
  const places = new Map<number, [Line, number]>();
  line.steps.forEach((step, index) => {
    places.set(step, [line, index]);
  });
  told.steps.forEach((step, index) => {
    if (step <= end) places.set(step, [told, index]);
  });
  const steps = [...places.keys()].sort((one, other) => one - other);
  const pick = (list: (of: Line) => readonly (number | null)[] | undefined) =>
    steps.map((step) => {
      const [of, index] = places.get(step) as [Line, number];
      return list(of)?.[index] ?? null;
    });
  const whole: Line = { ...line, steps, values: pick((of) => of.values) };
  return line.low && line.high ? { ...whole, low: pick((of) => of.low), high: pick((of) => of.high) } : whole;
}

/** Mean by area, least and greatest of the cells that have a value; null when none has. */
export function meanOf(value: (cell: number) => number, { weights }: { weights: ArrayLike<number> }) {
  let [sum, whole, cells] = [0, 0, 0];
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let cell = 0; cell < weights.length; cell++) {
    const one = value(cell);
    if (!Number.isFinite(one)) continue;
    const weight = weights[cell] as number;
    [sum, whole, cells] = [sum + one * weight, whole + weight, cells + 1];
    [low, high] = [Math.min(low, one), Math.max(high, one)];
  }
  return cells ? { mean: sum / whole, low, high, cells } : { mean: null, low: null, high: null, cells: 0 as const };
}

/** A line with one more value; what it had at that step and later is replaced. */
export function extended(line: Line, step: number, value: number | null, low: number | null = null, high: number | null = null): Line {
  let end = line.steps.length;
  while (end > 0 && (line.steps[end - 1] as number) >= step) end--;
  if (end === line.steps.length - 1 && line.steps[end] === step) return line; // told already, and exactly
  const thin = end >= POINTS;
  const keep = <T>(list: readonly T[], last: T): T[] => [...list.slice(0, end).filter((_, index) => !thin || index % 2 === 0), last];
  const grown: Line = { ...line, steps: keep(line.steps, step), values: keep(line.values, value) };
  return line.low && line.high ? { ...grown, low: keep(line.low, low), high: keep(line.high, high) } : grown;
}
