/** Playing, stepping and going back: orders to the steered scenario, and to those shown beside it, so that they stay at one time. */
import { isShort, momentOf, monthsLater, stepOf } from "../decode/calendar";
import type { Api } from "../fetch/api";
import { listed, onView, scenarioNow } from "../state/scenario";
import type { Store } from "../state/store";
import type { Scenario } from "../state/told";
import type { Actions } from "./actions";
import { send } from "./orders";

const SPEEDS = [0.5, 1, 2, 4, 10, 30, 100]; // steps a second; beyond them as fast as can be
const TOLD = 500; // [ms] after the reply to an order until the run has told what it does now

export class Steering {
  private sent: Promise<void> = Promise.resolve(); // orders leave one after the other
  private plays: boolean | null = null; // whether it was ordered to play or to pause, until the run has told
  private readonly due = new Map<number, number>(); // by branch: the step that it was ordered to, until the run has told

  constructor(
    private readonly store: Store,
    private readonly api: Api,
    actions: Actions,
  ) {
    actions.on("play", () => this.play());
    actions.on("step-day", () => (this.store.now.preview === null ? this.step(1) : this.look(this.here + 1)));
    actions.on("step-month", () => this.month());
    actions.on("back-day", () => this.look(this.here - 1));
    actions.on("back-checkpoint", () => this.look(this.checkpoint()));
    actions.on("slower", () => this.faster(-1));
    actions.on("faster", () => this.faster(1));
  }

  /** The steered scenario and those that are shown with it. */
  get scenarios(): Scenario[] {
    const { look, steered } = this.store.now;
    const shown = onView(look);
    const names = shown.includes(steered) ? shown : [steered];
    return names.map((name) => scenarioNow(this.store.now, name)).filter((each) => each !== undefined);
  }
  /** Their names, as buttons say them. */
  get whom(): string {
    return listed(this.scenarios.map((each) => each.name));
  }
  /** Whether the steered scenario is on no map. */
  get apart(): boolean {
    const { look, steered } = this.store.now;
    return steered !== "" && !onView(look).includes(steered);
  }
  get running(): boolean {
    return !this.failed && this.scenarios.some((each) => each.target > each.step && !each.problem);
  }
  /** Steps that the farthest scenario has done. */
  get at(): number {
    return Math.max(0, ...this.scenarios.map((each) => each.step));
  }
  /** The one that has done the fewest. */
  get last(): Scenario | undefined {
    return this.scenarios.toSorted((one, other) => one.step - other.step)[0];
  }
  private get failed(): boolean {
    return this.store.now.info?.state === "failed";
  }
  /** Why none of them can go on, in words; null where one can. */
  get stuck(): string | null {
    if (this.failed) return "the engine gave up: start it again, or go back";
    return this.scenarios.some((each) => !each.problem) ? null : "it cannot continue from here: go back, or branch off an earlier date";
  }
  /** Those that have not done a step yet. */
  behind(step: number): Scenario[] {
    return this.scenarios.filter((each) => each.step < step);
  }

  /** Steps that the maps can show. */
  private get seen(): number {
    const { now } = this.store;
    return Math.max(0, ...onView(now.look).map((name) => scenarioNow(now, name)?.step ?? 0));
  }
  /** The step that is looked at. */
  private get here(): number {
    return this.store.now.preview ?? this.seen;
  }
  /** The step still to come that was pointed at. */
  get aimed(): number | null {
    const { aimed } = this.store.now;
    return aimed !== null && aimed > this.at ? aimed : null;
  }
  /** Whether to play means to play what was computed: a past date is looked at, or nothing is left to compute. */
  get past(): boolean {
    const { preview, run } = this.store.now;
    return preview !== null || (run !== null && run.steps !== null && (this.last?.step ?? 0) >= run.steps && !this.running);
  }

  /** Looks at a step. Nothing is ordered by it, whether it is past or still to come. */
  look(step: number): void {
    this.store.change({ preview: step < this.seen ? Math.max(0, step) : null, aimed: step > this.seen ? step : null });
  }
  backToNow(): void {
    this.store.change({ preview: null, aimed: null, playing: false });
  }

  play(): void {
    if (this.past || this.store.now.playing) return this.store.change({ playing: !this.store.now.playing });
    const plays = !(this.plays ?? this.running);
    this.plays = plays;
    if (plays) this.on((each) => this.api.step({ scenario: each.name, end: true, ...this.speed }));
    else this.all((each) => this.api.pause(each.name));
    this.backToNow();
  }

