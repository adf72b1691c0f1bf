/** Series of pinned cells and of the region, in the server's own numbers: first the whole, thinned, then each step that is done. */
import type { Api, Series } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import { paced } from "../state/pace";
import { onView, scenarioNow } from "../state/scenario";
import type { Gap, Line, State, Store } from "../state/store";
import type { Followed, SeriesTold } from "../state/told";
import { hasMap } from "./streams";

const POINTS = 600; // of a line that is asked for as a whole
const PIECE = 60; // steps that are computed again in one request
const MOMENT = 1000; // [ms] within which a line is told its next step while a run goes
const LONGEST = 4000; // characters of a message that the server takes
const RATE = 3; // [1/s] of looks at what a run has done

/** Steps that are wanted of a line. again: those that are not at hand are computed again. */
interface Wish {
  first: number;
  last: number;
  again: boolean;
}

export class Following {
  private readonly busy = new Set<string>();
  private readonly tried = new Set<string>();
  private of = "";
  private selected: State["selection"] = null;
  private before: State["selection"] = null; // what was selected before it

  constructor(
    private readonly store: Store,
    private readonly api: Api,
  ) {
    store.subscribe(followed, () => this.begin());
    store.subscribe(
      ({ info, reached, connection, preview, pointed, zoomed, filling }) =>
        JSON.stringify([
          info?.scenarios.map(({ step, version }) => [step, version]),
          reached,
          connection.link,
          preview,
          pointed,
          zoomed,
          filling,
        ]),
      paced(RATE, () => this.goOn()),
    );
    store.subscribe(
      (state) => state.stepped,
      (told) => told && this.take(told),
    );
  }

  /** Keeps the lines that are still wanted, and begins those that are not there. */
  private begin(): void {
    const { pins, look, run, series, selection } = this.store.now;
    if (selection !== this.selected) [this.before, this.selected] = [this.selected, selection];
    if (!run || !look.variable) return;
    if (!hasMap(this.store.now)) return this.store.change({ series: [] }); // one number of the whole grid has no series
    const fresh = this.of !== `${run.name} ${look.variable}`;
    this.of = `${run.name} ${look.variable}`;
    if (fresh) this.tried.clear();
    const empty = { steps: [], values: [], gaps: [], end: 0, thinned: false };
    const wanted = onView(look).flatMap((scenario) => {
      const branch = branchOf(this.store.now, scenario);
      const region: Line[] = selection ? [{ ...empty, pin: 0, cell: -1, place: null, selection, scenario, branch, low: [], high: [] }] : [];
      return [...pins.map(({ cell, place, colour }): Line => ({ ...empty, pin: colour, cell, place, scenario, branch })), ...region];
    });
    this.store.change({ series: wanted.map((line) => (fresh ? line : (series.find((each) => alike(each, line)) ?? line))) });
    const all = this.store.now.series.map(({ scenario, cell, selection }, index) => {
      return { line: index + 1, variable: look.variable, scenario, ...(selection ?? { cell }) } as Followed;
    });
    const followed = JSON.stringify(all).length < LONGEST ? all : all.filter((line) => !("polygon" in line)); // those are asked for instead
    if (JSON.stringify(followed) !== JSON.stringify(this.store.now.followed)) this.store.change({ followed, stepped: null });
    this.goOn();
  }

  /** Adds steps that the server told by itself; those before them that are missing are asked for. */
  private take(told: SeriesTold): void {
    const line = this.store.now.series[told.line - 1];
    const last = told.first + (told.values[0]?.length ?? 0) - 1;
    if (!line || line.branch !== told.branch || line.end === 0 || told.first > line.end + 1 || last <= line.end) return;
    const [values = [], low = [], high = []] = told.values;
    const steps = values.map((_, index) => told.first + index);
    const grown = { ...joined(line, { steps, values, low, high, gaps: [] }, told.first, last), end: last, heard: performance.now() };
    this.store.change({ series: this.store.now.series.map((each) => (each === line ? grown : each)) });
  }

  private goOn(): void {
    for (const line of this.store.now.series) void this.follow(line);
  }

  /** Asks for what a line lacks, one request after the other, as long as it is wanted. */
  private async follow(line: Line): Promise<void> {
    const name = `${this.of} ${JSON.stringify([line.branch, line.cell, line.place, line.selection])}`;
    if (this.busy.has(name)) return;
    this.busy.add(name);
    try {
      for (let now = this.find(line); now; now = this.find(line)) {
        const wish = this.wish(now, name);
        if (!wish || !(await this.fetch(now, wish))) return;
      }
    } finally {
      this.busy.delete(name);
    }
  }

  private find(line: Line): Line | undefined {
    return this.store.now.series.find((each) => alike(each, line));
  }

