/** The frames that are on the screen: one or two, in the order of the scenarios that are shown. */
import type { Frame } from "./frame";

export class Screen {
  frames: readonly Frame[] = [];
  /** The components of arrows, along rows and along columns, of one step; empty where none are drawn. */
  arrows: readonly Frame[] = [];
  private readonly followers = new Set<() => void>();

  show(frames: readonly Frame[], arrows: readonly Frame[] = []): void {
    this.frames = frames;
    this.arrows = arrows;
    for (const follower of this.followers) follower();
  }

  /** Tells when other frames are shown. */
  follow(heard: () => void): void {
    this.followers.add(heard);
  }

  /** Whether a difference can be taken of two scenarios: two frames of one time and shape. */
  get paired(): boolean {
    const [a, b] = this.frames;
    return !!a && !!b && a.step === b.step && a.rows === b.rows && a.columns === b.columns;
  }
}
