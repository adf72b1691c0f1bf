/** Round numbers for axes: steps of 1, 2, 5 times a power of ten. */

/** The greatest 1, 2 or 5 times a power of ten that is at most `most` > 0. */
export function roundDown(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most) + 1e-12);
  const digit = most / power;
  return (digit >= 5 ? 5 : digit >= 2 ? 2 : 1) * power;
}

/** The step between at most `most` ticks. */
export function tickStep(low: number, high: number, most: number): number {
  const least = (high - low) / Math.max(most, 1);
  return Number((1 / roundDown((1 + 1e-9) / least)).toPrecision(12)); // the reciprocals of such numbers are such numbers
}

/** Powers of ten from `low` > 0 to `high`, with 2 and 5 times them where there is room for `most`. */
export function logarithmicTicks(low: number, high: number, most = 6): number[] {
  const first = Math.floor(Math.log10(low) + 1e-9);
  const powers = Array.from({ length: Math.floor(Math.log10(high) + 1e-9) - first + 1 }, (_, k) => Number(`1e${first + k}`));
  const digits = 3 * powers.length <= most ? [1, 2, 5] : [1];
  const all = powers.flatMap((power) => digits.map((digit) => Number((digit * power).toPrecision(3))));
  return all.filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
}

/** Multiples of a step of 1, 2, 5 from `low` to `high`; at most `most` + 1. */
export function ticks(low: number, high: number, most = 6): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return [];
  const step = tickStep(low, high, most);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, k) => Number(((first + k) * step).toPrecision(12)) + 0);
}
