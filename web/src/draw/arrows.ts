/** Draws a vector as arrows, one every so many pixels, or one a point. */
import { type Frame, valueAt } from "../decode/frame";
import type { Place } from "../state/told";
import { type Panel, projectionOf, toPixel, toPlace } from "../state/view";
import { clipped, type Scene } from "./lines";

/** [CSS pixel] from arrow to arrow, and of the longest one. */
export const APART = 28;
const TINY = 1e-3; // degrees or metres along an arrow, which show where it points

/** x, y: components to the east and to the north, signs for those that point the other way; longest: the length of the longest arrow. */
export interface Arrows {
  x: Frame;
  y: Frame;
  signs: readonly [number, number];
  longest: number;
}

export function drawArrows(pen: CanvasRenderingContext2D, { x, y, signs, longest }: Arrows, scene: Scene, clip: Panel): void {
  const { view, grid, panel, ratio, colours } = scene;
  const step = APART * ratio;
  const lines = new Path2D();
  const draw = (px: number, py: number, pixel: number, [east, north]: Place) => {
    const [u, v] = [valueAt(x, pixel), valueAt(y, pixel)];
    if (!(longest > 0) || u === undefined || v === undefined || Number.isNaN(u + v)) return;
    const wide = view.globe ? Math.cos((north * Math.PI) / 180) : grid.narrowing;
    const [hx, hy] = toPixel(view, grid, panel, east + (TINY * signs[0] * u) / longest / wide, north + (TINY * signs[1] * v) / longest);
    const part = 1 / Math.max(1, Math.abs(u) / longest, Math.abs(v) / longest); // what is beyond the range of the run has its longest arrow
    const [dx, dy] = [hx - px, hy - py].map((pixels) => (((part * pixels) / TINY / view.zoom) * step) / 2) as [number, number];
    if (Math.hypot(dx, dy) < ratio) return lines.rect(px - ratio / 2, py - ratio / 2, ratio, ratio); // as good as still
    lines.moveTo(px - dx, py - dy);
    lines.lineTo(px + dx, py + dy);
    for (const side of [-1, 1]) {
      lines.moveTo(px + dx, py + dy);
      lines.lineTo(px + 0.4 * dx + side * 0.35 * dy, py + 0.4 * dy - side * 0.35 * dx);
    }
  };
  if (grid.kind === "points") {
    for (const [cell, place] of (grid.places ?? []).entries()) if (place) draw(...toPixel(view, grid, panel, ...place), cell, place);
  } else {
    for (let py = panel.y + step / 2; py < panel.y + panel.height; py += step) {
      for (let px = panel.x + step / 2; px < panel.x + panel.width; px += step) {
        const [east, north] = projectionOf(view).onto(grid, ...toPlace(view, grid, panel, px, py));
        const column = Math.floor(((east - grid.west) / grid.span[0]) * x.columns);
        const row = Math.floor(((grid.north - north) / grid.span[1]) * x.rows);
        if (column >= 0 && column < x.columns && row >= 0 && row < x.rows) draw(px, py, row * x.columns + column, [east, north]);
      }
    }
  }
  clipped(pen, clip, () => {
    for (const [style, width] of [
      [colours.halo, 3],
      [colours.ink, 1.2],
    ] as const) {
      pen.strokeStyle = style;
      pen.lineWidth = width * ratio;
      pen.stroke(lines);
    }
  });
}
