/** A picture to be saved: the maps as they are seen, with titles, legends and where it comes from. */
import type { Frame } from "../decode/frame";
import type { Grid } from "../state/grid";
import type { Place } from "../state/told";
import { panels, type View } from "../state/view";
import { type Arrows, drawArrows } from "./arrows";
import type { Coast } from "./coast";
import { type Context, drawContext } from "./context";
import { FieldMap, type Mode, placementOf } from "./field";
import { drawLegend, heightOf, type Legend } from "./legend";
import { type Colours, drawMarks, drawOutline, drawOver, drawUnder, type Mark } from "./lines";
import type { Scale } from "./palette";
import { drawPoints } from "./points";

export interface Plate {
  /** Of all maps together, in CSS pixels. */
  size: readonly [number, number];
  /** Pixels of the picture a CSS pixel. */
  ratio: number;
  /** In pixels of the picture. */
  view: View;
  grid: Grid;
  coast: Coast;
  context: Context;
  colours: Colours;
  hatch: readonly [number, number, number];
  smooth: boolean;
  frames: readonly Frame[];
  maps: readonly ({ mode: Mode; title: string; text: string; arrows: Arrows | null } & Scale)[];
  legends: readonly { title: string; unit: string; legend: Legend }[];
  marks: readonly Mark[];
  outline: readonly Place[] | null;
  /** Lines at the foot. */
  notes: readonly string[];
}
const FONT = "Inter, system-ui, sans-serif";
const FONTS = { title: `600 13px ${FONT}`, text: `12px ${FONT}` };
const [MARGIN, LINE] = [16, 16]; // [CSS pixel]
const TITLE = 24; // [CSS pixel] of a legend

const tallest = ({ legends }: Plate) => TITLE + Math.max(...legends.map(({ legend }) => heightOf(legend)));

/** Raises Error without WebGL 2, or when the browser makes no picture of this size. */
export async function picture(plate: Plate): Promise<Blob> {
  const { size, ratio, colours } = plate;
  const [width, height] = size;
  const foot = tallest(plate) + 2 * MARGIN + plate.notes.length * LINE;
  const canvas = Object.assign(document.createElement("canvas"), {
    width: Math.round(width * ratio),
    height: Math.round((height + foot) * ratio),
  });
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("This browser makes no picture of this size.");
  pen.fillStyle = colours.card;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  drawMaps(pen, plate);
  pen.scale(ratio, ratio);
  drawTitles(pen, plate);
  drawFoot(pen, plate);
  return new Promise((made, failed) => {
    canvas.toBlob((blob) => (blob ? made(blob) : failed(new Error("This browser makes no picture of this size."))), "image/png");
  });
}

function drawMaps(pen: CanvasRenderingContext2D, plate: Plate): void {
  const { size, ratio, view, grid, colours, frames } = plate;
  const [width, height] = size.map((length) => Math.round(length * ratio)) as [number, number];
  const layer = document.createElement("canvas");
  const field = new FieldMap(layer, () => undefined);
  field.clear(width, height);
  for (const [unit, frame] of frames.slice(0, 2).entries()) field.put(unit as 0 | 1, frame);
  pen.fillStyle = colours.sea;
  pen.fillRect(0, 0, width, height);
  const all = panels(plate.maps.length, width, height).map((panel) => ({ view, grid, panel, ratio, colours }));
  const coast = grid.kind === "projected" ? [] : plate.coast;
  for (const scene of all) drawUnder(pen, coast, scene);
  all.forEach(({ panel }, index) => {
    const map = plate.maps[index];
    const frame = frames[map?.mode === 1 ? 1 : 0];
    if (map && frame)
      field.draw(map.mode, panel, placementOf(view, grid, panel, frame), { ...map, smooth: plate.smooth, hatch: plate.hatch, ratio });
  });
  pen.drawImage(layer, 0, 0);
  for (const [index, scene] of all.entries()) {
    const map = plate.maps[index];
    drawOver(pen, coast, scene, 60);
    drawContext(pen, plate.context, scene, 60);
    if (map && grid.kind === "points") drawPoints(pen, frames, map.mode, map, scene, scene.panel);
    if (map?.arrows) drawArrows(pen, map.arrows, scene, scene.panel);
    if (plate.outline) drawOutline(pen, plate.outline, false, scene);
    drawMarks(pen, plate.marks, scene);
  }
}

/** Over each map its title and text, in as many lines as the width of the map needs. */
export function drawTitles(pen: CanvasRenderingContext2D, { maps, size, colours }: Pick<Plate, "maps" | "size" | "colours">): void {
  panels(maps.length, ...size).forEach(({ x, y, width }, index) => {
    const map = maps[index];
    if (!map) return;
    pen.textAlign = "left";
    const lines = (["title", "text"] as const).flatMap((part) => {
      pen.font = FONTS[part];
      return wrapped(pen, map[part], width - 46).map((line) => ({ part, line, wide: pen.measureText(line).width }));
    });
    pen.beginPath();
    pen.roundRect(x + 12, y + 12, Math.max(...lines.map(({ wide }) => wide)) + 22, 10 + 17 * lines.length, 6);
    pen.fillStyle = colours.card;
    pen.fill();
    pen.strokeStyle = colours.line;
    pen.lineWidth = 1;
    pen.stroke();
    lines.forEach(({ part, line }, row) => {
      pen.font = FONTS[part];
      pen.fillStyle = part === "title" ? colours.ink : colours.muted;
      pen.fillText(line, x + 23, y + 31 + 17 * row);
    });
  });
}

function wrapped(pen: CanvasRenderingContext2D, text: string, width: number): string[] {
  const [first = "", ...words] = text.split(" ");
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (pen.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

function drawFoot(pen: CanvasRenderingContext2D, plate: Plate): void {
  const { size, legends, notes, colours } = plate;
  const [width, height] = size;
  const wide = Math.min(420, (width - MARGIN * (legends.length + 1)) / legends.length);
  legends.forEach(({ title, unit, legend }, index) => {
    const x = MARGIN + index * (wide + MARGIN);
    pen.textAlign = "left";
    pen.font = FONTS.title;
    pen.fillStyle = colours.ink;
    pen.fillText(title, x, height + MARGIN + 10);
    const after = x + pen.measureText(title).width + 6;
    pen.font = FONTS.text;
    pen.fillStyle = colours.muted;
    pen.fillText(unit, after, height + MARGIN + 10);
    drawLegend(pen, legend, x + 8, height + MARGIN + 14, wide - 16, colours);
  });
  pen.font = `11px ${FONT}`;
  pen.fillStyle = colours.muted;
  pen.textAlign = "left";
  for (const [index, note] of notes.entries()) pen.fillText(note, MARGIN, height + tallest(plate) + MARGIN + 8 + index * LINE);
}
