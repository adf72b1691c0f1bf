import { expect, test } from "vitest";
import { prettyUnit } from "../src/decode/units";
import { labelOf } from "../src/state/levels";
import type { Levels } from "../src/state/told";

const levelsOf = (units: string, ...values: number[]): Levels => ({
  name: "level",
  values,
  units,
  standard_name: "",
  long_name: "",
  positive: "",
  bounds: [],
  interfaces: [],
});

test("a level is written in six digits, as the server writes it", () => {
  const levels = levelsOf("hPa", 83.333333, 850, 4.809301);
  expect(levels.values.map((_, level) => labelOf(levels, level))).toEqual(["83.3333 hPa", "850 hPa", "4.8093 hPa"]);
});

test("the point of a level stays where its unit is written with powers", () => {
  expect(labelOf(levelsOf("kg m-2", 0.25), 0, prettyUnit)).toBe("0.25 kg m⁻²");
});
