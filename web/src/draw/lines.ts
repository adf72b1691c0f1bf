/** What lies under and over the field: land, coastline, graticule with labels, scale bar; and the marks of cells and regions. */
import { placeText } from "../decode/units";
import { centreOf, type Grid } from "../state/grid";
import type { Place } from "../state/told";
import { type Panel, scale, toPixel, toPlace, type View } from "../state/view";
import type { Coast } from "./coast";
import { roundDown, tickStep } from "./ticks";

export type Colours = Record<
  "sea" | "land" | "coast" | "graticule" | "ink" | "muted" | "halo" | "line" | "card" | "accent" | "hatch",
  string
>;
/** Where and how large: ratio is the number of device pixels a CSS pixel. */
export interface Scene {
  view: View;
  grid: Grid;
  panel: Panel;
  ratio: number;
  colours: Colours;
}
/** A cell with a square around it. number: written beside it. */
export interface Mark {
  cell: number;
  colour: string;
  number?: number;
}
type Pen = CanvasRenderingContext2D;
const FONT = "Inter, system-ui, sans-serif";
const KILOMETRES_A_DEGREE = 111.195; // of latitude, on a sphere of 6371.0088 km

export function clipped(pen: Pen, { x, y, width, height }: Panel, draw: () => void): void {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  draw();
  pen.restore();
}

/** The shores that are seen, in pixels, as one path. */
export function placed(coast: Coast, which: "land" | "line", { view, grid, panel }: Scene): Path2D {
  const [sx, sy] = scale(view, grid);
  const [west, north] = toPlace(view, grid, panel, panel.x, panel.y);
  const [east, south] = toPlace(view, grid, panel, panel.x + panel.width, panel.y + panel.height);
  const path = new Path2D();
  for (const turn of [-360, 0, 360]) {
    const [x, y] = toPixel(view, grid, panel, turn, 0);
    const matrix = new DOMMatrix([sx, 0, 0, -sy, x, y]);
    for (const shore of coast) {
      if (shore.west + turn > east || shore.east + turn < west || shore.south > north || shore.north < south) continue;
      path.addPath(shore[which], matrix);
    }
  }
  return path;
}

export function drawUnder(pen: Pen, coast: Coast, scene: Scene): void {
  clipped(pen, scene.panel, () => {
    pen.fillStyle = scene.colours.land;
    pen.fill(placed(coast, "land", scene), "evenodd");
  });
}

/** Where the model is, before it has a value to show. active: 1 for the cells that take part, row by row. */
export function drawMask(pen: Pen, active: Uint8Array, { view, grid, panel, colours }: Scene): void {
  const [sx, sy] = scale(view, grid);
  clipped(pen, panel, () => {
    pen.fillStyle = colours.graticule;
    for (let row = 0; row < grid.rows; row++) {
      for (let from = 0; from < grid.columns; from++) {
        if (!active[row * grid.columns + from]) continue;
        let to = from + 1;
        while (to < grid.columns && active[row * grid.columns + to]) to++;
        const [x, y] = toPixel(view, grid, panel, grid.west + from * grid.dx, grid.north - row * grid.dy);
        pen.fillRect(x, y, (to - from) * grid.dx * sx, grid.dy * sy);
        from = to;
      }
    }
  });
}

/** margin: CSS pixels at the top that the title covers, where no label is written. */
export function drawOver(pen: Pen, coast: Coast, scene: Scene, margin: number): void {
  clipped(pen, scene.panel, () => {
    graticule(pen, scene, margin);
    pen.strokeStyle = scene.colours.coast;
    pen.lineWidth = 0.9 * scene.ratio;
    pen.lineJoin = "round";
    pen.stroke(placed(coast, "line", scene));
    scaleBar(pen, scene);
    const { panel, ratio, grid } = scene;
    const text = projectionText(grid);
    if (text) write(pen, scene, text, panel.x + 8 * ratio, panel.y + panel.height - 24 * ratio, "left");
  });
}

export function write(pen: Pen, { ratio, colours }: Scene, text: string, x: number, y: number, align: CanvasTextAlign): void {
  pen.font = `${11 * ratio}px ${FONT}`;
  pen.textAlign = align;
  pen.strokeStyle = colours.halo;
  pen.lineWidth = 3 * ratio;
  pen.lineJoin = "round";
  pen.strokeText(text, x, y);
  pen.fillStyle = colours.muted;
  pen.fillText(text, x, y);
}

function line(pen: Pen, from: readonly [number, number], to: readonly [number, number], colour: string, width: number): void {
  pen.beginPath();
  pen.moveTo(...from);
  pen.lineTo(...to);
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
}

/** Degrees, or kilometres of a projected grid: "15° S", "1 200 km". */
function label(at: number, axis: "x" | "y", grid: Grid): string {
  if (grid.kind === "projected") return `${Number((at / 1000).toPrecision(10))} km`;
  const [latitude, longitude] = placeText(axis === "x" ? [at, 0] : [0, at]).split(", ");
  return (axis === "x" ? longitude : latitude) ?? "";
}

