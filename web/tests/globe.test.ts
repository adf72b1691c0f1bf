import fc from "fast-check";
import { expect, it, vi } from "vitest";
import type { Scene } from "../src/draw/lines";
import { discOf, isWhole, turned } from "../src/state/globe";
import { cellAt, centreOf, type Grid, gridOf } from "../src/state/grid";
import type { Place } from "../src/state/told";
import { isSeen, moved, projectionOf, toPixel, toPlace, type View, wholeView, zoomed } from "../src/state/view";

class Path {
  readonly pieces: [number, number][][] = [];
  moveTo(x: number, y: number) {
    this.pieces.push([[x, y]]);
  }
  lineTo(x: number, y: number) {
    this.pieces.at(-1)?.push([x, y]);
  }
}
vi.stubGlobal("Path2D", Path);
const { finely, traced } = await import("../src/draw/trace");

const [LAT, EDGES] = [
  [59.44440829, 19.87571915, -19.87571915, -59.44440829],
  [90, 40.70353329, 0, -40.70353329, -90],
];
const raster = (rows: number, columns: number, lat0: number, dlat: number, lon0: number, more = {}): Grid =>
  gridOf({
    ...{ kind: "raster", shape: { lat: rows, lon: columns }, cells: rows * columns, digest: "d", bounds: [0, 0, 0, 0] },
    ...{ lat0, dlat, lon0, dlon: 360 / columns, ...more },
  });
const GAUSSIAN = raster(4, 8, 59.44440829, -39.62960552613333, 0, { lat: LAT, lat_edges: EDGES });
const EVEN = raster(90, 180, 89, -2, -179);
const panel = { x: 7, y: 11, width: 900, height: 640 };
const views: fc.Arbitrary<View> = fc.record({
  x: fc.double({ min: -180, max: 360, noNaN: true }),
  y: fc.oneof(fc.constantFrom(-90, 0, 90), fc.double({ min: -90, max: 90, noNaN: true })),
  zoom: fc.double({ min: 1, max: 200, noNaN: true }),
  globe: fc.constant(true),
});
const places = fc.tuple(fc.double({ min: -180, max: 360, noNaN: true }), fc.double({ min: -90, max: 90, noNaN: true }));
const pixels = fc.tuple(fc.double({ min: 7, max: 907, noNaN: true }), fc.double({ min: 11, max: 651, noNaN: true }));
const middle = [panel.x + panel.width / 2, panel.y + panel.height / 2] as const;
const fromMiddle = (x: number, y: number) => Math.hypot(x - middle[0], y - middle[1]);
const under = (view: View, grid: Grid, x: number, y: number) =>
  cellAt(grid, ...projectionOf(view).onto(grid, ...toPlace(view, grid, panel, x, y)));

/** Unit vector of a place. */
function vector([x, y]: readonly [number, number]): [number, number, number] {
  const [a, b] = [(x * Math.PI) / 180, (y * Math.PI) / 180];
  return [Math.cos(b) * Math.cos(a), Math.cos(b) * Math.sin(a), Math.sin(b)];
}
const dot = (one: readonly number[], other: readonly number[]) => one.reduce((sum, each, k) => sum + each * (other[k] ?? 0), 0);

it("a globe needs a raster that goes round and from pole to pole", () => {
  expect([GAUSSIAN, EVEN].map(isWhole)).toEqual([true, true]);
  expect(isWhole(raster(60, 180, 59, -2, -179))).toBe(false); // a belt
  expect(isWhole(raster(75, 180, 59, -2, -179))).toBe(false); // from a pole to 60 degrees
  expect(isWhole(raster(90, 180, 89, -2, -179, { dlon: 1 }))).toBe(false); // half way round
  expect(isWhole({ ...EVEN, kind: "points" })).toBe(false);
});

it("what is seen is the half of the Earth around the middle, and the other half lies beside the disc", () => {
  fc.assert(
    fc.property(views, places, (view, place) => {
      const ahead = dot(vector([view.x, view.y]), vector(place));
      fc.pre(Math.abs(ahead) > 1e-7); // nearer to the rim than that the distance from the middle is rounded to the radius
      expect(isSeen(view, EVEN, place)).toBe(ahead > 0);
      const distance = fromMiddle(...toPixel(view, EVEN, panel, ...place)) / discOf(view)[0];
      expect(distance).toBeCloseTo(ahead > 0 ? Math.sqrt(1 - Math.min(ahead, 1) ** 2) : 2 - Math.sqrt(1 - Math.min(-ahead, 1) ** 2), 6);
    }),
  );
});

