/** What lies under and over the field: land, coastline, graticule with labels, scale bar; and the marks of cells and regions. */
import { placeText } from "../decode/units";
import { discOf } from "../state/globe";
import { centreOf, type Grid } from "../state/grid";
import type { Place } from "../state/told";
import { isSeen, type Panel, projectionOf, scale, toPixel, toPlace, type View } from "../state/view";
import type { Coast } from "./coast";
import { roundDown, tickStep } from "./ticks";
import { finely, traced } from "./trace";

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

function discPath({ view, panel }: Scene, times = 1): Path2D {
  const path = new Path2D();
  path.arc(panel.x + panel.width / 2, panel.y + panel.height / 2, times * discOf(view)[0], 0, 2 * Math.PI);
  return path;
}

/** By how many degrees a place is moved to all longitudes by which a flat map may show it. */
function turnsOf({ view, grid }: Scene): readonly number[] {
  return view.globe || grid.kind === "projected" ? [0] : [-360, 0, 360];
}

/** The shores that are seen, in pixels, as one path. */
export function placed(coast: Coast, which: "land" | "line", scene: Scene): Path2D {
  const { view, grid, panel } = scene;
  const rings = coast.map(({ ring }) => ring);
  if (view.globe) return traced(scene, rings, which);
  const [sx, sy] = scale(view, grid);
  const [west, north] = toPlace(view, grid, panel, panel.x, panel.y);
  const [east, south] = toPlace(view, grid, panel, panel.x + panel.width, panel.y + panel.height);
  const path = new Path2D();
  for (const turn of turnsOf(scene)) {
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
  const { view, panel, colours } = scene;
  clipped(pen, panel, () => {
    const land = placed(coast, "land", scene);
    // an area that holds the opposite side of the Earth has all else as its inside: one more around everything turns that
    const opposite = [(((view.x % 360) + 360) % 360) - 180, -0.9999 * view.y] as const;
    const around = view.globe && coast.filter((shore) => pen.isPointInPath(shore.land, ...opposite, "evenodd")).length % 2;
    if (around) land.addPath(discPath(scene, 3));
    pen.fillStyle = colours.land;
    pen.fill(land, "evenodd");
    if (!view.globe) return;
    const beside = discPath(scene);
    beside.rect(panel.x, panel.y, panel.width, panel.height);
    pen.fillStyle = colours.card;
    pen.fill(beside, "evenodd");
  });
}

/** Where the model is on a plane, before it has a value to show. active: 1 for the cells that take part, row by row. */
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
  const { view, panel, ratio, grid, colours } = scene;
  clipped(pen, panel, () => {
    const { lines, labels } = graticuleOf(scene, margin);
    stroke(pen, traced(scene, lines), colours.graticule, 0.75 * ratio);
    for (const each of labels) write(pen, scene, ...each);
    pen.lineJoin = "round";
    stroke(pen, placed(coast, "line", scene), colours.coast, 0.9 * ratio);
    if (view.globe) pen.stroke(discPath(scene));
    scaleBar(pen, scene);
    const text = projectionText(grid);
    if (text) write(pen, scene, text, panel.x + 8 * ratio, panel.y + panel.height - 24 * ratio, "left");
  });
}

