/** Where the map looks: a plate carrée that is true to scale at one parallel, or the plane of a projected grid. Pure; pixels are device pixels. */
import type { Grid } from "./grid";

/** The point in the middle of each map, and pixels per degree of latitude (per metre of a projected grid). */
export interface View {
  x: number;
  y: number;
  zoom: number;
}
export interface Panel {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Pixels per unit of x and of y. */
export function scale(view: View, grid: Grid): [number, number] {
  return [view.zoom * grid.narrowing, view.zoom];
}

export function toPixel(view: View, grid: Grid, panel: Panel, x: number, y: number): [number, number] {
  const [sx, sy] = scale(view, grid);
  return [panel.x + panel.width / 2 + (x - view.x) * sx, panel.y + panel.height / 2 - (y - view.y) * sy];
}

export function toPlace(view: View, grid: Grid, panel: Panel, x: number, y: number): [number, number] {
  const [sx, sy] = scale(view, grid);
  return [view.x + (x - panel.x - panel.width / 2) / sx, view.y - (y - panel.y - panel.height / 2) / sy];
}

/** The view that shows the whole grid with a margin. */
export function wholeView(grid: Grid, panel: Panel): View {
  const [wide, tall] = grid.span;
  const zoom = 0.93 * Math.min(panel.width / (wide * grid.narrowing), panel.height / tall);
  return { x: grid.west + wide / 2, y: grid.north - tall / 2, zoom };
}

/** The same place under the pixel (px, py) at another scale. */
export function zoomed(view: View, grid: Grid, panel: Panel, px: number, py: number, factor: number): View {
  const [wide, tall] = grid.span;
  const least = Math.min(panel.width / (wide * grid.narrowing), panel.height / tall) / 8;
  const zoom = Math.min(Math.max(view.zoom * factor, least), 400 / grid.dy);
  const [x, y] = toPlace(view, grid, panel, px, py);
  const [nx, ny] = toPlace({ ...view, zoom }, grid, panel, px, py);
  return { x: view.x + x - nx, y: view.y + y - ny, zoom };
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