it("pixel to place and back is the same pixel, and beside the disc there is no cell", () => {
  fc.assert(
    fc.property(views, pixels, fc.constantFrom(GAUSSIAN, EVEN), (view, [x, y], grid) => {
      const [radius] = discOf(view);
      const place = toPlace(view, grid, panel, x, y);
      if (fromMiddle(x, y) > radius) {
        expect(place).toEqual([Number.NaN, Number.NaN]);
        expect(under(view, grid, x, y)).toBeNull();
        return;
      }
      fc.pre(fromMiddle(x, y) < 0.999 * radius);
      const [px, py] = toPixel(view, grid, panel, ...place);
      expect(Math.hypot(px - x, py - y)).toBeLessThan(1e-6 * radius);
      expect(Math.abs(place[0] - view.x)).toBeLessThanOrEqual(180);
    }),
  );
});

it("each cell that is seen is found under its middle, of whatever view", () => {
  fc.assert(
    fc.property(views, fc.constantFrom(GAUSSIAN, EVEN), fc.nat(), (view, grid, number) => {
      const cell = number % (grid.rows * grid.columns);
      const centre = centreOf(grid, cell);
      fc.pre(dot(vector([view.x, view.y]), vector(centre)) > 1e-3);
      expect(under(view, grid, ...toPixel(view, grid, panel, ...centre))).toBe(cell);
    }),
  );
});

it("at the poles and on the date line every pixel of the disc has a cell, the nearest one", () => {
  for (const grid of [GAUSSIAN, EVEN])
    for (const y of [90, 89.9, 0, -89.9, -90])
      for (const x of [-180, 180, 179.999, 337.5, 0]) {
        const view = { x, y, zoom: 5, globe: true };
        for (let k = 0; k < 400; k++) {
          const at = [middle[0] + 140 * Math.cos(k) * Math.sqrt(k / 400), middle[1] + 140 * Math.sin(k) * Math.sqrt(k / 400)] as const;
          const cell = under(view, grid, ...at);
          expect(cell).not.toBeNull();
          const apart = dot(vector(centreOf(grid, cell ?? 0)), vector(toPlace(view, grid, panel, ...at)));
          expect(apart).toBeGreaterThan(Math.cos(((0.51 * grid.dx + 0.8 * grid.dy) * Math.PI) / 180));
        }
      }
});

it("dragging turns the middle by the pixels and stops at the poles, zooming keeps the middle's place", () => {
  const view = { x: 10, y: 20, zoom: 6, globe: true };
  const [x, y] = toPixel(moved(view, EVEN, 30, -12), EVEN, panel, 10, 20);
  expect(x - middle[0]).toBeCloseTo(30, 0);
  expect(y - middle[1]).toBeCloseTo(-12, 0);
  expect(turned(moved(view, EVEN, 0, 6000), EVEN).y).toBe(90);
  expect(turned(moved(view, EVEN, -6 * 360 * Math.cos((20 * Math.PI) / 180), 0), EVEN).x).toBeCloseTo(10, 9); // once round
  expect(zoomed(view, EVEN, panel, ...middle, 2)).toMatchObject({ x: 10, y: 20, zoom: 12 });
  expect(zoomed(view, EVEN, panel, 8, 12, 1.5)).toEqual({ ...view, zoom: 9 }); // beside the disc
  const place = toPlace(view, EVEN, panel, middle[0] + 100, middle[1] + 60);
  const [px, py] = toPixel(zoomed(view, EVEN, panel, middle[0] + 100, middle[1] + 60, 1.1), EVEN, panel, ...place);
  expect(Math.hypot(px - middle[0] - 100, py - middle[1] - 60)).toBeLessThan(2);
});

it("the whole globe fits into the map", () => {
  const { zoom } = wholeView(EVEN, panel, true);
  expect(2 * discOf({ x: 0, y: 0, zoom })[0]).toBeCloseTo(0.93 * panel.height, 9);
});

it("no piece of a line or of an area that lies behind the globe crosses its disc", () => {
  const rings = fc.tuple(places, fc.double({ min: 0.1, max: 40, noNaN: true }));
  fc.assert(
    fc.property(views, rings, fc.constantFrom("land", "line", undefined), (view, [[x, y], size], which) => {
      fc.pre(Math.abs(y) + size < 89);
      const turn = Array.from({ length: 181 }, (_, k) => (2 * Math.PI * k) / 180);
      const ring = turn.map((angle): Place => [(x % 179) + size * Math.cos(angle), y + size * Math.sin(angle)]);
      const scene = { view, grid: EVEN, panel } as Scene;
      const [radius] = discOf(view);
      const { pieces } = traced(scene, [finely(scene, ...ring)], which) as unknown as Path;
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
      if (which === "land") expect(length).toBeGreaterThanOrEqual(ring.length); // an area stays closed
      for (const piece of pieces) {
        piece.slice(1).forEach(([bx, by], index) => {
          const [ax, ay] = piece[index] as [number, number];
          const hidden = Math.min(fromMiddle(ax, ay), fromMiddle(bx, by)) > 1.0001 * radius;
          const clear = fromMiddle((ax + bx) / 2, (ay + by) / 2) > 0.99 * radius;
          if (hidden) expect(which === "land" && clear).toBe(true);
        });
      }
    }),
  );
});
