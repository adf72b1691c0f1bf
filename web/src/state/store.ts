/** The one object that the page is a picture of, and who is told when a part of it changes. */
import type { Grid } from "./grid";
import type {
  Checkpoint,
  Clock,
  EventInfo,
  Followed,
  Happening,
  Info,
  Kept,
  LogRow,
  Place,
  Planned,
  Ranges,
  Role,
  SeriesTold,
  Steers,
  TriggerInfo,
  Variable,
  Watching,
} from "./told";
import type { View } from "./view";

export type Link = "connecting" | "live" | "lost" | "refused" | "ended";
/** retry_at: milliseconds since 1970 of the next attempt; skipped: frames that came too fast. */
export interface Connection {
  link: Link;
  retry_at: number | null;
  skipped: number;
  reason: string;
}
/** Who looks. may_steer: whether orders are taken from them, by role and by a server that is not read-only. */
export interface Viewer {
  name: string;
  role: Role;
  may_steer: boolean;
}
/** What a run is and never changes while the page is open. */
export interface Run {
  name: string;
  title: string;
  model: string;
  steps: number | null;
  clock: Clock;
  forcing: { first: string; last: string } | null;
  variables: Variable[];
  parameters: Record<string, number | string>;
  /** What is recorded, by variable. */
  outputs: string[];
  /** The variables that the run file sets. */
  given: string[];
  /** The events of the run file. */
  planned: Planned[];
}
/** What is known of a frame that is shown, but for its cells. live: the newest, not one of a past date. */
export interface Shown {
  stream: number;
  scenario: string;
  variable: string;
  units: string;
  step: number;
  live: boolean;
}
/** 1: one; 2: two scenarios; 3: and their difference; 4: two scenarios over each other, with a line to swipe; 5: two variables. */
export type Maps = 1 | 2 | 3 | 4 | 5;
export type Theme = "auto" | "light" | "dark";
/** What the viewer chose to see; it goes into a link. */
export interface Look {
  variable: string;
  /** The variable of the second map where there are two. */
  other: string;
  /** The vector that is drawn as arrows; "": none. */
  arrows: string;
  /** One or two; the second is the one compared with. */
  scenarios: string[];
  maps: Maps;
  /** Whether a grid of the whole Earth is shown on a globe. */
  globe: boolean;
  palette: string;
  /** The range typed in or held; null: the run's, which is the same for all viewers. */
  range: [number, number] | null;
  smooth: boolean;
  /** Whether the scale of colours is logarithmic; null: as suits the variable. */
  logarithmic: boolean | null;
  theme: Theme;
}
/** A cell that is followed. cell: row-major index in the grid; colour: 1 to 6. */
export interface Pin {
  cell: number;
  place: Place;
  colour: number;
}
export type Selection = { box: [number, number, number, number] } | { polygon: Place[] };
/** The exact value of a cell as the server told it. */
export interface Reading {
  cell: number;
  step: number;
  value: number | null;
  text: string;
}
/** The cell under the pointer or the cross. readings: one a stream, by its number. */
export interface Cursor {
  cell: number | null;
  readings: Record<number, Reading>;
}
/** Steps that have no value, and why, in the server's words. open: nobody has asked yet that they be computed again. */
export interface Gap {
  first: number;
  last: number;
  reason: string;
  open?: boolean;
}
/** One line of the figure: a pinned cell (pin: its colour) or the region (pin 0, cell -1) in one scenario. values: null where there is none. */
export interface Line {
  variable: string;
  pin: number;
  cell: number;
  place: Place | null;
  selection?: Selection;
  /** How many the region has. */
  cells?: number | null;
  scenario: string;
  branch: number;
  steps: number[];
  values: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
  gaps: Gap[];
  /** The last step that was asked for, and the version of its scenario then. */
  end: number;
  version?: string;
  /** The step whose value was asked for while the scenario stood there, with what had been set there: not its value in the past. 0: none. */
  present?: number;
  /** When the server told a step by itself the last time [ms]. */
  heard?: number;
  /** Whether steps were left out, of each piece all but the least and the greatest value. */
  thinned: boolean;
}
export type Weight = "good" | "warn" | "bad";
/** A message to the viewer. undo: what a button beside it does. */
export interface Notice {
  id: number;
  weight: Weight;
  text: string;
  detail?: string;
  actions?: { label: string; act: () => void }[];
  /** Milliseconds after which it goes by itself; without it, when it is closed. */
  lasts?: number;
  /** How often it was told while it was shown. */
  times: number;
}
export type Pane = "look" | "steer" | "scenarios" | "log";
export type Dialog = "share" | "save" | "help" | "runs" | null;

