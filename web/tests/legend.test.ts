import fc from "fast-check";
import { expect, it } from "vitest";
import { heightOf, type Label, type Legend, labelsOf } from "../src/draw/legend";
import { colourAt, scaleOf, shareOf } from "../src/draw/palette";
import { fitting } from "../src/ui/legend";

const legend = (range: readonly [number, number], more: Partial<Legend> = {}): Legend => ({
  ...{ palette: "batlow", range, logarithmic: false, names: [], counts: [], beyond: [false, false], signed: false },
  ...more,
});
const measure = (text: string) => 6.2 * text.length;
const texts = (labels: Label[]) => labels.map(({ text }) => text);

it("both ends of a legend have their numbers, however small it is", () => {
  expect(texts(labelsOf(legend([0, 4500]), 179, measure))).toEqual(["0", "2 000", "4 500"]);
  expect(texts(labelsOf(legend([0, 90]), 100, measure))).toEqual(["0", "50", "90"]);
  expect(texts(labelsOf(legend([0.01, 7], { logarithmic: true }), 300, measure))).toEqual(["0.01", "0.1", "1", "7"]);
  expect(
    texts(labelsOf(legend([-500, 500], { signed: true }), 300, measure)).filter((_, k, all) => k === 0 || k === all.length - 1),
  ).toEqual([...["−500", "+500"]]);
});

it("a fit of which most cells have one value is from the least to the greatest", () => {
  expect(fitting({ low: 0, high: 100 }, 0, 97)).toEqual([0, 100]);
  expect(fitting({ low: 0, high: 20 }, 0, 120)).toEqual([0, 20]); // a long tail
  expect(fitting({ low: 0, high: 1 }, 0, 80)).toEqual([0, 80]); // a plume in few cells
  expect(fitting({ low: 90, high: 110 }, 100, 101)).toEqual([100, 101]);
  expect(fitting({ low: 0, high: 1 }, 0, 0)).toEqual([0, 1]); // there is one value
  expect(fitting({ low: 0, high: 1 }, Number.NaN, Number.NaN)).toEqual([0, 1]);
});

it("no number of a legend touches another", () => {
  const ends = fc.tuple(
    fc.double({ min: -1e3, max: 1e3, noNaN: true }),
    fc.double({ min: 1e-3, max: 1e3, noNaN: true }),
    fc.integer({ min: -12, max: 12 }),
  );
  fc.assert(
    fc.property(ends, fc.integer({ min: 160, max: 420 }), ([low, wide, power], width) => {
      const found = labelsOf(legend([low * 10 ** power, (low + wide) * 10 ** power]), width, measure);
      found.slice(1, -1).forEach(({ left, text }, k) => {
        const [before, next] = [found[k] as Label, found[k + 2] as Label];
        expect(left).toBeGreaterThan(before.left + measure(before.text));
        expect(left + measure(text)).toBeLessThan(next.left);
      });
    }),
  );
});

it("each class has a colour of its own, however far apart their numbers are, and a row of the legend", () => {
  const classes = { 111: "town", 112: "village", 121: "works", 523: "sea", 3999: "rock" };
  const scale = scaleOf({ classes } as never, "batlow", null, [0, 1]);
  const colours = scale.names.map(([number]) => colourAt(scale.palette, shareOf(scale, number)));
  expect(new Set(colours).size).toBe(5);
  for (const [index, [number]] of scale.names.entries()) {
    for (const near of [number - 0.4, number + 0.4]) expect(colourAt(scale.palette, shareOf(scale, near))).toBe(colours[index]);
  }
  expect(heightOf(scale)).toBe(3 * 17);
  expect(scaleOf({ classes: { 7: "rock" } } as never, "batlow", null, [0, 1]).range).toEqual([7, 8]);
  expect(scaleOf({ classes: { 3: "wet", [-2]: "dry" } } as never, "batlow", null, [0, 1]).names.map(([number]) => number)).toEqual([-2, 3]);
});
