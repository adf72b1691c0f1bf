/** Draws the values of points as squares. */
import { type Frame, valueAt } from "../decode/frame";
import { type Panel, toPixel } from "../state/view";
import type { Mode } from "./field";
import type { Scene } from "./lines";
import { colourAt, type Scale, shareOf } from "./palette";

/** frames: the first and the second field; mode: which of them, or the second minus the first; clip: the part of the panel that is drawn. */
export function drawPoints(
  pen: CanvasRenderingContext2D,
  frames: readonly Frame[],
  mode: Mode,
  look: Scale,
  scene: Scene,
  clip: Panel,
): void {
  const { view, grid, panel, ratio, colours } = scene;
  const [a, b] = frames;
  const half = Math.min(Math.max((view.zoom * grid.dy) / 3, 3 * ratio), 9 * ratio);
  pen.save();
  pen.beginPath();
  pen.rect(clip.x, clip.y, clip.width, clip.height);
  pen.clip();
  pen.lineWidth = ratio;
  pen.strokeStyle = colours.halo;
  grid.places?.forEach((place, cell) => {
    const one = a && valueAt(a, cell);
    const other = b && valueAt(b, cell);
    const value = mode === 0 ? one : mode === 1 ? other : one !== undefined && other !== undefined ? other - one : undefined;
    if (!place || value === undefined) return;
    const [x, y] = toPixel(view, grid, panel, ...place);
    pen.fillStyle = Number.isNaN(value) ? colours.hatch : colourAt(look.palette, shareOf(look, value));
    pen.fillRect(x - half, y - half, 2 * half, 2 * half);
    pen.strokeRect(x - half, y - half, 2 * half, 2 * half);
  });
  pen.restore();
}