  private wish(line: Line, name: string): Wish | null {
    const { preview, pointed, zoomed, filling } = this.store.now;
    const stands = scenarioNow(this.store.now, line.scenario);
    if (!stands?.step) return null;
    if (line.end === 0) return { first: 1, last: stands.step, again: false };
    const once = (wish: Wish) => {
      const key = `${name} ${wish.first} ${wish.last} ${line.end}`;
      const news = !this.tried.has(key);
      this.tried.add(key);
      return news ? wish : null;
    };
    if (stands.step > line.end && performance.now() - (line.heard ?? Number.NEGATIVE_INFINITY) < MOMENT) {
      setTimeout(() => this.goOn(), MOMENT); // it is told next; if it was not, it is asked for
      return null;
    }
    // the last step is asked for again: what was set there after it is not of its past any more
    if (stands.step > line.end || stands.version !== line.version)
      return { first: Math.max(1, line.end), last: Math.max(stands.step, line.end), again: true };
    for (const step of [preview, pointed]) {
      const there = step === null || step < 1 || step > line.end || line.steps.includes(step);
      const wish = there ? null : once({ first: step, last: step, again: true });
      if (wish) return wish;
    }
    if (zoomed && line.thinned) {
      const wish = once({ first: Math.max(1, zoomed[0]), last: Math.min(line.end, zoomed[1]), again: true });
      if (wish && wish.first < wish.last) return wish;
    }
    const gap = filling ? line.gaps.findLast((each) => each.open) : undefined;
    return gap ? { first: Math.max(gap.first, gap.last - PIECE + 1), last: gap.last, again: true } : null;
  }

  /** Whether a wish was answered. */
  private async fetch(line: Line, { first, last, again }: Wish): Promise<boolean> {
    const { of } = this;
    const { look } = this.store.now;
    const version = scenarioNow(this.store.now, line.scenario)?.version ?? "";
    try {
      const where = line.selection ?? { at: line.place ?? [0, 0] };
      const found = await this.api.series(look.variable, where, {
        ...{ scenario: line.scenario, time: `step:${first}/${last}`, points: POINTS, compute: again ? 1 : 0 },
      });
      if (of !== this.of) return false;
      const told = toldOf(found, !again);
      const end = Math.max(line.end, last);
      const grown = (each: Line): Line => ({
        ...joined(each, told, first, last),
        cells: found.cells,
        end,
        ...(last === end ? { version } : {}),
      });
      this.store.change({ series: this.store.now.series.map((each) => (alike(each, line) ? grown(each) : each)) });
      return true;
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (error.tag === "refused" && line.selection && line.end === 0 && /region|cell|polygon/.test(error.problem.code)) {
        if (this.store.now.selection === line.selection) this.store.change({ selection: this.before });
        this.before = null; // one that cannot be followed either is not come back to
        this.store.notify({ weight: "warn", text: "This region cannot be followed", detail: error.message, lasts: 10_000 });
      }
      return false; // asked again when the run has gone on
    }
  }
}

function followed(state: State): unknown[] {
  const { pins, look, run, selection } = state;
  return [
    pins,
    look.variable,
    onView(look).length,
    run,
    selection,
    ...look.scenarios,
    ...look.scenarios.map((name) => branchOf(state, name)),
  ];
}

function branchOf({ info }: State, scenario: string): number {
  return info?.scenarios.find((each) => each.name === scenario)?.branch ?? 0;
}

function alike(one: Line, other: Line): boolean {
  const same = one.selection === other.selection && one.scenario === other.scenario && one.branch === other.branch;
  return same && one.pin === other.pin && one.cell === other.cell;
}

/** What was told of some steps. open: its gaps may be filled when they are computed again. */
function toldOf({ steps, values, gaps, thinned, places }: Series, open: boolean): Partial<Line> & Pick<Line, "steps" | "values" | "gaps"> {
  const [first = [], low = [], high = []] = values;
  const told = { steps, values: first, gaps: gaps.map((gap) => ({ ...gap, open })), thinned: thinned !== null };
  return places.length ? told : { ...told, low, high };
}

/** A line with what was told of the steps `first` to `last`, in place of what it had of them. */
export function joined(line: Line, told: Partial<Line> & Pick<Line, "steps" | "values" | "gaps">, first: number, last: number): Line {
  if (
    first === line.end &&
    told.steps[0] === first &&
    told.values[0] === null &&
    typeof line.values[line.steps.indexOf(first)] === "number"
  ) {
    // the last step was asked for again, and cannot be computed: its value stays
    const rest = (values: (number | null)[] | undefined) => values?.slice(1);
    const gaps = told.gaps.map((gap) => ({ ...gap, first: Math.max(gap.first, first + 1) })).filter((gap) => gap.first <= gap.last);
    const [low, high] = [rest(told.low), rest(told.high)];
    const more = { ...told, steps: told.steps.slice(1), values: told.values.slice(1), gaps, ...(low && high ? { low, high } : {}) };
    return joined(line, more, first + 1, last);
  }
  const until = (step: number) => {
    const index = line.steps.findIndex((each) => each >= step);
    return index < 0 ? line.steps.length : index;
  };
  const [begin, end] = [until(first), until(last + 1)];
  const put = <T>(own: readonly T[], other: readonly T[]): T[] => [...own.slice(0, begin), ...other, ...own.slice(end)];
  const cut = line.gaps.flatMap((gap): Gap[] => [
    { ...gap, last: Math.min(gap.last, first - 1) },
    { ...gap, first: Math.max(gap.first, last + 1) },
  ]);
  const gaps = [...cut.filter((gap) => gap.first <= gap.last), ...told.gaps].sort((one, other) => one.first - other.first);
  const band = line.low && line.high ? { low: put(line.low, told.low ?? []), high: put(line.high, told.high ?? []) } : {};
  return {
    ...line,
    steps: put(line.steps, told.steps),
    values: put(line.values, told.values),
    ...band,
    gaps,
    thinned: line.thinned || told.thinned === true,
  };
}