/** A text with a halo. bold: with a broader one. */
export function write(
  pen: Pen,
  { ratio, colours }: Scene,
  text: string,
  x: number,
  y: number,
  align: CanvasTextAlign,
  colour = colours.muted,
  bold = false,
): void {
  pen.font = `${bold ? "600 " : ""}${11 * ratio}px ${FONT}`;
  pen.textAlign = align;
  pen.strokeStyle = colours.halo;
  pen.lineWidth = (bold ? 3.5 : 3) * ratio;
  pen.lineJoin = "round";
  pen.strokeText(text, x, y);
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

function stroke(pen: Pen, path: Path2D, colour: string, width: number): void {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke(path);
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

/** Meridians and parallels, and where their labels stand: at two edges, or on a globe along the parallel and the meridian near its middle. */
export function graticuleOf(scene: Scene, margin: number): { lines: Place[][]; labels: [string, number, number, CanvasTextAlign][] } {
  const { view, grid, panel, ratio } = scene;
  const [west, low, east, high] = projectionOf(view).window(view, grid, panel.width, panel.height);
  const [south, north] = grid.kind === "projected" ? [low, high] : [Math.max(low, -90), Math.min(high, 90)]; // a map may show what lies beyond
  const [right, bottom] = [panel.x + panel.width, panel.y + panel.height];
  const step = (pixels: number) => Math.min(tickStep(0, (90 * ratio) / pixels, 1), view.globe ? 20 : Infinity);
  const [wide, tall] = [step(view.globe ? scale(view, grid)[0] : view.zoom), step(view.zoom)];
  const [midX, midY] = [Math.round(view.x / wide) * wide, Math.round(Math.min(Math.max(view.y, -60), 60) / tall) * tall];
  const found: ReturnType<typeof graticuleOf> = { lines: [], labels: [] };
  for (let k = Math.ceil(west / wide); k * wide < east; k++) {
    const at = k * wide;
    found.lines.push(finely(scene, [at, south], [at, north]));
    const [x, y] = toPixel(view, grid, panel, at, midY);
    const room = Math.min(x - panel.x, right - x) > 24 * ratio && isSeen(view, grid, [at, midY], 0.85);
    if (room) found.labels.push([label(at, "x", grid), x, (view.globe ? y : bottom) - 8 * ratio, "center"]);
  }
  for (let k = Math.ceil(south / tall); k * tall <= north; k++) {
    const at = k * tall;
    found.lines.push(finely(scene, [west, at], [east, at]));
    const [x, y] = toPixel(view, grid, panel, midX, at);
    const free = !view.globe || (at !== midY && isSeen(view, grid, [midX, at], 0.85));
    const room = y - panel.y > (margin + 8) * ratio && bottom - y > 30 * ratio && free;
    if (room) found.labels.push([label(at, "y", grid), (view.globe ? x : panel.x) + 8 * ratio, y + 4 * ratio, "left"]);
  }
  return found;
}

/** A length of 1, 2 or 5 km times a power of ten at the latitude of the middle. */
function scaleBar(pen: Pen, scene: Scene): void {
  const { view, grid, panel, ratio, colours } = scene;
  const [sx, sy] = scale(view, grid);
  const cosine = Math.max(Math.cos((view.y * Math.PI) / 180), 0.01);
  const kilometre = grid.kind === "projected" ? sy * 1000 : (view.globe ? sy : sx / cosine) / KILOMETRES_A_DEGREE;
  const length = roundDown((120 * ratio) / kilometre);
  const right = panel.x + panel.width - 16 * ratio;
  const low = panel.y + panel.height - 30 * ratio;
  const left = right - length * kilometre;
  stroke(pen, new Path2D(`M${left - ratio},${low}H${right + ratio}`), colours.halo, 5 * ratio);
  stroke(pen, new Path2D(`M${left},${low}H${right}`), colours.ink, 2 * ratio);
  write(
    pen,
    scene,
    length >= 1 ? `${length} km` : `${Number((length * 1000).toPrecision(6))} m`,
    (left + right) / 2,
    low - 7 * ratio,
    "center",
  );
}

/** Outlines around cells, at least 10 CSS pixels wide. */
export function drawMarks(pen: Pen, marks: readonly Mark[], scene: Scene): void {
  const { view, grid, panel, ratio, colours } = scene;
  clipped(pen, panel, () => {
    for (const { cell, colour, number } of marks) {
      const centre = centreOf(grid, cell);
      if (!isSeen(view, grid, centre)) continue;
      const [x, y] = toPixel(view, grid, panel, ...centre);
      const [sx, sy] = scale({ ...view, y: centre[1] }, grid);
      const wide = Math.max(5 * ratio, grid.kind === "points" ? 0 : (sx * grid.dx) / 2 + ratio);
      const tall = Math.max(5 * ratio, grid.kind === "points" ? 0 : (sy * grid.dy) / 2 + ratio);
      const corner = (east: number, k: number): Place => [centre[0] + (east * wide) / sx, centre[1] + ((k % 4 < 2 ? 1 : -1) * tall) / sy];
      const path = traced(scene, [finely(scene, ...[-1, 1, 1, -1, -1, 1].map(corner))]);
      pen.lineJoin = "miter";
      stroke(pen, path, colours.halo, 4.5 * ratio);
      stroke(pen, path, colour, 2 * ratio);
      if (number !== undefined) write(pen, scene, String(number), x + wide + 4 * ratio, y - tall + 7 * ratio, "left", colour, true);
    }
  });
}

/** A region's outline; open while it is drawn. */
export function drawOutline(pen: Pen, corners: readonly Place[], open: boolean, scene: Scene): void {
  const { panel, ratio, colours } = scene;
  const ring = finely(scene, ...corners, ...(open ? [] : corners.slice(0, 2)));
  const path = traced(
    scene,
    turnsOf(scene).map((turn) => ring.map(([x, y]): Place => [x + turn, y])),
  );
  clipped(pen, panel, () => {
    pen.lineJoin = "round";
    stroke(pen, path, colours.halo, 4 * ratio);
    pen.setLineDash([6 * ratio, 4 * ratio]);
    stroke(pen, path, colours.ink, 1.5 * ratio);
  });
}
