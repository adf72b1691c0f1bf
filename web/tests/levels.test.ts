import { expect, test } from "vitest";
import { prettyUnit } from "../src/decode/units";
import { labelOf } from "../src/state/levels";
import type { Levels } from "../src/state/told";

test("a level is written in six digits, as the server writes it", () => {
  const levels: Levels = { name: "level", values: [83.333333, 850, 4.809301], units: "hPa", standard_name: "", long_name: "pressure", positive: "down", bounds: [] };
  expect(levels.values.map((_, level) => labelOf(levels, level))).toEqual(["83.3333 hPa", "850 hPa", "4.8093 hPa"]);
});

test("the point of a level stays where its unit is written with powers", () => {
  const levels: Levels = { name: "level", values: [0.25], units: "kg m-2", standard_name: "", long_name: "column", positive: "", bounds: [] };
  expect(labelOf(levels, 0, prettyUnit)).toBe("0.25 kg m⁻²");
});
