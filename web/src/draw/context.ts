/** Where on the earth a map is: borders of countries and states, and towns, of which as many are named as have room. */
import { asCounted, type Grid } from "../state/grid";
import { isSeen, toPixel } from "../state/view";
import { type Coast, type Ring, shoreOf } from "./coast";
import { clipped, graticuleOf, placed, type Scene, write } from "./lines";

export interface Town {
  name: string;
  place: readonly [number, number];
  /** To the nearest larger town. */
  kilometres: number;
}
export interface Context {
  countries: Coast;
  states: Coast;
  /** The loneliest first. */
  towns: readonly Town[];
}
/** As web/make_places.py writes it, in hundredths of a degree: a line is a point and steps. */
export interface PlacesFile {
  countries: number[][];
  states: number[][];
  names: string[];
  places: number[];
  kilometres: number[];
}
export const NOWHERE: Context = { countries: [], states: [], towns: [] };
const APART = 70; // [CSS pixel] from a town to the nearest larger one, below which it has no name on the map
const DEGREE = 111.2; // [km]

export function contextOf({ countries, states, names, places, kilometres }: PlacesFile): Context {
  const lines = (all: number[][]) => all.map((numbers) => shoreOf(lineOf(numbers)));
  const towns = names.map((name, index): Town => {
    const [x = 0, y = 0] = places.slice(2 * index, 2 * index + 2);
    return { name, place: [x / 100, y / 100], kilometres: kilometres[index] ?? 0 };
  });
  return { countries: lines(countries), states: lines(states), towns };
}

function lineOf(numbers: readonly number[]): Ring {
  let [x, y] = [0, 0];
  const line: [number, number][] = [];
  for (let at = 0; at < numbers.length; at += 2) {
    x += numbers[at] ?? 0;
    y += numbers[at + 1] ?? 0;
    line.push([x / 100, y / 100]);
  }
  return line;
}

/** The context of a grid: one that is projected has none, for it is in degrees. */
export function contextFor(context: Context, grid: Grid): Context {
  return grid.kind === "projected" ? NOWHERE : context;
}

/** margin: CSS pixels at the top that the title covers. */
export function drawContext(pen: CanvasRenderingContext2D, context: Context, scene: Scene, margin: number): void {
  clipped(pen, scene.panel, () => {
    drawBorders(pen, context, scene);
    drawTowns(pen, context, scene, margin);
  });
}

function drawBorders(pen: CanvasRenderingContext2D, { countries, states }: Context, scene: Scene): void {
  pen.strokeStyle = scene.colours.coast;
  for (const [borders, width, dash] of [
    [countries, 0.9, []],
    [states, 0.7, [4, 3]],
  ] as const) {
    pen.lineWidth = width * scene.ratio;
    pen.setLineDash(dash.map((length) => length * scene.ratio));
    pen.stroke(placed(borders, "line", scene));
  }
  pen.setLineDash([]);
}

/** Names beside dots; each keeps clear of those before it, of the edges and of the title. */
function drawTowns(pen: CanvasRenderingContext2D, { towns }: Context, scene: Scene, margin: number): void {
  const { view, grid, panel, ratio, colours } = scene;
  const labels = view.globe ? graticuleOf(scene, margin).labels : []; // those at the edges are kept clear of below
  const taken = labels.map(([, x, y]): [number, number, number, number] => [x - 24 * ratio, y - 12 * ratio, x + 32 * ratio, y + 4 * ratio]);
  for (const { name, place, kilometres } of towns) {
    if ((kilometres / DEGREE) * view.zoom < APART * ratio) break;
    if (!isSeen(view, grid, place)) continue;
    const [x, y] = toPixel(view, grid, panel, ...asCounted(grid, place));
    const wide = (10 + 6 * name.length) * ratio;
    const before = x + wide > panel.x + panel.width; // at the right edge the name stands before its dot
    const [left, right] = before ? [x - wide, x + 4 * ratio] : [x - 4 * ratio, x + wide];
    const inside = left > panel.x + 46 * ratio && right < panel.x + panel.width && y > panel.y + margin * ratio;
    if (!inside || y > panel.y + panel.height - 50 * ratio) continue;
    const box = [left, y - 9 * ratio, right, y + 9 * ratio] as [number, number, number, number];
    if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    pen.beginPath();
    pen.arc(x, y, 2.2 * ratio, 0, 2 * Math.PI);
    pen.lineWidth = 2 * ratio;
    pen.strokeStyle = colours.halo;
    pen.stroke();
    pen.fillStyle = colours.ink;
    pen.fill();
    write(pen, scene, name, x + (before ? -6 : 6) * ratio, y + 4 * ratio, before ? "right" : "left");
  }
}
