/** Playing, stepping and going back: orders to the steered scenario, and to those shown beside it, so that they stay at one time. */
import { between, isoDate, momentOf, monthsLater } from "../decode/calendar";
import type { Api } from "../fetch/api";
import { listed, scenarioNow } from "../state/scenario";
import type { Store } from "../state/store";
import type { Scenario } from "../state/told";
import type { Actions } from "./actions";
import { send } from "./orders";

const SPEEDS = [0.5, 1, 2, 4, 10, 30, 100]; // steps a second; beyond them as fast as can be

export class Steering {
  constructor(
    private readonly store: Store,
    private readonly api: () => Api,
    actions: Actions,
  ) {
    actions.on("play", () => this.play());
    actions.on("step-day", () => this.step(1));
    actions.on("step-month", () => this.month());
    actions.on("back-day", () => this.rewind(this.at - 1));
    actions.on("back-checkpoint", () => this.backToCheckpoint());
    actions.on("slower", () => this.faster(-1));
    actions.on("faster", () => this.faster(1));
  }

  /** The steered scenario and those that are shown with it. */
  get scenarios(): Scenario[] {
    const { look, steered } = this.store.now;
    const shown = look.maps === 1 ? look.scenarios.slice(0, 1) : look.scenarios;
    const names = shown.includes(steered) ? shown : [steered];
    return names.map((name) => scenarioNow(this.store.now, name)).filter((each) => each !== undefined);
  }
  /** Their names, as buttons say them. */
  get whom(): string {
    return listed(this.scenarios.map((each) => each.name));
  }
  get running(): boolean {
    return this.scenarios.some((each) => each.target > each.step);
  }
  /** Steps that the first scenario has done. */
  get at(): number {
    return this.scenarios[0]?.step ?? 0;
  }

  play(): void {
    if (this.running) this.all((each) => this.api().pause(each.name));
    else this.on((each) => this.api().step({ scenario: each.name, end: true, ...this.speed }));
    this.store.change({ preview: null });
  }

  step(steps: number): void {
    this.store.change({ preview: null });
    this.on((each) => this.api().step({ scenario: each.name, steps }));
  }

  /** Until a date is done. */
  until(date: string): void {
    this.store.change({ preview: null });
    this.on((each) => this.api().step({ scenario: each.name, until: date }));
  }

  private month(): void {
    const { run } = this.store.now;
    const now = run && momentOf(run.clock, Math.max(this.at, 1));
    if (!run || !now) return this.step(30);
    const then = monthsLater(now, 1, run.clock.calendar);
    const last = run.steps === null ? null : momentOf(run.clock, run.steps);
    this.until(isoDate(last && between(then, last, run.clock.calendar) < 0 ? last : then));
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

  /** Goes back to a step. What branched off behind it stays. */
  rewind(to: number): void {
    if (to < 0) return;
    this.store.change({ preview: null });
    this.all(
      (each) => this.api().rewind(each.name, { step: to }),
      (each) => each.fork_step <= to && each.step > to,
    );
  }

  private backToCheckpoint(): void {
    const { checkpoints } = this.store.now;
    const branch = this.scenarios[0]?.branch;
    const steps = checkpoints.filter((each) => each.branch === branch && each.step < this.at).map((each) => each.step);
    this.rewind(steps.length ? Math.max(...steps) : 0);
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
    if (this.running) this.all((each) => this.api().step({ scenario: each.name, end: true, ...this.speed }));
  }

  private get speed(): { speed?: number } {
    const { speed } = this.store.now;
    return speed === null ? {} : { speed };
  }

  private async all(
    order: (scenario: Scenario) => ReturnType<Api["pause"]>,
    whose: (scenario: Scenario) => boolean = () => true,
  ): Promise<void> {
    for (const scenario of this.scenarios.filter(whose)) {
      if (!(await send(this.store, () => order(scenario)))) return;
    }
  }
}
