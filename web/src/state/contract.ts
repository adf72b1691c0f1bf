/** Replies of the HTTP API. Made by scripts/page_types.py from the contract of the server. */

/** The step and date of a scenario. */
export interface Scenario {
  name: string;
  /** Number of its branch. */
  branch: number;
  /** Steps done. */
  step: number;
  /** Number of the last change that was made at this step; 0 when none was. */
  seq: number;
  /** The step at which it will stop. */
  target: number;
  /** The step of an engine that repeats earlier steps; null otherwise. */
  at: number | null;
  /** The date of the last finished step; before the first step the one on which the run begins. */
  date: string | null;
  state: string;
  /** Its steering version. */
  version: string;
  /** Number of the branch from which it was made. */
  parent: number | null;
  /** The step of the order. */
  fork_step: number;
  /** The first step that can be shown again within about a second. */
  kept: number | null;
  /** The reason why it cannot continue. */
  problem: unknown;
}

/** The process that computes. */
export interface Engine {
  /** Number of starts of an engine of this run. */
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
  /** Whether the engine is silent. */
  silent: boolean;
  /** Number of crashes of engines. */
  deaths: number;
  /** The reason why the run has failed, or is paused. */
  problem: unknown;
  /** Of the global arrays of the models: their number, bytes, and what passed between hosts; empty without any. */
  arrays: Record<string, number>;
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
  /** Direction in which a vertical coordinate grows. */
  positive: "" | "down" | "up";
  /** Both ends of each level, if the model declares them. */
  bounds: [number, number][];
  /** Of hybrid levels ap [Pa] and b at each interface; the pressure is ap + b ps. */
  interfaces: [number, number][];
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
  /** Variables to set instead of a computed one. */
  settable_by: string[];
  standard_name: string;
  /** Values below are refused. */
  low: number | null;
  /** Values above are refused. */
  high: number | null;
  /** Whether values with a fraction are refused. */
  whole: boolean;
  initial: number | null;
  source: string;
  cell_methods: string;
  /** Kind of its map; empty: it is one number of the whole grid and has none. */
  map: "" | "classes" | "field";
  /** Number -> name of each class. */
  classes: Record<string, string>;
  /** Whether maps of it have a logarithmic scale of colours. */
  logarithmic: boolean;
  /** Of the group of parameters that begins with this one. */
  heading: string;
  /** The vector that it is a component of. */
  vector: string;
  /** Direction of positive values of a component. */
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

/** An order and its outcome. */
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
  /** Seconds that it will still take. */
  eta_s: number | null;
  /** Of an order that is done: of a change its variable, cells and the sums of their values before and after; of a checkpoint its name and its bytes; null before. */
  result: unknown;
  /** The reason of a failure or a cancellation: code, text; by, kind, who of the command that cancelled it. */
  problem: unknown;
}

/** An accepted order: it is in the journal and is carried out once, through any crash. */
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
  /** Seconds that it will still take. */
  eta_s: number | null;
  /** Of an order that is done: of a change its variable, cells and the sums of their values before and after; of a checkpoint its name and its bytes; null before. */
  result: unknown;
  /** The reason of a failure or a cancellation: code, text; by, kind, who of the command that cancelled it. */
  problem: unknown;
  /** Steering version after it. */
  version: string;
  /** The step at which the scenario will now stop. */
  target: number | null;
  /** The step at which it takes effect; null while the engine has not named one. */
  at_step: number | null;
}

/** The effect of a change at the present step of the scenario. It changes nothing. */
export interface Preview {
  variable: string;
  units: string;
  /** The step of the values before. */
  step: number;
  /** Cells that it reaches. */
  cells: number;
  /** Their mean by area, while the result of the change has sums; null where there are no values. */
  before: number | null;
  /** Their mean by area. */
  after: number | null;
  /** Cells whose values would lie outside their limits: the server would refuse the change. */
  outside: number;
}

/** A mistake in a request (RFC 9457). The request changed nothing. */
export interface Problem {
  /** Address of the explanation of this kind of problem. */
  type: string;
  title: string;
  status: number;
  /** The mistake, with the value, what was expected, and the remedy. */
  detail: string;
  /** The address of the request. */
  instance: string;
  /** Name of the kind of problem; the end of type. */
  code: string;
  variable?: string | null;
  /** The given value. */
  value?: unknown;
  /** The accepted values. */
  allowed?: unknown;
  /** The nearest name to the given one. */
  nearest?: string | null;
  /** Position in the request. */
  position?: unknown;
}
