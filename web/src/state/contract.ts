/** Replies of the HTTP API. Made by scripts/page_types.py from the contract of the server. */

/** Where a scenario stands. */
export interface Scenario {
  name: string;
  /** Number of the branch that it stands on. */
  branch: number;
  /** Steps done. */
  step: number;
  /** Number of the last change that was made at this step; 0 when none was. */
  seq: number;
  /** The step that it goes to. */
  target: number;
  /** The step that an engine has come to which does again what was done; null where none does. */
  at: number | null;
  /** The date that was done last. */
  date: string | null;
  state: string;
  /** Its steering version. */
  version: string;
  /** Number of the branch that it was made from. */
  parent: number | null;
  /** The step at which it was. */
  fork_step: number;
  /** The first step from which on it can be shown again within about a second. */
  kept: number | null;
  /** Why it cannot go on. */
  problem: unknown;
}

/** The process that computes. */
export interface Engine {
  /** How often an engine of this run was started. */
  epoch: number;
  pid: number;
  host: string;
}

/** A run as it is now. */
export interface Info {
  run: string;
  state:
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
  /** Steering version: changes with every command; what If-Match compares. */
  version: string;
  scenarios: Scenario[];
  /** Seconds that it has been starting, loading or compiling; null otherwise. */
  waited: number | null;
  engine: Engine | null;
  /** Steps a second. */
  rate: number | null;
  model: string | null;
  /** CF calendar of its dates. */
  calendar: string;
  /** Steps of the whole run. */
  steps: number | null;
  /** Whether the engine has not been heard of for a while. */
  silent: boolean;
  /** How often an engine has died. */
  deaths: number;
  /** Why the run has failed, or is paused. */
  problem: unknown;
}

/** The levels of a variable. Level 3 of ozone has the name ozone[3]; levels are counted from 0. */
export interface Levels {
  /** Of the dimension. */
  name: string;
  /** The coordinate of each level. */
  values: number[];
  units: string;
  standard_name: string;
  long_name: string;
  /** Where values of a vertical coordinate grow. */
  positive: "" | "down" | "up";
  /** Both ends of each level, if the model declares them. */
  bounds: [number, number][];
}

/** A variable as the model declares it. */
export interface Variable {
  name: string;
  dims: string[];
  units: string;
  dtype: string;
  role: "derived" | "diagnostic" | "forcing" | "parameter" | "state";
  long_name: string;
  /** Whether a request may set it. */
  settable: boolean;
  /** What to set in its place, when it is computed. */
  settable_by: string[];
  standard_name: string;
  /** Values below are refused. */
  low: number | null;
  /** Values above are refused. */
  high: number | null;
  initial: number | null;
  source: string;
  cell_methods: string;
  /** What its map shows; empty: it is one number of the whole grid and has none. */
  map: "" | "classes" | "field";
  /** Number -> name of each class. */
  classes: Record<string, string>;
  /** Whether maps of it have a logarithmic scale of colours. */
  logarithmic: boolean;
  /** Of the group of parameters that begins with this one. */
  heading: string;
  /** The vector that it is a component of. */
  vector: string;
  /** Where positive values of a component point. */
  toward: "" | "east" | "north" | "south" | "west";
  /** "float32": past steps that only a record holds are rounded to it. */
  rounded: string;
  /** Its levels; requests name one of them. */
  levels: Levels | null;
}

/** A durable checkpoint. */
export interface Checkpoint {
  name: string;
  branch: number;
  step: number;
  seq: number;
  bytes: number;
  pinned: boolean;
}

/** An order and what became of it. */
export interface Operation {
  /** Number of the command in the journal of its run. */
  id: number;
  run: string;
  kind: string;
  state: "cancelled" | "done" | "failed" | "queued" | "running";
  /** Steps done. */
  done: number | null;
  /** Steps to do. */
  total: number | null;
  /** Seconds that it may still take. */
  eta_s: number | null;
  result: unknown;
  /** Why it failed or was cancelled: code, text; by, kind, who of the command that cancelled it. */
  problem: unknown;
}

/** An order that was accepted: it is in the journal and will be carried out once, whatever dies. */
export interface Ordered {
  /** Number of the command in the journal of its run. */
  id: number;
  run: string;
  kind: string;
  state: "cancelled" | "done" | "failed" | "queued" | "running";
  /** Steps done. */
  done: number | null;
  /** Steps to do. */
  total: number | null;
  /** Seconds that it may still take. */
  eta_s: number | null;
  result: unknown;
  /** Why it failed or was cancelled: code, text; by, kind, who of the command that cancelled it. */
  problem: unknown;
  /** Steering version after it. */
  version: string;
  /** The step that the scenario now goes to. */
  target: number | null;
  /** The step at which it takes effect; null while the engine has not named one. */
  at_step: number | null;
}

/** What a change would do where the scenario stands now. Nothing was changed. */
export interface Preview {
  variable: string;
  units: string;
  /** The step of the values before. */
  step: number;
  /** Cells that it reaches. */
  cells: number;
  /** Their mean by area; null where there are no values. */
  before: number | null;
  after: number | null;
  /** Cells whose values would lie outside of what is allowed: then it would be refused. */
  outside: number;
}

/** What was wrong with a request (RFC 9457). Nothing was changed by it. */
export interface Problem {
  /** Where this kind of problem is explained. */
  type: string;
  title: string;
  status: number;
  /** What is wrong, with the value and what was expected, and what to do. */
  detail: string;
  /** The address that was asked. */
  instance: string;
  /** Name of the kind of problem; the end of type. */
  code: string;
  variable?: string | null;
  /** What was given. */
  value?: unknown;
  /** What would be taken. */
  allowed?: unknown;
  /** The name that is most like the one that was given. */
  nearest?: string | null;
  /** Where in the request. */
  position?: unknown;
}
