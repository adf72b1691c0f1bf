/** Where the cells lie: rows from north to south, columns from west to east, cells numbered row by row from the north-west. */
import type { GridTold, Place } from "./told";

/** x, y in degrees, or in metres of a projected grid. Frames of points have them in rows of 4096. */
export interface Grid {
  kind: GridTold["kind"];
  digest: string;
  rows: number;
  columns: number;
  /** Western and northern edge. */
  west: number;
  north: number;
  /** From the western edge to the eastern, and from the southern to the northern. */
  span: readonly [number, number];
  /** Width and height of a cell, positive; of points about the distance to the next. */
  dx: number;
  dy: number;
  /** Length of a unit of x in units of y in the middle of the grid: the cosine of the latitude, 1 of a projected grid. */
  narrowing: number;
  /** Active cells. */
  cells: number;
  crs: Record<string, unknown>;
  /** Whether a cell is inside the mask; null until it was read. */
  active: Uint8Array | null;
  /** Longitude and latitude of each cell where rows and columns do not say them: of points, and of a projected grid once they were fetched. */
  places: readonly (Place | undefined)[] | null;
  /** Latitudes of the rows of a Gaussian grid, and their edges, one more; null of others. Such rows are drawn evenly. */
  latitudes: { rows: readonly number[]; edges: readonly number[] } | null;
  /** Names of points. */
  ids: readonly string[] | null;
}

const POINTS_A_ROW = 4096;
const METRES_A_DEGREE = 111_195; // of latitude

export function gridOf(told: GridTold): Grid {
  const latitudes = told.lat_edges ? { rows: told.lat ?? [], edges: told.lat_edges } : null;
  const common = { kind: told.kind, digest: told.digest, cells: told.cells, crs: told.crs ?? {}, active: null, latitudes };
  if (told.kind === "points") return { ...common, ...pointsOf(told) };
  const projected = told.kind === "projected";
  const [first, step, across, wide] = projected ? [told.y0, told.dy, told.x0, told.dx] : [told.lat0, told.dlat, told.lon0, told.dlon];
  const rows = told.shape[projected ? "y" : "lat"];
  const columns = told.shape[projected ? "x" : "lon"];
  if (
    first === undefined ||
    step === undefined ||
    across === undefined ||
    wide === undefined ||
    rows === undefined ||
    columns === undefined
  ) {
    throw new Error(`A grid of the kind "${told.kind}" was told without its axes.`);
  }
  const dy = Math.abs(step);
  const north = (step < 0 ? first : first + (rows - 1) * step) + dy / 2;
  const middle = ((north - (rows * dy) / 2) * Math.PI) / 180;
  const span = [columns * wide, rows * dy] as const;
  const narrowing = projected ? 1 : Math.cos(middle);
  return { ...common, rows, columns, west: across - wide / 2, north, span, dx: wide, dy, narrowing, places: null, ids: null };
}

function pointsOf({ lon = [], lat = [], ids }: GridTold): Omit<Grid, "kind" | "digest" | "cells" | "crs" | "active" | "latitudes"> {
  const places = lon.map((longitude, index): Place => [longitude, lat[index] ?? 0]);
  const least = (values: readonly number[]) => values.reduce((one, other) => Math.min(one, other), values[0] ?? 0);
  const most = (values: readonly number[]) => values.reduce((one, other) => Math.max(one, other), values[0] ?? 0);
  const size = Math.max(most(lon) - least(lon), most(lat) - least(lat), 0.1);
  const apart = size / Math.max(1, Math.sqrt(places.length));
  const [west, north] = [least(lon) - apart, most(lat) + apart];
  const span = [most(lon) + apart - west, north - least(lat) + apart] as const;
  const columns = Math.max(1, Math.min(places.length, POINTS_A_ROW));
  const narrowing = Math.cos(((north - span[1] / 2) * Math.PI) / 180);
  const rows = Math.ceil(places.length / columns);
  return { rows, columns, west, north, span, dx: apart, dy: apart, narrowing, places, ids: ids ?? null };
}

