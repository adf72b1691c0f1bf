/** The legend on a canvas: histogram of the cells, colour bar, ticks; used in the panel and in saved pictures. */
import { rounded, toStep } from "../decode/units";
import type { Colours } from "./lines";
import { colourAt, type Scale, shareOf } from "./palette";
import { logarithmicTicks, tickStep, ticks } from "./ticks";

export interface Legend extends Scale {
  /** Cells in equal bins of the range. */
  counts: readonly number[];
  /** Whether there are values below and above the range: the bar ends in a triangle there. */
  beyond: readonly [boolean, boolean];
  /** A difference: positive numbers have a sign. */
  signed: boolean;
}
export const HEIGHT = 68; // [CSS pixel]
const ROW = 17; // [CSS pixel] of a class
const [TOP, BAR, END] = [33, 13, 7];
const [APART, GAP] = [50, 8]; // [CSS pixel] between ticks, and between their texts

/** How many classes stand one above the other: in two columns where they are more than four. */
const rowsOf = (classes: number) => (classes > 4 ? Math.ceil(classes / 2) : classes);

/** How tall a legend is [CSS pixel]. */
export function heightOf({ names }: Pick<Scale, "names">): number {
  return names.length ? ROW * rowsOf(names.length) : HEIGHT;
}

/** Draws at x, y in CSS pixels of a context that is scaled to them. */
export function drawLegend(pen: CanvasRenderingContext2D, legend: Legend, x: number, y: number, width: number, colours: Colours): void {
  if (legend.names.length) return drawClasses(pen, legend, x, y, width, colours);
  const { palette, beyond, logarithmic } = legend;
  const counts = logarithmic ? [] : legend.counts; // its bins are those of an even scale
  const tallest = Math.max(1, ...counts);
  const wide = width / counts.length;
  pen.save();
  pen.translate(x, y);
  pen.fillStyle = colours.muted;
  pen.globalAlpha = 0.55;
  counts.forEach((count, k) => {
    if (count === 0) return;
    const tall = Math.max(1, Math.sqrt(count / tallest) * 30);
    pen.fillRect(k * wide, 32 - tall, Math.max(wide - 0.8, 0.6), tall);
  });
  pen.globalAlpha = 1;

  const gradient = pen.createLinearGradient(0, 0, width, 0);
  for (let k = 0; k <= 32; k++) gradient.addColorStop(k / 32, colourAt(palette, k / 32));
  pen.beginPath();
  pen.roundRect(0, TOP, width, BAR, [beyond[0] ? 0 : 2, beyond[1] ? 0 : 2, beyond[1] ? 0 : 2, beyond[0] ? 0 : 2]);
  pen.fillStyle = gradient;
  pen.fill();
  for (const [is, edge, out] of [
    [beyond[0], 0, -END],
    [beyond[1], width, END],
  ] as const) {
    if (!is) continue;
    pen.beginPath();
    pen.moveTo(edge, TOP);
    pen.lineTo(edge + out, TOP + BAR / 2);
    pen.lineTo(edge, TOP + BAR);
    pen.fillStyle = colourAt(palette, edge ? 1 : 0);
    pen.fill();
  }

  pen.font = "11px Inter, system-ui, sans-serif";
  pen.fillStyle = colours.muted;
  pen.strokeStyle = colours.muted;
  pen.lineWidth = 1;
  pen.textAlign = "left";
  for (const { at, text, left } of labelsOf(legend, width, (text) => pen.measureText(text).width)) {
    pen.beginPath();
    pen.moveTo(at, TOP + BAR);
    pen.lineTo(at, TOP + BAR + 5);
    pen.stroke();
    pen.fillText(text, left, 64);
  }
  pen.restore();
}

export interface Label {
  /** Where its tick stands and where its text begins, from the left end of the bar. */
  at: number;
  left: number;
  text: string;
}

/** Both ends, and the round numbers between them whose texts do not touch others. measure: how wide a text is. */
export function labelsOf(legend: Legend, width: number, measure: (text: string) => number): Label[] {
  const { range, signed, logarithmic } = legend;
  const [low, high] = range;
  const most = Math.max(2, Math.floor(width / APART));
  const step = tickStep(low, high, most);
  const size = Math.max(Math.abs(low), Math.abs(high));
  const words = (value: number) => {
    const even = Math.abs(value / step - Math.round(value / step)) < 1e-6; // an end may lie between round numbers
    const text = logarithmic ? rounded(value, 3) : toStep(value, even ? step : step / 10, size);
    return signed && value > 0 ? `+${text}` : text;
  };
  const label = (value: number, place: number): Label => {
    const [text, at] = [words(value), shareOf(legend, value) * width];
    return { at, text, left: at - place * measure(text) };
  };
  const [first, last] = [label(low, 0), label(high, 1)];
  const found = [first];
  for (const value of logarithmic ? logarithmicTicks(low, high, most) : ticks(low, high, most)) {
    const [before, next] = [found.at(-1) as Label, label(value, 0.5)];
    if (next.left < before.left + measure(before.text) + GAP || next.left + measure(next.text) + GAP > last.left) continue;
    found.push(next);
  }
  return [...found, last];
}

/** Colour and name of each class, in two columns where one does not hold them. */
function drawClasses(pen: CanvasRenderingContext2D, legend: Legend, x: number, y: number, width: number, colours: Colours): void {
  const { names, palette } = legend;
  const wide = names.length > 4 ? width / 2 : width;
  pen.font = "11px Inter, system-ui, sans-serif";
  pen.textAlign = "left";
  const rows = rowsOf(names.length);
  names.forEach(([number, name], k) => {
    const [left, top] = [x + Math.floor(k / rows) * wide, y + (k % rows) * ROW];
    pen.fillStyle = colourAt(palette, shareOf(legend, number));
    pen.fillRect(left, top + 2, 11, 11);
    pen.fillStyle = colours.ink;
    pen.fillText(`${number} ${name}`, left + 17, top + 11, wide - 24);
  });
}
