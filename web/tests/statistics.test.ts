import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { frameOf } from "../src/decode/frame";
import { differences, histogram, levelCounts } from "../src/decode/statistics";
import { ticks } from "../src/draw/ticks";

const frameWith = (values: number[]) => frameOf(values, [1, values.length], null, { stream: 1, time: 0, step: 1, number: 0 });
const number = fc.integer({ min: -1e7, max: 1e7 }).map((value) => value / 1000);

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
  });

  it("a cell at an end of the range is counted, though the level of its value lies beyond it", () => {
    const frame = { ...frameWith([5, 5, 5, 5]), scale: 0.3, offset: -0.1, levels: new Uint16Array(4) };
    const counts = levelCounts(frame);
    expect(histogram(frame, counts, [0, 10], 2)).toEqual([4, 0]);
    expect(histogram(frame, counts, [-10, -0.2], 2)).toEqual([0, 4]);
    expect(histogram(frame, counts, [0.1, 10], 2)).toEqual([0, 0]);
    expect(differences(frame, { ...frame, offset: -1.2 }, [-1, 1], 2)).toMatchObject({ counts: [4, 0], beyond: [false, false] });
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
    expect(found.beyond).toEqual([false, false]);
    expect(differences(a, b, [-2, 2], 8).beyond).toEqual([false, true]);
  });
});
