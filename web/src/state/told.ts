/** What the server tells, as it tells it: the messages of `docs/live.md` and the replies of the HTTP API. Facts only, no behaviour. */

export type Role = "view" | "steer" | "admin";
export type RunState =
  | "absent"
  | "archived"
  | "compiling"
  | "deleted"
  | "failed"
  | "finished"
  | "loading"
  | "paused"
  | "ready"
  | "recovering"
  | "starting"
  | "stepping";

export interface Scenario {
  name: string;
  branch: number;
  step: number;
  /** The step of an engine that does again what was done before; null where none does. */
  at: number | null;
  seq: number;
  target: number;
  date: string | null;
  state: string;
  version: string;
  parent: number | null;
  fork_step: number;
  problem: unknown;
}
/** A run as it stands: `GET /runs/{run}` and the message `info`. */
export interface Info {
  run: string;
  state: RunState;
  /** [s] for which it has been starting, loading or compiling. */
  waited: number | null;
  version: string;
  scenarios: Scenario[];
  engine: { epoch: number; pid: number; host: string } | null;
  rate: number | null;
  model: string | null;
  calendar: string;
  steps: number | null;
  silent: boolean;
  deaths: number;
  problem: unknown;
}
export interface Variable {
  name: string;
  units: string;
  long_name: string;
  standard_name: string;
  role: "derived" | "diagnostic" | "forcing" | "parameter" | "state";
  dtype: string;
  low: number | null;
  high: number | null;
  settable: boolean;
  settable_by: string[];
  initial: number | null;
  source: string;
  dims: string[];
  /** What its map shows; empty: it is one number of the whole grid and has none. */
  map: "field" | "classes" | "";
  /** Number -> name of each class. */
  classes: Record<string, string>;
  /** Whether maps of it have a logarithmic scale of colours. */
  logarithmic: boolean;
  /** Of the group of parameters that begins with this one. */
  heading: string;
  /** The vector that it is a component of, and where its positive values point; empty: of none. */
  vector: string;
  toward: "east" | "north" | "south" | "west" | "";
  levels: Levels | null;
}
/** The levels of a variable: the coordinate of each. */
export interface Levels {
  name: string;
  values: number[];
  units: string;
  long_name: string;
  positive: "up" | "down" | "";
}
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
export interface Checkpoint {
  name: string;
  branch: number;
  step: number;
  seq: number;
  bytes: number;
  pinned: boolean;
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
  kept: Kept;
  ranges: Ranges;
  checkpoints: Checkpoint[];
  viewers: number;
  event: number;
}
export interface Progress {
  type: "progress";
  scenarios: Pick<Scenario, "name" | "branch" | "step" | "at" | "seq" | "target" | "date">[];
}
export interface Happening {
  type: "event";
  number: number;
  kind: string;
  step: number;
  text: string;
  branch: number;
}
export interface Operation {
  id: number;
  run: string;
  kind: string;
  state: "cancelled" | "done" | "failed" | "queued" | "running";
  done: number | null;
  total: number | null;
  eta_s: number | null;
  result: unknown;
  problem: unknown;
}
export interface Ordered extends Operation {
  version: string;
  target: number | null;
  at_step: number | null;
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
export interface CursorTold {
  type: "cursor";
  stream: number;
  cell: number;
  step: number;
  value: number | null;
  text: string;
}
/** What a change would do to the cells that it reaches. before, after: means by area; outside: cells that would leave the limits. */
export interface Preview {
  variable: string;
  units: string;
  step: number;
  cells: number;
  before: number | null;
  after: number | null;
  outside: number;
}
export interface Problem {
  status: number;
  code: string;
  title: string;
  detail: string;
  variable?: string | null;
  value?: unknown;
  allowed?: unknown;
  nearest?: string | null;
  position?: unknown;
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
  | Progress
  | Happening
  | CursorTold
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
  | ({ type: "problem" } & Problem);

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
