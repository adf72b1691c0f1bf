/** Series of pinned cells and of the region, in the server's own numbers: first the whole, thinned, then each step that is done. */
import type { Api, Series } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import { paced } from "../state/pace";
import { onView, scenarioNow } from "../state/scenario";
import type { Gap, Line, State, Store } from "../state/store";
import type { Followed, SeriesTold } from "../state/told";
import { hasMap } from "./streams";

const POINTS = 600; // of each line that is asked for as a whole
const PIECE = 120; // steps that are computed again in one request
const KEPT = 24; // lines that stay while something else is looked at
const MOMENT = 1000; // [ms] within which a line is told its next step while a run goes
const LONGEST = 4000; // characters of a message that the server takes
const RATE = 3; // [1/s] of looks at what a run has done

/** Steps that are wanted of a line. again: those that are not at hand are computed again. */
interface Wish {
  first: number;
  last: number;
  again: boolean;
}

type Told = Partial<Line> & Pick<Line, "steps" | "values" | "gaps">;

export class Following {
  private readonly busy = new Set<string>();
  private readonly tried = new Set<string>();
  private kept: Line[] = []; // what was followed before, the newest first
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
    const { variable } = look;
    if (series[0]?.variable !== variable) this.tried.clear();
    const empty = { variable, steps: [], values: [], gaps: [], end: 0, thinned: false };
    const views = hasMap(this.store.now) ? onView(look) : []; // one number of the whole grid has no series
    const wanted = views.flatMap((scenario) => {
      const branch = branchOf(this.store.now, scenario);
      const region: Line[] = selection ? [{ ...empty, pin: 0, cell: -1, place: null, selection, scenario, branch, low: [], high: [] }] : [];
      return [...pins.map(({ cell, place, colour }): Line => ({ ...empty, pin: colour, cell, place, scenario, branch })), ...region];
    });
    const known = [...series, ...this.kept];
    const found = wanted.map((line) => this.begun(line, known));
    this.kept = known.filter((line) => !found.includes(line) && line.gaps.every(({ open }) => open)).slice(0, KEPT); // others are asked for anew
    this.store.change({ series: found });
    const all = this.store.now.series.map(({ scenario, cell, selection }, index) => {
      return { line: index + 1, variable, scenario, ...(selection ?? { cell }) } as Followed;
    });
    const followed = JSON.stringify(all).length < LONGEST ? all : all.filter((line) => !("polygon" in line)); // those are asked for instead
    if (JSON.stringify(followed) !== JSON.stringify(this.store.now.followed)) this.store.change({ followed, stepped: null });
    this.goOn();
  }

  /** A line as far as it is known; else what is known of the branch that its own began from, up to there. */
  private begun(line: Line, known: readonly Line[]): Line {
    const { parent, fork_step = 0 } = scenarioNow(this.store.now, line.scenario) ?? {};
    const own = known.find((each) => alike(each, line));
    const before = known.find((each) => alike(each, { ...line, branch: parent ?? -1, scenario: each.scenario }));
    if (own || !before?.gaps.every(({ open }) => open)) return own ?? line;
    const past = joined(before, { steps: [], values: [], gaps: [] }, fork_step + 1, Number.POSITIVE_INFINITY);
    return { ...past, scenario: line.scenario, branch: line.branch, end: Math.min(before.end, fork_step), version: "" };
  }

  /** Adds steps that the server told by itself; those before them that are missing are asked for. */
  private take(told: SeriesTold): void {
    const line = this.store.now.series[told.line - 1];
    const last = told.first + (told.values[0]?.length ?? 0) - 1;
    if (!line || line.branch !== told.branch || line.end === 0 || told.first > line.end + 1 || last <= line.end) return;
    const [values = [], low = [], high = []] = told.values;
    const steps = values.map((_, index) => told.first + index);
    const { end } = line;
    const gaps = line.present === end && told.first > end ? [{ first: end, last: end, reason: "", open: true }] : []; // its value is not that of the past
    const grown = { ...joined(line, { steps, values, low, high, gaps }, told.first, last), end: last, heard: performance.now() };
    this.store.change({ series: this.store.now.series.map((each) => (each === line ? grown : each)) });
  }

  private goOn(): void {
    for (const line of this.store.now.series) void this.follow(line);
  }

  /** Asks for what lines lack, one request after the other, as long as it is wanted: at once for all cells that lack the same. */
  private async follow({ variable, branch, selection }: Line): Promise<void> {
    const name = JSON.stringify([variable, branch, selection]);
    if (this.busy.has(name)) return;
    this.busy.add(name);
    try {
      for (;;) {
        const lines = this.store.now.series.filter(
          (each) => each.variable === variable && each.branch === branch && each.selection === selection,
        );
        const wishes = lines.map((line) => this.wish(line));
        const all = wishes.some((wish) => wish) ? wishes : lines.map((line) => this.filling(line)); // what is at hand comes first
        const wish = all.find((each) => each);
        const alike = lines.filter((_, index) => JSON.stringify(all[index]) === JSON.stringify(wish));
        if (!wish || !(await this.fetch(alike, wish))) return;
      }
    } finally {
      this.busy.delete(name);
    }
  }

  private wish(line: Line): Wish | null {
    const { preview, pointed, zoomed } = this.store.now;
    const stands = scenarioNow(this.store.now, line.scenario);
    if (!stands?.step) return null;
    if (line.end === 0) return { first: 1, last: stands.step, again: false };
    if (line.present && Math.max(stands.step, line.end) > line.present) return { first: line.present, last: line.present, again: true };
    if (stands.step > line.end && performance.now() - (line.heard ?? Number.NEGATIVE_INFINITY) < MOMENT) {
      setTimeout(() => this.goOn(), MOMENT); // it is told next; if it was not, it is asked for
      return null;
    }
    // the last step is asked for again: what was set there after it is not of its past any more
    if (stands.step > line.end || stands.version !== line.version)
      return { first: Math.max(1, line.end), last: Math.max(stands.step, line.end), again: true };
    const looked = [preview ?? line.end, pointed ?? 0].filter((step) => step >= 1 && step <= line.end && !has(line, step));
    const spans = looked.map((step) => [step, step] as const);
    if (zoomed && line.thinned) spans.push([Math.max(1, zoomed[0]), Math.min(line.end, zoomed[1])]);
    const once = spans.find(([first, last]) => first <= last && !this.tried.has(triedName(line, first, last)));
    return once ? { first: once[0], last: once[1], again: true } : null;
  }

  private filling({ gaps }: Line): Wish | null {
    const gap = this.store.now.filling ? gaps.findLast((each) => each.open) : undefined;
    return gap ? { first: Math.max(gap.first, gap.last - PIECE + 1), last: gap.last, again: true } : null;
  }

  /** Whether a wish of lines, of one region or of cells, was answered. */
  private async fetch(lines: readonly Line[], { first, last, again }: Wish): Promise<boolean> {
    const { variable, scenario, selection, end: before } = lines[0] as Line;
    const { version = "", step = 0 } = scenarioNow(this.store.now, scenario) ?? {};
    for (const line of lines) this.tried.add(triedName(line, first, last));
    try {
      const found = await this.api.series(variable, selection ?? { at: lines.map(({ place }) => place ?? [0, 0]) }, {
        ...{ scenario, time: `step:${first}/${last}`, points: POINTS * lines.length, compute: again ? 1 : 0 },
      });
      const grown = (line: Line): Line => {
        const index = lines.findIndex((each) => alike(each, line));
        if (index < 0) return line;
        const end = Math.max(line.end, last);
        const { present: had = 0 } = line;
        const present = last >= Math.max(step, (lines[index] as Line).end) ? last : first <= had && had <= last ? 0 : had;
        const more = { cells: found.cells, end, present, ...(last === end ? { version } : {}) };
        return { ...joined(line, toldOf(found, index, !again), first, last), ...more };
      };
      this.store.change({ series: this.store.now.series.map(grown) });
      this.kept = this.kept.map(grown);
      return true;
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (error.tag === "refused" && selection && before === 0 && /region|cell|polygon/.test(error.problem.code)) {
        if (this.store.now.selection === selection) this.store.change({ selection: this.before });
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
  return (["variable", "selection", "scenario", "branch", "pin", "cell"] as const).every((name) => one[name] === other[name]);
}

/** Whether a step of a line is known: its value, or that it cannot be computed again. */
function has({ steps, gaps }: Line, step: number): boolean {
  return steps.includes(step) && !gaps.some((gap) => gap.open && gap.first <= step && step <= gap.last);
}

function triedName({ variable, branch, cell, selection, end }: Line, first: number, last: number): string {
  return JSON.stringify([variable, branch, cell, selection, end, first, last]);
}

/** What was told of some steps, of the place `index` or of a region. open: its gaps may be filled when they are computed again. */
function toldOf({ steps, values, gaps, thinned, places }: Series, index: number, open: boolean): Told {
  const told = { steps, values: values[index] ?? [], gaps: gaps.map((gap) => ({ ...gap, open })), thinned: thinned !== null };
  return places.length ? told : { ...told, low: values[1] ?? [], high: values[2] ?? [] };
}

/** A line with what was told of the steps `first` to `last`, in place of what it had of them. */
export function joined(line: Line, told: Told, first: number, last: number): Line {
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