/** What the axes of a projected grid are, and what its map lacks: the coastline is in degrees, and nothing here turns those into metres. */
export function projectionText({ kind, crs }: Grid): string | null {
  if (kind !== "projected") return null;
  const name = typeof crs.grid_mapping_name === "string" ? crs.grid_mapping_name.replaceAll("_", " ") : "projection";
  return `${name}, x and y in km; no coastline`;
}

function graticule(pen: Pen, scene: Scene, margin: number): void {
  const { view, grid, panel, ratio, colours } = scene;
  const [west, north] = toPlace(view, grid, panel, panel.x, panel.y);
  const [east, south] = toPlace(view, grid, panel, panel.x + panel.width, panel.y + panel.height);
  const step = tickStep(0, (90 * ratio) / view.zoom, 1);
  const bottom = panel.y + panel.height;
  for (let k = Math.ceil(west / step); k * step < east; k++) {
    const [x] = toPixel(view, grid, panel, k * step, 0);
    line(pen, [x, panel.y], [x, bottom], colours.graticule, 0.75 * ratio);
    const room = Math.min(x - panel.x, panel.x + panel.width - x) > 24 * ratio;
    if (room) write(pen, scene, label(k * step, "x", grid), x, bottom - 8 * ratio, "center");
  }
  for (let k = Math.ceil(south / step); k * step < north; k++) {
    const [, y] = toPixel(view, grid, panel, 0, k * step);
    line(pen, [panel.x, y], [panel.x + panel.width, y], colours.graticule, 0.75 * ratio);
    const room = y - panel.y > (margin + 8) * ratio && bottom - y > 30 * ratio;
    if (room) write(pen, scene, label(k * step, "y", grid), panel.x + 8 * ratio, y + 4 * ratio, "left");
  }
}

/** A length of 1, 2 or 5 km times a power of ten at the latitude of the middle. */
function scaleBar(pen: Pen, scene: Scene): void {
  const { view, grid, panel, ratio, colours } = scene;
  const [sx, sy] = scale(view, grid);
  const cosine = Math.max(Math.cos((view.y * Math.PI) / 180), 0.01);
  const kilometre = grid.kind === "projected" ? sy * 1000 : sx / (KILOMETRES_A_DEGREE * cosine);
  const length = roundDown((120 * ratio) / kilometre);
  const right = panel.x + panel.width - 16 * ratio;
  const low = panel.y + panel.height - 30 * ratio;
  const left = right - length * kilometre;
  line(pen, [left - ratio, low], [right + ratio, low], colours.halo, 5 * ratio);
  line(pen, [left, low], [right, low], colours.ink, 2 * ratio);
  write(
    pen,
    scene,
    length >= 1 ? `${length} km` : `${Number((length * 1000).toPrecision(6))} m`,
    (left + right) / 2,
    low - 7 * ratio,
    "center",
  );
}

/** Squares around cells, at least 10 CSS pixels wide. */
export function drawMarks(pen: Pen, marks: readonly Mark[], scene: Scene): void {
  const { view, grid, panel, ratio, colours } = scene;
  const [sx, sy] = scale(view, grid);
  clipped(pen, panel, () => {
    for (const { cell, colour, number } of marks) {
      const [x, y] = toPixel(view, grid, panel, ...centreOf(grid, cell));
      const wide = Math.max(5 * ratio, grid.kind === "points" ? 0 : (sx * grid.dx) / 2 + ratio);
      const tall = Math.max(5 * ratio, grid.kind === "points" ? 0 : (sy * grid.dy) / 2 + ratio);
      pen.lineJoin = "miter";
      for (const [style, width] of [
        [colours.halo, 4.5],
        [colour, 2],
      ] as const) {
        pen.strokeStyle = style;
        pen.lineWidth = width * ratio;
        pen.strokeRect(x - wide, y - tall, 2 * wide, 2 * tall);
      }
      if (number === undefined) continue;
      pen.font = `600 ${11 * ratio}px ${FONT}`;
      pen.textAlign = "left";
      pen.lineJoin = "round";
      pen.strokeStyle = colours.halo;
      pen.lineWidth = 3.5 * ratio;
      pen.strokeText(String(number), x + wide + 4 * ratio, y - tall + 7 * ratio);
      pen.fillStyle = colour;
      pen.fillText(String(number), x + wide + 4 * ratio, y - tall + 7 * ratio);
    }
  });
}

/** A region's outline; open while it is drawn. */
export function drawOutline(pen: Pen, corners: readonly Place[], open: boolean, scene: Scene): void {
  const { view, grid, panel, ratio, colours } = scene;
  const path = new Path2D();
  for (const corner of corners) path.lineTo(...toPixel(view, grid, panel, ...corner));
  if (!open) path.closePath();
  clipped(pen, panel, () => {
    pen.lineJoin = "round";
    for (const [style, width, dash] of [
      [colours.halo, 4, []],
      [colours.ink, 1.5, [6 * ratio, 4 * ratio]],
    ] as const) {
      pen.setLineDash([...dash]);
      pen.strokeStyle = style;
      pen.lineWidth = width * ratio;
      pen.stroke(path);
    }
  });
}
