import { readFileSync } from "node:fs";
import { expect, it, vi } from "vitest";

vi.stubGlobal(
  "Path2D",
  class {
    moveTo() {}
    lineTo() {}
    closePath() {}
  },
);
const { contextOf, contextFor } = await import("../src/draw/context");

it("lines are a point and steps, towns are names and places, in hundredths of a degree", () => {
  const { countries, towns } = contextOf({
    countries: [[14100, -2900, 0, 100, -50, 0]],
    states: [],
    names: ["Longreach"],
    places: [14425, -2344],
    kilometres: [399],
  });
  expect(countries).toMatchObject([{ west: 140.5, east: 141, south: -29, north: -28 }]);
  expect(towns).toEqual([{ name: "Longreach", place: [144.25, -23.44], kilometres: 399 }]);
});

it("the file is within 300 kB, and its towns are sorted by how far larger ones are", () => {
  const text = readFileSync(new URL("../places.json", import.meta.url));
  expect(text.length).toBeLessThanOrEqual(300_000);
  const context = contextOf(JSON.parse(text.toString()));
  const far = context.towns.map((town) => town.kilometres);
  expect(far).toEqual([...far].sort((a, b) => b - a));
  expect(context.towns.slice(0, 300).map((town) => town.name)).toContain("Brisbane");
  expect(contextFor(context, { kind: "projected" } as never).towns).toEqual([]);
});
