/** Where the map looks: a plate carrée that is true to scale at one parallel, the plane of a projected grid, or a globe. Pure; pixels are device pixels. */
import { discOf, GLOBE } from "./globe";
import type { Grid } from "./grid";

/** The point in the middle of each map, and pixels per degree of latitude there (per metre of a projected grid). */
export interface View {
  x: number;
  y: number;
  zoom: number;
  globe?: boolean;
}
/** How places become pixels: so many to the right of the middle of a map, and so many above it. */
export interface Projection {
  offset(view: View, grid: Grid, x: number, y: number): [number, number];
  /** NaN where there is no place. Of a globe the longitude is at most 180 from the one in the middle. */
  place(view: View, grid: Grid, right: number, up: number): [number, number];
  /** A place that is seen as the grid counts longitudes, within its rows. */
  onto(grid: Grid, x: number, y: number): [number, number];
  /** West, south, east and north of what a map of so many pixels shows, or more. */
  window(view: View, grid: Grid, width: number, height: number): [number, number, number, number];
}
export interface Panel {
  x: number;
  y: number;
  width: number;
  height: number;
}

const PLANE: Projection = {
  onto: (_grid, x, y) => [x, y],
  offset: (view, grid, x, y) => [(x - view.x) * view.zoom * grid.narrowing, (y - view.y) * view.zoom],
  place: (view, grid, right, up) => [view.x + right / view.zoom / grid.narrowing, view.y + up / view.zoom],
  window: (view, grid, w, h) => [...PLANE.place(view, grid, -w / 2, -h / 2), ...PLANE.place(view, grid, w / 2, h / 2)],
};

export function projectionOf({ globe }: View): Projection {
  return globe ? GLOBE : PLANE;
}

/** Pixels per unit of x and of y in the middle; of x never too few, so that a globe does not spin near a pole. */
export function scale(view: View, grid: Grid): [number, number] {
  return [view.zoom * (view.globe ? Math.max(discOf(view)[2], 0.2) : grid.narrowing), view.zoom];
}

/** Outside of the disc for what lies behind a globe. */
export function toPixel(view: View, grid: Grid, panel: Panel, x: number, y: number): [number, number] {
  const [right, up] = projectionOf(view).offset(view, grid, x, y);
  return [panel.x + panel.width / 2 + right, panel.y + panel.height / 2 - up];
}

/** NaN beside a globe. */
export function toPlace(view: View, grid: Grid, panel: Panel, x: number, y: number): [number, number] {
  return projectionOf(view).place(view, grid, x - panel.x - panel.width / 2, panel.y + panel.height / 2 - y);
}

/** Whether a place is on the side of the Earth that is seen. within: only in this part of the disc, from its middle. */
export function isSeen(view: View, grid: Grid, [x, y]: readonly [number, number], within = 1): boolean {
  return !view.globe || Math.hypot(...GLOBE.offset(view, grid, x, y)) <= within * discOf(view)[0];
}

/** The view that shows the whole grid with a margin. */
export function wholeView(grid: Grid, panel: Panel, globe = false): View {
  const [wide, tall] = globe ? [360 / Math.PI, 360 / Math.PI] : [grid.span[0] * grid.narrowing, grid.span[1]];
  const zoom = 0.93 * Math.min(panel.width / wide, panel.height / tall);
  return { x: grid.west + grid.span[0] / 2, y: grid.north - grid.span[1] / 2, zoom, globe };
}

/** The same place under the pixel (px, py) at another scale; on a globe nearly the same. */
export function zoomed(view: View, grid: Grid, panel: Panel, px: number, py: number, factor: number): View {
  const least = wholeView(grid, panel, view.globe).zoom / 7.44;
  const nearer = { ...view, zoom: Math.min(Math.max(view.zoom * factor, least), 400 / grid.dy) };
  const [x, y] = toPixel(nearer, grid, panel, ...toPlace(view, grid, panel, px, py));
  return Number.isNaN(y) ? nearer : moved(nearer, grid, px - x, py - y);
}

/** The view moved by pixels. */
export function moved(view: View, grid: Grid, dx: number, dy: number): View {
  const [sx, sy] = scale(view, grid);
  return { ...view, x: view.x - dx / sx, y: view.y + dy / sy };
}

/** Maps side by side in a wide canvas, one above the other in a tall one. */
export function panels(count: number, width: number, height: number): Panel[] {
  const tall = height > width;
  return Array.from({ length: count }, (_, k) => {
    const from = Math.round(((tall ? height : width) * k) / count);
    const to = Math.round(((tall ? height : width) * (k + 1)) / count);
    return tall ? { x: 0, y: from, width, height: to - from } : { x: from, y: 0, width: to - from, height };
  });
}
