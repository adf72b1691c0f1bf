/** What the cells of a frame say together: how many have each level, percentiles, histograms, the range of the colours. Pure. */
import type { Frame } from "./frame";

export type Range = readonly [number, number];

/** How many cells have each level, without those that are missing or outside. */
export function levelCounts(frame: Frame): Uint32Array {
  const counts = new Uint32Array(frame.top + 1);
  const { levels } = frame;
  for (let pixel = 0; pixel < levels.length; pixel++) counts[levels[pixel] as number]!++;
  return counts.subarray(0, frame.top - 1);
}

/** Values below which a share of the cells lies, one for each share; null when no cell has a value. */
export function percentiles(frame: Frame, counts: Uint32Array, shares: readonly number[]): number[] | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  return shares.map((share) => {
    let sum = 0;
    const level = counts.findIndex((count) => {
      sum += count;
      return count > 0 && sum >= share * total;
    });
    const value = frame.offset + frame.scale * level;
    return Math.abs(value) <= frame.scale / 2 ? 0 : value; // nothing is nothing, not a little less
  });
}

/** Counts of cells in equal bins of a range; those outside of it are in none. */
export function histogram(frame: Frame, counts: Uint32Array, [low, high]: Range, bins: number): number[] {
  const found = new Array<number>(bins).fill(0);
  const wide = (high - low) / bins;
  counts.forEach((count, level) => {
    if (count === 0) return;
    const value = frame.offset + frame.scale * level;
    if (value >= low && value <= high) found[Math.min(bins - 1, Math.floor((value - low) / wide))]! += count;
  });
  return found;
}

/** B - A of each pixel where both have a value: counts in equal bins of a range, and the most that |B - A| is. */
export function differences(a: Frame, b: Frame, [low, high]: Range, bins: number): { counts: number[]; most: number; missing: number } {
  const counts = new Array<number>(bins).fill(0);
  const wide = (high - low) / bins;
  let most = 0;
  let missing = 0;
  for (let pixel = 0; pixel < a.levels.length; pixel++) {
    const [one, other] = [a.levels[pixel] as number, b.levels[pixel] as number];
    if (one === a.top || other === b.top) continue;
    if (one === a.top - 1 || other === b.top - 1) {
      missing++;
      continue;
    }
    const value = b.offset + b.scale * other - (a.offset + a.scale * one);
    if (Math.abs(value) > most) most = Math.abs(value);
    if (value >= low && value <= high) counts[Math.min(bins - 1, Math.floor((value - low) / wide))]!++;
  }
  return { counts, most, missing };
}

/** The least of 1, 2, 5 times a power of ten that is at least `least` > 0. */
export function roundUp(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const digit = least / power;
  const rounded = digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10;
  return rounded * power;
}

/** The two numbers rounded outward to steps of 1, 2, 5 that are a tenth of their distance. */
export function outward(low: number, high: number): Range {
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (!(high - low > 1e-6 * size)) {
    const half = size === 0 ? 1 : size * 0.1; // what float32 cannot tell apart is one value
    return outward(low - half, high + half);
  }
  const step = roundUp((high - low) / 10);
  const tidy = (value: number) => Number((value * step).toPrecision(12));
  return [tidy(Math.floor(low / step + 1e-9)), tidy(Math.ceil(high / step - 1e-9))];
}

/**
 * The range of the colours that fits values from `low` to `high` (2nd and 98th percentile).
 *
 * The one before stays until it is left by more than a tenth of its width, or until less than a quarter of it is used: colours do not flicker.
 */
export function automaticRange(before: Range | null, low: number, high: number): Range {
  if (before) {
    const wide = before[1] - before[0];
    const held = low >= before[0] - wide / 10 && high <= before[1] + wide / 10;
    if (held && high - low >= wide / 4) return before;
    if (held && high === low) return before;
  }
  const [least, most] = outward(low, high);
  return low >= 0 && least < (most - least) * 0.3 ? [0, most] : [least, most]; // colours that begin at nothing say how much there is
}

/** The range of a difference: as far below 0 as above, held as above. */
export function symmetricRange(before: Range | null, most: number): Range {
  if (before && most <= before[1] * 1.1 && most >= before[1] / 4) return before;
  const end = most > 0 ? roundUp(most) : 1;
  return [-end, end];
}