/** What the page knows and shows; a new one is that of a page that begins. */
export class State {
  connection: Connection = { link: "connecting", retry_at: null, skipped: 0, reason: "" };
  viewer: Viewer | null = null;
  steers: Steers | null = null;
  /** How many pages and programs look at the run, this one among them. */
  viewers = 1;
  /** All runs of the server; null until it has told. */
  runs: Info[] | null = null;
  run: Run | null = null;
  info: Info | null = null;
  /** Steps of the maps that came after `info`, by scenario; `scenarioNow` has both. */
  reached: Record<string, number> = {};
  /** [ms since 1970] when what people wait for began; null where they wait for nothing. */
  since: number | null = null;
  grid: Grid | null = null;
  kept: Kept = {};
  checkpoints: Checkpoint[] = [];
  events: EventInfo[] = [];
  triggers: TriggerInfo[] = [];
  happenings: Happening[] = [];
  log: LogRow[] = [];
  watching: Watching[] = [];
  shown: Shown[] = [];
  /** By scenario, where the variable is one number of the whole grid. */
  numbers: Record<string, number> = {};
  look: Look = {
    ...{ variable: "", other: "", arrows: "", scenarios: ["main"], maps: 1, globe: false },
    ...{ palette: "batlow", range: null, smooth: false, logarithmic: null, theme: "auto" },
  };
  /** The scenario that orders go to, whichever are on view; "" until it is known. */
  steered = "";
  view: View | null = null;
  /** Where the line between two scenarios lies that are shown over each other, from 0 at the left edge to 1. */
  swipe = 0.5;
  cursor: Cursor = { cell: null, readings: {} };
  pins: Pin[] = [];
  selection: Selection | null = null;
  series: Line[] = [];
  /** What the server is to tell after every step, a line each, and what it told last. */
  followed: Followed[] = [];
  stepped: SeriesTold | null = null;
  /** Whether gaps of lines are filled by computing them again. */
  filling = true;
  /** The step under the pointer in the chart, and the steps that it is drawn out to. */
  pointed: number | null = null;
  zoomed: [number, number] | null = null;
  /** Ranges of colours, one for all viewers: by variable, of a difference by variable and both scenarios, with blanks between. */
  ranges: Ranges = {};
  /** A past step that is looked at while the run stands elsewhere; null: the newest. */
  preview: number | null = null;
  /** A step still to come that was pointed at on the bar of time; null: none. */
  aimed: number | null = null;
  /** Whether what was computed is played, which orders nothing. */
  playing = false;
  /** First and last step of what is played again and again; null: all. */
  loop: [number, number] | null = null;
  /** A past step that the server could not show; null: none. */
  not_at_hand: number | null = null;
  /** Steps a second that a run is asked for; null: as fast as can be. */
  speed: number | null = 10;
  /** Frames a second that the picture is asked for. */
  frame_rate = 60;
  pane: Pane = "look";
  dialog: Dialog = null;
  /** Whether keys of one letter are heard. */
  letter_keys = true;
  notices: Notice[] = [];
}

export const FIRST: Readonly<State> = new State();

/** A part of the state by its name, or a part of that: "look.variable". */
export type Part =
  | { [Name in keyof State]: Name | `${Name}.${keyof NonNullable<State[Name]> & string}` }[keyof State]
  | "info.scenarios.length";

interface Follower {
  /** The members of the state that it selects from; null: any. */
  names: ReadonlySet<string> | null;
  select: (state: State) => unknown;
  heard: (value: never, state: State) => void;
  last: unknown;
}

/** Whether two selected values are the same: equal, or lists of the same members. */
function same(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
  return one.every((value, index) => Object.is(value, other[index]));
}

export class Store {
  private state: State;
  private readonly followers = new Set<Follower>();
  private notice = 0;

  constructor(first: Partial<State> = {}) {
    this.state = { ...FIRST, ...first };
  }

  /** The state as it is. Parts are replaced, never changed in place. */
  get now(): Readonly<State> {
    return this.state;
  }

  /** Replaces parts; whoever follows one of them is told at once. */
  change(parts: Partial<State>): void {
    this.state = { ...this.state, ...parts };
    const names = Object.keys(parts);
    for (const follower of [...this.followers]) {
      if (follower.names && !names.some((name) => follower.names?.has(name))) continue;
      const value = follower.select(this.state);
      if (same(value, follower.last)) continue;
      follower.last = value;
      follower.heard(value as never, this.state);
    }
  }

  /** Replaces members of the choice of what is seen. */
  look(parts: Partial<Look>): void {
    this.change({ look: { ...this.state.look, ...parts } });
  }

  /** Tells of what is selected from the state now and whenever it changes. Returns what ends that. A list is compared member by member. */
  subscribe<T>(select: (state: State) => T, heard: (value: T, state: State) => void, names: Follower["names"] = null): () => void {
    const follower: Follower = { names, select, heard, last: select(this.state) };
    this.followers.add(follower);
    heard(follower.last as T, this.state);
    return () => this.followers.delete(follower);
  }

  /** Tells of the state now and whenever one of these parts changes. Returns what ends that. */
  follow(parts: readonly Part[], heard: (state: State) => void): () => void {
    const ways = parts.map((part) => part.split("."));
    const within = (whole: unknown, name: string) => (whole as Record<string, unknown> | null)?.[name];
    return this.subscribe(
      (state) => ways.map((way) => way.reduce<unknown>(within, state)),
      (_, state) => heard(state),
      new Set(ways.map(([name = ""]) => name)),
    );
  }

  /** Shows a message, instead of an equal one that is shown; returns its number. */
  notify(notice: Omit<Notice, "id" | "times">): number {
    this.notice += 1;
    const told = JSON.stringify([notice.weight, notice.text, notice.detail]);
    const equal = ({ weight, text, detail, actions }: Notice) => !actions && JSON.stringify([weight, text, detail]) === told;
    const before = notice.actions ? undefined : this.state.notices.find(equal); // an action is of its own order
    const others = this.state.notices.filter((each) => each !== before);
    this.change({ notices: [...others, { ...notice, id: this.notice, times: (before?.times ?? 0) + 1 }] });
    return this.notice;
  }

  /** Takes a message away. */
  dismiss(id: number): void {
    this.change({ notices: this.state.notices.filter((notice) => notice.id !== id) });
  }
}
