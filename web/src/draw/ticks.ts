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
  let step = roundDown(least);
  const factors: Record<string, number> = { 1: 2, 2: 2.5, 5: 2 };
  while (step < least * (1 - 1e-9))
    step = Number((step * (factors[String(Math.round(step / 10 ** Math.floor(Math.log10(step) + 1e-9)))] ?? 2)).toPrecision(12));
  return step;
}

/** Multiples of a step of 1, 2, 5 from `low` to `high`; at most `most` + 1. */
export function ticks(low: number, high: number, most = 6): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return [];
  const step = tickStep(low, high, most);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, k) => Number(((first + k) * step).toPrecision(12)) + 0);
}
