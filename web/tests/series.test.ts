import { expect, it } from "vitest";
import { extended, gap, joined, meanOf } from "../src/session/following";
import type { Line } from "../src/state/store";
import { aligned } from "../src/ui/lines";

const line = (steps: number[], values: (number | null)[], more: Partial<Line> = {}): Line => ({
  ...{ pin: 1, cell: 7, place: [140, -20], scenario: "main", steps, values },
  ...more,
});

it("a line goes on with what is shown, and what was behind a rewind is replaced", () => {
  const grown = extended(line([1, 2, 3], [10, 20, 30]), 4, 40);
  expect([grown.steps, grown.values]).toEqual([
    [1, 2, 3, 4],
    [10, 20, 30, 40],
  ]);
  const rewound = extended(grown, 2, 21);
  expect([rewound.steps, rewound.values]).toEqual([
    [1, 2],
    [10, 21],
  ]);
});

it("a value that the server told exactly is not replaced by a decoded one", () => {
  const told = line([1, 2], [10, 20.125]);
  expect(extended(told, 2, 20.1)).toBe(told);
});

it("a line takes what is told of its past, and nothing behind its last step", () => {
  const grown = joined(line([5, 6, 9], [50, 60, 90]), line([3, 4, 5, 7, 8, 10], [30, 40, 51, 70, 80, 100]));
  expect([grown.steps, grown.values]).toEqual([
    [3, 4, 5, 6, 7, 8, 9],
    [30, 40, 51, 60, 70, 80, 90],
  ]);
  expect(joined(line([], []), line([1, 2], [1, 2])).steps).toEqual([1, 2]);
  const region = joined(line([4], [4], { low: [3], high: [5] }), line([3], [3], { low: [2], high: [4] }));
  expect([region.low, region.high]).toEqual([
    [2, 3],
    [4, 5],
  ]);
});

it("steps that were not seen are found, from the first to the last of them", () => {
  expect(gap([line([1, 2, 3], [1, 2, 3]), line([], [])])).toBeNull();
  expect(gap([line([1, 2, 5, 6, 9], [1, 2, 5, 6, 9])])).toEqual([3, 8]);
  expect(gap([line([1, 4], [1, 4]), line([2, 3, 7], [2, 3, 7])])).toEqual([1, 6]);
  expect(gap([line([2000, 2001], [1, 2])])).toEqual([502, 1999]);
});

it("means of a region are by area, and of what has a value", () => {
  const values = [1, Number.NaN, 4];
  expect(meanOf((cell) => values[cell] as number, { weights: [3, 100, 1] })).toEqual({ mean: 1.75, low: 1, high: 4, cells: 2 });
  expect(meanOf(() => Number.NaN, { weights: [1, 1] }).mean).toBeNull();
});

it("lines of different dates share one axis", () => {
  const found = aligned([line([1, 2], [10, 20]), line([2, 3], [5, 6], { low: [4, 5], high: [6, 7] })]);
  expect(found.steps).toEqual([1, 2, 3]);
  expect(found.columns).toEqual([
    [10, 20, null],
    [null, 5, 6],
    [null, 4, 5],
    [null, 6, 7],
  ]);
});
