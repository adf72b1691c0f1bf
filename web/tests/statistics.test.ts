import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { frameOf, valueAt } from "../src/decode/frame";
import {
  automaticRange,
  differences,
  histogram,
  levelCounts,
  outward,
  percentiles,
  type Range,
  symmetricRange,
} from "../src/decode/statistics";
import { ticks } from "../src/draw/ticks";

const frameWith = (values: number[]) => frameOf(values, [1, values.length], null, { stream: 1, time: 0, step: 1, number: 0 });
const number = fc.integer({ min: -1e7, max: 1e7 }).map((value) => value / 1000);

describe("ranges", () => {
  it("automatic_range_does_not_flicker", () => {
    let range: Range | null = null;
    const seen = new Set<string>();
    for (let step = 0; step < 500; step++) {
      const [low, high] = [100 + 20 * Math.sin(step), 3000 + 150 * Math.cos(step / 3)];
      range = automaticRange(range, low, high);
      seen.add(range.join());
    }
    expect(seen.size).toBe(1);
  });

  it("follows what leaves it by more than a tenth, and what needs less than a quarter of it", () => {
    const before: Range = [0, 1000];
    expect(automaticRange(before, 0, 1099)).toBe(before);
    expect(automaticRange(before, 0, 1101)[1]).toBeGreaterThanOrEqual(1101);
    expect(automaticRange(before, 0, 251)).toBe(before);
    expect(automaticRange(before, 0, 200)[1]).toBeLessThan(1000);
  });

  it("holds the values that it was found from", () => {
    fc.assert(
      fc.property(number, number, (one, other) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        const [least, most] = automaticRange(null, low, high);
        expect(most).toBeGreaterThan(least);
        expect(least).toBeLessThanOrEqual(low + 1e-6 * Math.abs(low));
        expect(most).toBeGreaterThanOrEqual(high - 1e-6 * Math.abs(high));
      }),
    );
  });

  it("is rounded outward by at most a quarter at either end", () => {
    fc.assert(
      fc.property(number, fc.double({ min: 0.1, max: 1e4, noNaN: true }), (low, wide) => {
        const [least, most] = outward(low, low + wide);
        expect(least).toBeGreaterThan(low - wide / 3.9 - 1e-6);
        expect(most).toBeLessThan(low + wide + wide / 3.9 + 1e-6);
      }),
    );
  });

  it("difference_range_is_symmetric", () => {
    fc.assert(
      fc.property(number.map(Math.abs), (most) => {
        const [low, high] = symmetricRange(null, most);
        expect(low).toBe(-high);
        expect(high).toBeGreaterThanOrEqual(most * (1 - 1e-12));
        expect(symmetricRange([low, high], high * 1.05)).toEqual([low, high]);
      }),
    );
  });
});

it("ticks_are_1_2_5", () => {
  fc.assert(
    fc.property(number, fc.double({ min: 0.01, max: 1e6, noNaN: true }), fc.integer({ min: 2, max: 12 }), (low, wide, most) => {
      const found = ticks(low, low + wide, most);
      expect(found.length).toBeLessThanOrEqual(most + 1);
      for (const [index, value] of found.entries()) {
        expect(value).toBeGreaterThanOrEqual(low - wide * 1e-6);
        expect(value).toBeLessThanOrEqual(low + wide * (1 + 1e-6));
        if (index === 0) continue;
        const step = value - (found[index - 1] as number);
        const digit = step / 10 ** Math.floor(Math.log10(step) + 1e-6);
        expect([1, 2, 5].some((each) => Math.abs(digit - each) < 1e-3)).toBe(true);
      }
    }),
  );
  expect(ticks(0, 4000, 4)).toEqual([0, 1000, 2000, 3000, 4000]);
  expect(ticks(-1000, 1000, 4)).toEqual([-1000, -500, 0, 500, 1000]);
});

describe("counts", () => {
  const values = [0, 1.2, 2.2, 3.2, 4.2, 5.2, 6.2, 7.2, 8.2, 10, Number.NaN];

  it("a histogram counts what is in its range, and nothing that has no value", () => {
    const frame = frameWith(values);
    const counts = levelCounts(frame);
    expect(histogram(frame, counts, [0, 10], 5)).toEqual([2, 2, 2, 2, 2]);
    expect(histogram(frame, counts, [0, 4], 2).reduce((sum, count) => sum + count)).toBe(4);
    expect(percentiles(frame, counts, [0, 0.5, 1])?.map((value) => Math.round(value))).toEqual([0, 4, 10]);
    expect(percentiles(frameWith([Number.NaN]), levelCounts(frameWith([Number.NaN])), [0.5])).toBeNull();
  });

  it("a difference is taken where both have a value", () => {
    const values: [number[], number[]] = [
      [1, 2, Number.NaN, 4],
      [2, 5, 3, Number.NaN],
    ];
    const active = new Uint8Array([1, 1, 1, 0]);
    const [a, b] = values.map((each) => frameOf(each, [1, 4], active, { stream: 1, time: 0, step: 1, number: 0 }));
    if (!a || !b) throw new Error("no frames");
    const found = differences(a, b, [-4, 4], 8);
    expect(found.missing).toBe(1);
    expect(found.counts).toEqual([0, 0, 0, 0, 0, 1, 0, 1]);
    expect(found.most).toBeCloseTo((valueAt(b, 1) as number) - (valueAt(a, 1) as number), 10);
  });
});
