/** Frames of past dates, while the bar of time is dragged: the newest wish is fetched, what was wished before it is forgotten. */
import { frameOf } from "../decode/frame";
import type { Screen } from "../decode/screen";
import type { Api } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import { scenarioNow } from "../state/scenario";
import type { Shown, Store } from "../state/store";
import { hasMap } from "./streams";

export class Past {
  private busy = false;

  constructor(
    private readonly store: Store,
    private readonly screen: Screen,
    private readonly api: Api,
  ) {
    store.subscribe(
      ({ preview, look }) => [preview, look.variable, look.scenarios, look.maps],
      () => void this.follow(),
    );
  }

  private async follow(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      for (let done: number | null = null; this.store.now.preview !== null && this.store.now.preview !== done; ) {
        done = this.store.now.preview;
        await this.show(done);
      }
    } finally {
      this.busy = false;
    }
  }

  private async show(step: number): Promise<void> {
    const { look, grid, run } = this.store.now;
    const names = look.maps > 1 ? look.scenarios : look.scenarios.slice(0, 1);
    if (!grid || !run || !hasMap(this.store.now) || names.some((name) => step > (scenarioNow(this.store.now, name)?.step ?? 0))) return; // still to come
    try {
      const asked = await Promise.allSettled(names.map((scenario) => this.api.data(look.variable, { scenario, time: `step:${step}` })));
      if (this.store.now.preview === null) return;
      const [first] = asked;
      if (first?.status !== "fulfilled") throw first?.reason; // without the first map there is nothing to see
      const missing = asked.findIndex((each) => each.status === "rejected");
      const there = missing < 0 ? asked : asked.slice(0, missing);
      const arrays = there.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      const frames = arrays.map(({ head, values }, index) => {
        const shape = [head.shape.at(-2) ?? 1, head.shape.at(-1) ?? 1] as const;
        return frameOf(values, shape, grid.active, { stream: index + 1, time: step - 1, step, number: 0 });
      });
      const shown = frames.map(({ stream, number, time, scale, offset, missing }, index): Shown => {
        const { variable, units } = arrays[index]?.head ?? { variable: look.variable, units: "" };
        return {
          stream,
          scenario: names[index] ?? "",
          variable,
          units,
          number,
          step,
          time,
          scale,
          offset,
          missing,
          live: false,
          replaying: false,
        };
      });
      this.store.change({ shown });
      this.screen.show(frames);
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (this.store.now.preview === step) this.store.change({ not_at_hand: step }); // the picture stays, and says its own date
    }
  }
}