  step(steps: number): void {
    this.backToNow();
    const left = ({ target }: Scenario) => Math.max(1, (this.store.now.run?.steps ?? Number.POSITIVE_INFINITY) - target);
    this.on((each) => this.api.step({ scenario: each.name, steps: Math.min(steps, left(each)) }));
  }

  /** Until a step is done, by those that are behind it. */
  to(step: number): void {
    this.further(() => step);
  }

  /** Each until a step that depends on where its orders lead, where that is behind it. */
  private further(step: (from: number) => number): void {
    this.backToNow();
    const counts = new Map<string, number>();
    for (const each of this.scenarios) {
      const from = Math.max(each.step, each.target, this.due.get(each.branch) ?? 0);
      const to = Math.min(step(from), this.store.now.run?.steps ?? Number.POSITIVE_INFINITY);
      if (to <= from) continue;
      counts.set(each.name, to - from);
      this.due.set(each.branch, to);
    }
    this.all(
      ({ name }) => this.api.step({ scenario: name, steps: counts.get(name) ?? 0 }),
      ({ name }) => counts.has(name),
    );
  }

  private month(): void {
    const { run, preview } = this.store.now;
    const later = (step: number) => {
      const days = run && !isShort(run.clock) ? 1 : 0; // a date is a whole day: a month from the day after it, less a day, is done with the month
      const next = run && momentOf(run.clock, step + days);
      return run && next ? stepOf(run.clock, monthsLater(next, 1, run.clock.calendar)) - days : step + 30;
    };
    if (preview !== null) return this.look(later(preview));
    if (run && run.steps !== null && (this.last?.step ?? 0) >= run.steps) return this.step(1); // says that the run ends here
    this.further(later);
  }

  /** Orders those to go on that can. */
  private on(order: (scenario: Scenario) => ReturnType<Api["pause"]>): void {
    const { run } = this.store.now;
    const ends = (each: Scenario) => run !== null && run.steps !== null && each.target >= run.steps && each.step >= run.steps;
    if (this.scenarios.length > 0 && this.scenarios.every(ends)) {
      const text = "The run ends here. Go back on the time line, or branch off an earlier date.";
      this.store.notify({ weight: "warn", text, lasts: 8000 });
    } else this.all(order, (each) => !ends(each));
  }

  /** The names of those that go back to a step; none where the steered one has not done it, or is not on view: the past is another's then. */
  rewound(to: number): string[] {
    if (this.apart) return [];
    const able = this.scenarios.filter((each) => each.step > to).map((each) => each.name);
    return able.includes(this.store.now.steered) ? able : [];
  }

  /** Goes back to a step. What branched off behind it stays. */
  rewind(to: number): void {
    const able = this.rewound(to);
    this.backToNow();
    this.all(
      (each) => this.api.rewind(each.name, { step: to }),
      (each) => able.includes(each.name),
    );
  }

  private checkpoint(): number {
    const { checkpoints } = this.store.now;
    const branch = this.scenarios[0]?.branch;
    const steps = checkpoints.filter((each) => each.branch === branch && each.step < this.here).map((each) => each.step);
    return Math.max(0, ...steps);
  }

  private faster(by: 1 | -1): void {
    const { speed } = this.store.now;
    const at = speed === null ? SPEEDS.length : SPEEDS.findIndex((each) => each >= speed);
    const next = SPEEDS[Math.max(0, at + by)] ?? null;
    this.setSpeed(next);
  }

  /** Steps a second, null for as fast as can be. A run at work goes on with it. */
  setSpeed(speed: number | null): void {
    this.store.change({ speed });
    if (this.running && !this.past) this.all((each) => this.api.step({ scenario: each.name, end: true, ...this.speed }));
  }

  private get speed(): { speed?: number } {
    const { speed } = this.store.now;
    return speed === null ? {} : { speed };
  }

  private all(order: (scenario: Scenario) => ReturnType<Api["pause"]>, whose: (scenario: Scenario) => boolean = () => true): void {
    const scenarios = this.scenarios.filter(whose);
    const sent = this.sent.then(async () => {
      for (const scenario of scenarios) if (!(await send(this.store, () => order(scenario)))) break;
      setTimeout(() => {
        if (sent !== this.sent) return;
        this.plays = null;
        this.due.clear();
      }, TOLD);
    });
    this.sent = sent;
  }
}
