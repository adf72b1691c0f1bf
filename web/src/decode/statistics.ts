/** What the cells of a frame say together: how many have each level, and histograms of that. Nothing is read from it as a number. Pure. */
import type { Frame } from "./frame";

export type Range = readonly [number, number];

/** How many cells have each level, without those that are missing or outside. */
export function levelCounts(frame: Frame): Uint32Array {
  const counts = new Uint32Array(frame.top + 1);
  const { levels } = frame;
  for (let pixel = 0; pixel < levels.length; pixel++) counts[levels[pixel] as number]!++;
  return counts.subarray(0, frame.top - 1);
}

function binOf(above: number, wide: number, bins: number): number {
  return Math.min(bins - 1, Math.max(0, Math.floor(above / wide)));
}

/** Counts of cells in equal bins of a range; those outside of it by more than levels are rounded are in none. */
export function histogram(frame: Frame, counts: Uint32Array, [low, high]: Range, bins: number): number[] {
  const found = new Array<number>(bins).fill(0);
  const wide = (high - low) / bins;
  const half = frame.scale / 2;
  counts.forEach((count, level) => {
    if (count === 0) return;
    const value = frame.offset + frame.scale * level;
    if (value >= low - half && value <= high + half) found[binOf(value - low, wide, bins)]! += count;
  });
  return found;
}

/** B - A of each pixel where both have a value: counts in equal bins of a range, whether some lie beyond it, and how many have none. */
export function differences(a: Frame, b: Frame, [low, high]: Range, bins: number) {
  const counts = new Array<number>(bins).fill(0);
  const wide = (high - low) / bins;
  const half = (a.scale + b.scale) / 2;
  const beyond: [boolean, boolean] = [false, false];
  let missing = 0;
  for (let pixel = 0; pixel < a.levels.length; pixel++) {
    const [one, other] = [a.levels[pixel] as number, b.levels[pixel] as number];
    if (one === a.top || other === b.top) continue;
    if (one === a.top - 1 || other === b.top - 1) {
      missing++;
      continue;
    }
    const value = b.offset + b.scale * other - (a.offset + a.scale * one);
    if (value < low - half) beyond[0] = true;
    else if (value > high + half) beyond[1] = true;
    else counts[binOf(value - low, wide, bins)]!++;
  }
  return { counts, beyond, missing };
}
