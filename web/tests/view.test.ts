import fc from "fast-check";
import { expect, it } from "vitest";
import { splitAtAntimeridian } from "../src/draw/coast";
import { areaOf, asCounted, cellAt, cellOf, centreOf, type Grid, gridOf } from "../src/state/grid";
import { moved, panels, toPixel, toPlace, wholeView, zoomed } from "../src/state/view";

const grid: Grid = gridOf({
  ...{ kind: "raster", shape: { lat: 186, lon: 156 }, cells: 15208, digest: "d", bounds: [138, -29.2, 153.6, -10.6] },
  ...{ lat0: -10.65, dlat: -0.1, lon0: 138.05, dlon: 0.1 },
});
const panel = { x: 0, y: 0, width: 1092, height: 796 };

it("pixel_to_cell_and_back_is_the_same_cell", () => {
  const view = fc.record({
    x: fc.double({ min: 138, max: 153.6, noNaN: true }),
    y: fc.double({ min: -29, max: -10.6, noNaN: true }),
    zoom: fc.double({ min: 20, max: 3000, noNaN: true }),
  });
  fc.assert(
    fc.property(view, fc.integer({ min: 0, max: grid.rows * grid.columns - 1 }), (where, cell) => {
      const [x, y] = toPixel(where, grid, panel, ...centreOf(grid, cell));
      expect(cellAt(grid, ...toPlace(where, grid, panel, x, y))).toBe(cell);
    }),
  );
});

it("a grid that is told from south to north lies the same way", () => {
  const turned = gridOf({
    ...{ kind: "raster", shape: { lat: 186, lon: 156 }, cells: 1, digest: "d", bounds: [138, -29.2, 153.6, -10.6] },
    ...{ lat0: -29.15, dlat: 0.1, lon0: 138.05, dlon: 0.1 },
  });
  expect(turned.north).toBeCloseTo(grid.north, 9);
  expect(centreOf(turned, 0)[1]).toBeCloseTo(-10.65, 9);
});

it("rows of a Gaussian grid are drawn evenly, and told by their own latitudes and edges", () => {
  const told = {
    ...{
      kind: "raster" as const,
      shape: { lat: 4, lon: 8 },
      cells: 32,
      digest: "d",
      bounds: [-22.5, -90, 337.5, 90] as [number, number, number, number],
    },
    ...{ lat0: 59.44440829, dlat: -39.62960552613333, lon0: 0, dlon: 45 },
    ...{ lat: [59.44440829, 19.87571915, -19.87571915, -59.44440829], lat_edges: [90, 40.70353329, 0, -40.70353329, -90] },
  };
  const gaussian = gridOf(told);
  expect(gaussian.span[1]).toBeCloseTo(4 * 39.62960552613333, 6);
  expect(centreOf(gaussian, 9)[1]).toBeCloseTo(19.87571915, 7);
  for (const cell of [0, 9, 17, 31]) expect(cellAt(gaussian, ...centreOf(gaussian, cell))).toBe(cell);
  const areas = [0, 8, 16, 24].map((cell) => 8 * (areaOf(gaussian, cell) ?? 0));
  expect(areas.reduce((one, other) => one + other)).toBeCloseTo(4 * Math.PI * 6371.0088 ** 2, 0);
  expect(grid.latitudes).toBeNull();
});

it("of points the nearest is found, and nothing far from all of them", () => {
  const points = gridOf({
    ...{ kind: "points", shape: { point: 3 }, cells: 3, digest: "d", bounds: [140, -30, 150, -20] },
    ...{ lon: [140, 145, 150], lat: [-20, -25, -30], ids: ["a", "b", "c"] },
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 }),
      fc.double({ min: -1, max: 1, noNaN: true }),
      fc.double({ min: -1, max: 1, noNaN: true }),
      (cell, dx, dy) => {
        const [x, y] = centreOf(points, cell);
        expect(cellAt(points, x + dx, y + dy)).toBe(cell);
      },
    ),
  );
  expect(cellAt(points, 140, -32)).toBeNull();
});

it("places outside of the grid are in no cell", () => {
  expect(cellAt(grid, 137.99, -20)).toBeNull();
  expect(cellAt(grid, 153.61, -20)).toBeNull();
  expect(cellAt(grid, 140, -10.59)).toBeNull();
});