/** The mask as it is told: base64 of zlib of bits, the first cell in the highest one. */
export async function activeOf(told: GridTold): Promise<Uint8Array | null> {
  if (!told.active) return null;
  const packed = Uint8Array.from(atob(told.active), (character) => character.charCodeAt(0));
  const bits = new Uint8Array(await unpacked(packed).arrayBuffer());
  const { rows, columns } = gridOf(told);
  return Uint8Array.from({ length: rows * columns }, (_, cell) => ((bits[cell >> 3] ?? 0) >> (7 - (cell & 7))) & 1);
}

/** What zlib has packed. */
export function unpacked(packed: BlobPart): Response {
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")));
}

/** Index of the cell at a longitude and latitude, null outside the grid, and of a projected grid while its places are not there. */
export function cellOf(grid: Grid, [x, y]: Place): number | null {
  return grid.kind === "raster" ? cellAt(grid, x, y) : nearest(grid, x, y);
}

/** Index of the cell at a place, null outside the grid; the nearest of points that is no farther than they are apart. */
export function cellAt(grid: Grid, x: number, y: number): number | null {
  if (grid.kind === "points") return nearest(grid, x, y);
  const column = Math.floor((x - grid.west) / grid.dx);
  const row = Math.floor((grid.north - y) / grid.dy);
  return column >= 0 && row >= 0 && column < grid.columns && row < grid.rows ? row * grid.columns + column : null;
}

function nearest({ kind, places, dx, narrowing }: Grid, x: number, y: number): number | null {
  let [found, closest]: [number | null, number] = [null, kind === "projected" ? dx / METRES_A_DEGREE : dx];
  places?.forEach((place, cell) => {
    const distance = place ? Math.hypot((place[0] - x) * narrowing, place[1] - y) : closest;
    if (distance < closest) [found, closest] = [cell, distance];
  });
  return found;
}

/** A place with its longitude as the grid counts it: 286 for -74 on a grid from 0 to 360. */
export function asCounted({ kind, west, span }: Grid, [x, y]: readonly [number, number]): Place {
  return kind === "projected" ? [x, y] : [x + 360 * Math.round((west + span[0] / 2 - x) / 360), y];
}

/** Row and column of a cell. */
export function rowOf(grid: Grid, cell: number): [number, number] {
  return [Math.floor(cell / grid.columns), cell % grid.columns];
}

/** The centre of a cell. Rounded to what its edges were told by, so that it can be asked for and printed. */
export function centreOf(grid: Grid, cell: number): Place {
  if (grid.kind === "points") return grid.places?.[cell] ?? [grid.west, grid.north];
  const [row, column] = rowOf(grid, cell);
  const round = (value: number) => Math.round(value * 1e7) / 1e7;
  return [round(grid.west + (column + 0.5) * grid.dx), round(grid.latitudes?.rows[row] ?? grid.north - (row + 0.5) * grid.dy)];
}

/** Longitude and latitude of a cell; null of a projected grid whose places were not fetched yet. */
export function degreesOf(grid: Grid, cell: number): Place | null {
  return grid.kind === "raster" ? centreOf(grid, cell) : (grid.places?.[cell] ?? null);
}

const RADIUS = 6371.0088; // [km] mean radius of the Earth; Moritz (2000)

/** Area of a cell in km2, on a sphere; of a projected grid in its own plane, null of points. */
export function areaOf(grid: Grid, cell: number): number | null {
  if (grid.kind === "points") return null;
  if (grid.kind === "projected") return (grid.dx * grid.dy) / 1e6;
  const [row] = rowOf(grid, cell);
  const sine = (latitude: number) => Math.sin((Math.max(-90, Math.min(90, latitude)) * Math.PI) / 180); // a row on a pole ends there
  const edge = (index: number) => grid.latitudes?.edges[index] ?? grid.north - index * grid.dy;
  return RADIUS ** 2 * ((grid.dx * Math.PI) / 180) * (sine(edge(row)) - sine(edge(row + 1)));
}
