/** What the server tells, as it tells it: the messages of `docs/live.md` and the replies of the HTTP API. Facts only, no behaviour. */

import type { Checkpoint, Info, Ordered, Problem, Scenario, Variable } from "./contract";

export type { Checkpoint, Info, Levels, Ordered, Preview, Problem, Scenario, Variable } from "./contract";

export type Role = "view" | "steer" | "admin";

export interface Clock {
  /** ISO date and time of step 0; empty for models without dates. */
  start: string;
  /** Seconds, null for models that iterate without time. */
  step: number | null;
  calendar: string;
  units: string;
}
/**
 * A raster has lat0, dlat, lon0, dlon; a projected grid y0, dy, x0, dx in metres; points lists of lat and lon. A Gaussian raster has also
 * the latitude of each row and the edges of all, and its lat0 and dlat are those of even rows.
 */
export interface GridTold {
  kind: "raster" | "projected" | "points";
  shape: Record<string, number>;
  cells: number;
  digest: string;
  bounds: [number, number, number, number];
  lat0?: number;
  dlat?: number;
  lon0?: number;
  dlon?: number;
  y0?: number;
  dy?: number;
  x0?: number;
  dx?: number;
  ids?: string[];
  lat?: number[];
  lat_edges?: number[];
  lon?: number[];
  crs?: Record<string, unknown>;
  /** Base64 of zlib of bits, first cell in the highest bit. */
  active?: string;
}
export interface Steers {
  who: string;
  kind: string;
  id: number;
  at: number;
}
/** Scenario -> first and last step that can be shown again within a second; told again when the first changes, the last goes on by itself. */
export type Kept = Record<string, [number, number]>;

/** Variable, or variable and two scenarios -> ends of its colours. */
export type Ranges = Record<string, [number, number]>;

/** An event of the run file. */
export interface Planned {
  step: number;
  set: Record<string, number>;
  cells: number | null;
}
export interface Hello {
  type: "hello";
  run: string;
  model: string;
  title: string;
  steps: number | null;
  name: string;
  role: Role;
  read_only: boolean;
  steers: Steers | null;
  info: Info;
  clock: Clock;
  forcing: { first: string; last: string } | null;
  grid: GridTold;
  variables: Variable[];
  parameters: Record<string, number | string>;
  outputs: string[] | null;
  /** The variables that the run file sets. */
  given: string[] | null;
  /** The events of the run file: the step before which each happens, and how many cells it reaches, null for all. */
  planned: Planned[] | null;
  kept: Kept;
  ranges: Ranges;
  checkpoints: Checkpoint[];
  viewers: number;
  event: number;
}
export interface Happening {
  type: "event";
  number: number;
  kind: string;
  step: number;
  text: string;
  branch: number;
}
/** One stream of a `watch`, as the server shows it. */
export interface Watching {
  stream: number;
  scenario: string;
  variable: string;
  units: string;
  bits: 8 | 16;
  range: "auto" | [number, number];
  rate: number;
  stride: number;
  rows: number;
  columns: number;
  bounds: [number, number, number, number];
  row: number;
  column: number;
  pair: number[];
}
/** A line that is to be told after every step: a cell, row-major in the grid, or a region. */
export type Followed = { line: number; variable: string; scenario: string } & (
  | { cell: number }
  | { box: [number, number, number, number] }
  | { polygon: Place[] }
);
/** The values of steps from `first` on; of a region its mean by area, least and greatest value. */
export interface SeriesTold {
  type: "series";
  line: number;
  branch: number;
  first: number;
  values: (number | null)[][];
}
export type Message =
  | Hello
  | { type: "progress"; scenarios: Pick<Scenario, "name" | "branch" | "step" | "at" | "seq" | "target" | "date">[] }
  | Happening
  | { type: "cursor"; stream: number; cell: number; step: number; value: number | null; text: string }
  | SeriesTold
  | { type: "following"; lines: number[] }
  | ({ type: "info" } & Info)
  | ({ type: "command" | "ordered"; who: string; scenario: string } & Ordered)
  | { type: "checkpoints"; checkpoints: Checkpoint[] }
  | { type: "kept"; kept: Kept }
  | { type: "ranges"; ranges: Ranges }
  | { type: "viewers"; viewers: number }
  | { type: "watching"; streams: Watching[] }
  | { type: "pong"; ping: number }
  | { type: "problem"; problem: Problem };

/** A row of the journal. */
export interface LogRow {
  seq: number;
  at: number;
  who: string;
  kind: string;
  scenario: string;
  arguments: Record<string, unknown>;
  state: string;
  at_step: number | null;
  [member: string]: unknown;
}
/** A change that is still to come. */
export interface EventInfo {
  id: number;
  scenario: string;
  at_step: number | null;
  arguments: Record<string, unknown>;
  date: string | null;
  yearly: string | null;
  who: string;
}
export interface TriggerInfo {
  id: number;
  scenario: string;
  expression: string;
  action: "image" | "message" | "pause";
  text: string;
  variable: string | null;
  who: string;
  fired: number[];
  off: string | null;
}
/** Degrees, longitude before latitude. */
export type Place = [number, number];
/** Everywhere, a named region, or one that somebody drew. */
export type Region =
  | "all"
  | string
  | { box: [number, number, number, number] }
  | { polygon: Place[] }
  | { cell: Place }
  | { cells: number[] };
export interface Change {
  variable: string;
  operation?: "add" | "scale" | "set";
  value?: number;
  units?: string;
  region?: Region;
}
export type Moment = { step: number } | { date: string };
