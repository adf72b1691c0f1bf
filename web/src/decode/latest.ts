/** The newest frame of each stream; what came between and was not drawn is forgotten. */
import type { Frame } from "./frame";

const PATIENCE = 150; // [ms] that one of a pair is waited for

export class Latest {
  private readonly frames = new Map<number, Frame>();
  private at = 0;

  /** now: milliseconds, from a clock that never goes back. */
  put(frame: Frame, now: number): void {
    this.frames.set(frame.stream, frame);
    this.at = now;
  }

  /** Whether a frame has come. */
  get any(): boolean {
    return this.frames.size > 0;
  }

  /** Forgets all, as a new `watch` begins anew. */
  clear(): void {
    this.frames.clear();
  }

  /**
   * The newest frames of some streams, in their order; null while one is to come. Frames of one pair carry one step; when they do not, the rest of
   * the pair is waited for, but not for ever: scenarios may stand at different steps, and one of them may have no value. Then there are fewer.
   */
  take(streams: readonly number[], now: number): Frame[] | null {
    const found = streams.map((stream) => this.frames.get(stream));
    const late = found.indexOf(undefined);
    const frames = found.slice(0, late < 0 ? undefined : late) as Frame[];
    const together = late < 0 && frames.every((frame) => frame.step === frames[0]?.step);
    return frames.length > 0 && (together || now - this.at >= PATIENCE) ? frames : null;
  }
}
