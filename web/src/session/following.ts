/** Series of pinned cells and of the region: the past by request, what comes by the frames that are shown. */
import { isoDate, momentOf } from "../decode/calendar";
import { type Frame, valueAt } from "../decode/frame";
import type { Screen } from "../decode/screen";
import type { Api } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import { areaOf } from "../state/grid";
import type { Line, RegionMean, State, Store } from "../state/store";

const STEPS = 1000; // of the past that are asked for
const VALUES = 2_000_000; // of a region over time that are asked for
const POINTS = 4000; // of a line; then every second one is dropped

/** The cells of a region: row-major numbers and their areas as shares of the whole. */
interface Share {
  cells: Uint32Array;
  weights: Float64Array;
}

export class Following {
  private share: Share | null = null;
  private asked = 0;

  constructor(
    private readonly store: Store,
    private readonly screen: Screen,
    private readonly api: Api,
  ) {
    store.subscribe(followed, () => void this.ask());
    screen.follow(() => this.append());
  }

  /** Asks for the past of all that is followed. */
  private async ask(): Promise<void> {
    const mine = ++this.asked;
    const { pins, selection, look, run, info } = this.store.now;
    if (!run || !look.variable || !info) return;
    const names = look.maps > 1 ? look.scenarios : look.scenarios.slice(0, 1);
    if (!selection) this.share = null;
    if (pins.length === 0 && !selection) return this.store.change({ series: [], region_means: [] });
    try {
      this.share = selection ? await this.shareOf(selection) : null;
      const found = await Promise.all(names.map((scenario) => this.past(scenario)));
      if (mine !== this.asked) return;
      this.store.change({ series: found.flat(), region_means: this.share ? this.store.now.region_means : [] });
      this.append();
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (mine !== this.asked) return;
      this.store.change({ series: this.empty(names), region_means: [] }); // from here on by what is shown
      this.append();
    }
  }

  private empty(names: readonly string[]): Line[] {
    const pins = this.store.now.pins.map((pin) => pin.colour);
    const region: Partial<Line> = { low: [], high: [] };
    return names.flatMap((scenario) => [
      ...pins.map((pin): Line => ({ pin, scenario, steps: [], values: [] })),
      ...(this.share ? [{ pin: 0, scenario, steps: [], values: [], ...region } as Line] : []),
    ]);
  }

  private async past(scenario: string): Promise<Line[]> {
    const { pins, look, info, selection, kept } = this.store.now;
    const stands = info?.scenarios.find((each) => each.name === scenario)?.step ?? 0;
    if (stands < 1) return this.empty([scenario]);
    const ask = async (first: number): Promise<Line[]> => {
      const time = `step:${first}`;
      const lines: Line[] = [];
      const dated = this.span(first, stands);
      if (pins.length) {
        const found = await this.api.series(look.variable, pins.map((pin) => pin.place), { scenario, time: dated ?? time });
        lines.push(...pins.map((pin, index): Line => ({ pin: pin.colour, scenario, steps: found.steps, values: found.values[index] ?? [] })));
      }
      if (selection && this.share) {
        const count = Math.max(1, Math.min(stands - first + 1, Math.floor(VALUES / this.share.cells.length)));
        lines.push(await this.regionOver(scenario, stands - count + 1, stands, this.share));
      }
      return lines;
    };
    try {
      return await ask(Math.max(1, stands - STEPS + 1));
    } catch (error) {
      const [first] = kept[scenario] ?? [stands];
      if (!isFailure(error) || error.tag !== "refused") throw error;
      return ask(Math.max(1, Math.min(first, stands))); // what is not recorded goes back as far as it is kept
    }
  }

  /** Two dates as a request takes them; null of what has no dates or is one step. */
  private span(first: number, last: number): string | null {
    const { run } = this.store.now;
    if (!run) return null;
    const [from, to] = [momentOf(run.clock, first), momentOf(run.clock, last)];
    return from && to && first < last ? `${isoDate(from)}/${isoDate(to)}` : null;
  }

  private async regionOver(scenario: string, first: number, last: number, share: Share): Promise<Line> {
    const { look, selection } = this.store.now;
    const time = this.span(first, last) ?? `step:${last}`;
    const { head, values } = await this.api.data(look.variable, { scenario, time, packed: true, ...selection });
    const count = share.cells.length;
    const steps = head.steps ?? [head.step];
    const told = steps.map((_, index) => meanOf((cell) => values[index * count + cell] as number, share));
    return { pin: 0, scenario, steps, values: told.map(({ mean }) => mean), low: told.map(({ low }) => low), high: told.map(({ high }) => high) };
  }

  private async shareOf(selection: NonNullable<State["selection"]>): Promise<Share> {
    const { head, values } = await this.api.cells(selection);
    const count = head.shape.at(-1) ?? 0;
    const cells = Uint32Array.from({ length: count }, (_, cell) => values[count + cell] as number);
    const { grid } = this.store.now;
    const weights = Float64Array.from(cells, (cell) => (grid && areaOf(grid, cell)) ?? 1);
    return { cells, weights };
  }

  /** Adds what is shown to the lines; a time that was shown before replaces it and all behind it. */
  private append(): void {
    const { series, shown, pins, grid } = this.store.now;
    const { frames } = this.screen;
    if (!grid || series.length === 0 || shown.some((frame) => !frame.live)) return;
    const means: RegionMean[] = [];
    const next = series.map((line) => {
      const index = shown.findIndex((frame) => frame.scenario === line.scenario);
      const [frame, facts] = [frames[index], shown[index]];
      if (!frame || !facts || facts.step < 1 || frame.columns !== grid.columns || frame.rows !== grid.rows) return line;
      if (line.pin === 0 && this.share) {
        const { cells } = this.share;
        const told = meanOf((cell) => valueAt(frame, cells[cell] as number) ?? Number.NaN, this.share);
        if (told.mean !== null && told.low !== null && told.high !== null) {
          means.push({ scenario: line.scenario, step: facts.step, mean: told.mean, low: told.low, high: told.high, cells: told.cells });
        }
        return extended(line, facts.step, told.mean, told.low, told.high);
      }
      const pin = pins.find((each) => each.colour === line.pin);
      return pin ? extended(line, facts.step, number(frame, pin.cell)) : line;
    });
    this.store.change({ series: next, ...(this.share ? { region_means: means } : {}) });
  }
}

function followed({ pins, selection, look, run, info }: State): unknown[] {
  const branches = look.scenarios.map((name) => info?.scenarios.find((each) => each.name === name)?.branch);
  return [pins, selection, look.variable, look.maps > 1, run, ...look.scenarios, ...branches];
}

function number(frame: Frame, cell: number): number | null {
  const value = valueAt(frame, cell);
  return value === undefined || Number.isNaN(value) ? null : value;
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
  return cells ? { mean: sum / whole, low, high, cells } : { mean: null, low: null, high: null, cells };
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