it("the whole view holds all four corners", () => {
  fc.assert(
    fc.property(fc.integer({ min: 50, max: 3000 }), fc.integer({ min: 50, max: 3000 }), (width, height) => {
      const box = { x: 10, y: 20, width, height };
      const view = wholeView(grid, box);
      for (const [x, y] of [
        [138, -10.6],
        [153.6, -29.2],
      ] as const) {
        const [px, py] = toPixel(view, grid, box, x, y);
        expect(px).toBeGreaterThan(box.x);
        expect(px).toBeLessThan(box.x + width);
        expect(py).toBeGreaterThan(box.y);
        expect(py).toBeLessThan(box.y + height);
      }
    }),
  );
});

it("zooming keeps the place under the pointer, moving moves it by the pixels", () => {
  const view = wholeView(grid, panel);
  const before = toPlace(view, grid, panel, 300, 200);
  const after = toPlace(zoomed(view, grid, panel, 300, 200, 1.7), grid, panel, 300, 200);
  expect(after[0]).toBeCloseTo(before[0], 9);
  expect(after[1]).toBeCloseTo(before[1], 9);
  const [x, y] = toPixel(moved(view, grid, 30, -12), grid, panel, ...before);
  expect([Math.round(x), Math.round(y)]).toEqual([330, 188]);
});

it("maps fill the canvas without a gap", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 3, max: 4000 }),
      fc.integer({ min: 3, max: 4000 }),
      (count, width, height) => {
        const all = panels(count, width, height);
        const area = all.reduce((sum, each) => sum + each.width * each.height, 0);
        expect(all).toHaveLength(count);
        expect(area).toBe(width * height);
      },
    ),
  );
});

it("the areas of all cells of a sphere are the sphere's", () => {
  const world = gridOf({
    ...{ kind: "raster", shape: { lat: 90, lon: 180 }, cells: 1, digest: "d", bounds: [-180, -90, 180, 90] },
    ...{ lat0: 89, dlat: -2, lon0: -179, dlon: 2 },
  });
  let sum = 0;
  for (let cell = 0; cell < 90 * 180; cell++) sum += areaOf(world, cell) ?? 0;
  expect(sum / (4 * Math.PI * 6371.0088 ** 2)).toBeCloseTo(1, 9);
});

it("ring_over_the_antimeridian_is_split", () => {
  const ring: [number, number][] = [
    [170, 10],
    [-170, 10],
    [-170, -10],
    [170, -10],
    [170, 10],
  ];
  const parts = splitAtAntimeridian(ring);
  expect(parts).toHaveLength(2);
  for (const part of parts) {
    for (const [index, [longitude]] of part.entries()) {
      if (index > 0) expect(Math.abs(longitude - (part[index - 1] as [number, number])[0])).toBeLessThanOrEqual(180);
    }
  }
  const edges = parts.flat().filter(([longitude]) => Math.abs(longitude) === 180);
  expect(edges.map(([, latitude]) => latitude).sort((a, b) => a - b)).toEqual([-10, -10, 10, 10]);
  expect(splitAtAntimeridian([...ring.slice(0, 1), [175, 0], [170, 10]])).toHaveLength(1);
});

it("a ring around a pole is closed along the edge of the world at this pole", () => {
  const around = [90, 180, -90, 0, 90].map((longitude): [number, number] => [longitude, -80]);
  const [part, ...more] = splitAtAntimeridian(around);
  expect(more).toEqual([]);
  expect(part?.slice(-2)).toEqual([
    [180, -90],
    [-180, -90],
  ]);
});

it("a place has its longitude as the grid counts it", () => {
  const from = (west: number, columns = 360) => ({ ...grid, west, columns, span: [columns, 180] as const });
  expect(asCounted(from(0), [-74, 40.7])).toEqual([286, 40.7]);
  expect(asCounted(from(-180), [-157.8, 21])).toEqual([-157.8, 21]);
  expect(asCounted(from(-180), [190, 0])).toEqual([-170, 0]);
  expect(asCounted(from(170, 12), [-179, -5])).toEqual([181, -5]);
  expect(asCounted({ ...grid, kind: "projected", west: 1e6 }, [1.2e6, 5])).toEqual([1.2e6, 5]);
});

it("a cell of a projected grid is found by its longitude and latitude, within the width of a cell", () => {
  const places = [undefined, [147, -21], [147.05, -21]] as Grid["places"];
  const projected: Grid = { ...grid, kind: "projected", dx: 5000, narrowing: 1, places };
  expect(cellOf(projected, [147.05, -21])).toBe(2);
  expect(cellOf(projected, [147.2, -21])).toBeNull();
  expect(cellOf(grid, [138.05, -10.65])).toBe(0);
});
