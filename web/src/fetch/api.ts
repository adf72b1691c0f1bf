/** The requests that the page makes of a run, typed. Addresses are relative to the page, so that it works behind any prefix. */
import { decodeArray, type RawArray } from "../decode/array";
import type * as told from "../state/told";
import { refusedBy, Unreachable } from "./problem";

/** match: the version that the order was made for (412 when somebody has ordered since). */
export interface OrderOptions {
  match?: string | undefined;
  /** Seconds to wait for its end, at most 5. */
  wait?: number;
}
export interface DataQuery {
  scenario?: string;
  /** latest, a date, two dates with a slash, or step:n. */
  time?: string;
  box?: readonly number[];
  polygon?: readonly told.Place[];
  width?: number;
  height?: number;
  packed?: boolean;
  reduce?: "mean" | "min" | "max" | "first";
}
export interface Series {
  variable: string;
  units: string;
  scenario: string;
  steps: number[];
  dates: (string | null)[];
  places: told.Place[];
  /** One list a place; of a region its mean by area, least and greatest value. */
  values: (number | null)[][];
  gaps: { first: number; last: number; reason: string }[];
  thinned: { steps: number; pieces: number } | null;
  cells: number | null;
}
export interface Model {
  model: string;
  version: string | null;
  problem: string | null;
}
/** toml: a run file. launcher: one that the server has a name for. */
export type NewRun = { name: string; launcher?: string; toml: string };
export type StepOrder = { scenario: string; speed?: number } & ({ steps: number } | { until: string } | { end: true });
export type SetOrder = told.Change & { scenario: string; when?: "after" | "now" | told.Moment };
export type EventOrder = told.Change & { scenario: string; when: told.Moment | { yearly: string } };
export type BranchOrder = { name: string; from: { scenario: string; step?: number } };
export type TriggerOrder = Pick<told.TriggerInfo, "scenario" | "expression" | "action"> & { text?: string; variable?: string };

type SeriesPlace = { at: readonly told.Place[] } | Pick<DataQuery, "box" | "polygon">;
type Words = Record<string, string | number | boolean | string[] | undefined>;

function query(words: Words): string {
  const given = Object.entries(words).flatMap(([name, value]) => [value ?? []].flat().map((each) => [name, String(each)]));
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

function wordsOf({ packed, box, polygon, at, ...rest }: DataQuery & { at?: readonly told.Place[] }): Words {
  return { ...rest, at: at?.map(String), box: box?.join(","), polygon: polygon?.flat().join(","), packed: packed ? 1 : undefined };
}

/** All methods raise Refused (the server said no, and why) or Unreachable (no answer came). */
export class Api {
  constructor(
    /** Where the page lies, ending in a slash. */
    readonly page: URL,
    /** Which is asked about; "" until the runs are known. */
    public run: string,
    private readonly request: typeof fetch = (...given) => fetch(...given),
  ) {}

  // ---- the server ----
  whoami = () => this.get<{ name: string; role: told.Role; expires: string | null; requests_left: number | null }>("whoami");
  login = (token: string) => this.send<null>("POST", "login", { token });
  runs = async () => (await this.get<{ runs: told.Info[] }>("runs")).runs;
  models = async () => (await this.get<{ models: Model[] }>("models")).models;
  beginRun = (run: NewRun) => this.send<told.Info>("POST", "runs", run, { "Idempotency-Key": newKey() });
  /** Starts the engine, of a run that failed, too. */
  start = () => this.send<told.Info>("POST", this.path("start"), {});
  endRun = () => this.send<{ run: string; state: string }>("DELETE", `runs/${encodeURIComponent(this.run)}?keep=data`);

  // ---- looking ----
  events = async () => (await this.get<{ events: told.EventInfo[] }>(this.path("events"))).events;
  triggers = async () => (await this.get<{ triggers: told.TriggerInfo[] }>(this.path("triggers"))).triggers;
  /** Rows of the journal behind the row `after`, page by page: a page that is not full is the last one. */
  log = async (after = 0, limit = 1000): Promise<told.LogRow[]> => {
    const rows: told.LogRow[] = [];
    let page: told.LogRow[];
    do {
      const text = await (await this.ask(this.path(`log${query({ after: rows.at(-1)?.seq ?? after, limit })}`))).text();
      page = text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as told.LogRow);
      rows.push(...page);
    } while (page.length === limit);
    return rows;
  };
  data = async (variable: string, wanted: DataQuery = {}): Promise<RawArray> => {
    const answer = await this.ask(this.path(`data/${variable}${query({ ...wordsOf(wanted), format: "raw" })}`));
    return decodeArray(await answer.arrayBuffer());
  };
  /** Where the cells of a region lie: packed numbers, row-major numbers in the grid, longitudes, latitudes. */
  cells = async (region: { box?: readonly number[]; polygon?: readonly told.Place[] }): Promise<RawArray> => {
    const answer = await this.ask(this.path(`cells${query(wordsOf(region))}`));
    return decodeArray(await answer.arrayBuffer());
  };
  /** Values at places or of a region over time. */
  series = (variable: string, where: SeriesPlace, wanted: { scenario?: string; time?: string; points?: number; compute?: 0 | 1 } = {}) =>
    this.get<Series>(this.path(`series/${variable}${query({ ...wordsOf(where), ...wanted })}`));
  /** Round ends of colours that fit one map. */
  fit = (variable: string, scenario: string, time: string) =>
    this.get<{ low: number; high: number }>(this.path(`fit/${variable}${query({ scenario, time })}`));
  /** A variable as a file. */
  file = async (variable: string, wanted: DataQuery, format: "csv" | "netcdf") =>
    (await this.ask(this.path(`data/${variable}${query({ ...wordsOf(wanted), format })}`))).blob();
  /** The records of a variable as a film. bar: shows each second the part that is made; null once it is hidden. */
  film = async (variable: string, wanted: Words, bar: { value: number; hidden: unknown }): Promise<Blob | null> => {
    for (bar.value = 0; !bar.hidden; ) {
      const answer = await this.ask(this.path(`film/${variable}.mp4${query(wanted)}`));
      if (answer.status === 200) return answer.blob();
      bar.value = ((await answer.json()) as { part: number }).part;
    }
    return null;
  };
  liveAddress = () => this.address(this.path("live")).href.replace(/^http/, "ws");

  // ---- steering: each is an order of its own, carried out once however often it is sent ----
  step = (order: StepOrder, options?: OrderOptions) => this.order("POST", "step", order, options);
  pause = (scenario: string, options?: OrderOptions) => this.order("POST", "pause", { scenario }, options);
  set = (order: SetOrder, options?: OrderOptions) => this.order("POST", "set", order, options);
  /** What a change would do; nothing is ordered. */
  preview = (order: SetOrder) => this.send<told.Preview>("POST", this.path("preview"), order);
  addEvent = (order: EventOrder, options?: OrderOptions) => this.order("POST", "events", order, options);
  removeEvent = (id: number, options?: OrderOptions) => this.order("DELETE", `events/${id}`, undefined, options);
  addTrigger = (order: TriggerOrder, options?: OrderOptions) => this.order("POST", "triggers", order, options);
  removeTrigger = (id: number, options?: OrderOptions) => this.order("DELETE", `triggers/${id}`, undefined, options);
  branch = (order: BranchOrder, options?: OrderOptions) => this.order("POST", "scenarios", order, options);
  /** left: the scenario that a rewind has left, which is undone. */
  rewind = (scenario: string, to: told.Moment | { left: string }, options?: OrderOptions) =>
    this.order("POST", `scenarios/${encodeURIComponent(scenario)}/rewind`, to, options);
  rename = (scenario: string, name: string, options?: OrderOptions) =>
    this.order("POST", `scenarios/${encodeURIComponent(scenario)}/rename`, { name }, options);
  /** Nobody goes on with a scenario; it can still be looked at, under another name. */
  leave = (scenario: string, options?: OrderOptions) =>
    this.order("DELETE", `scenarios/${encodeURIComponent(scenario)}`, undefined, options);
  /** Goes back to before what was done at a step: a rewind keeps that, and before step 0 there is only the beginning. */
  before = (scenario: string, step: number, options?: OrderOptions) =>
    step > 0 ? this.rewind(scenario, { step: step - 1 }, options) : this.restart(scenario, options);
  restart = (scenario: string, options?: OrderOptions) => this.order("POST", "restart", { scenario }, options);

  /** Where an order goes, for a command line that does the same. */
  orderAddress = (path: string) => this.address(this.path(path)).href;

  // ---- how ----
  private path(rest = ""): string {
    return `runs/${encodeURIComponent(this.run)}${rest ? `/${rest}` : ""}`;
  }
  private address(path: string): URL {
    return new URL(`api/v1/${path}`, this.page);
  }
  private async ask(path: string, how: RequestInit = {}): Promise<Response> {
    let answer: Response;
    try {
      answer = await this.request(this.address(path), { credentials: "same-origin", ...how });
    } catch (error) {
      throw new Unreachable(`No answer came: ${error instanceof Error ? error.message : error}.`);
    }
    if (!answer.ok) throw await refusedBy(answer);
    return answer;
  }
  private async get<T>(path: string): Promise<T> {
    return (await this.ask(path)).json() as Promise<T>;
  }
  private async send<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const keepalive = method === "DELETE"; // a page that is closed still deletes
    const answer = await this.ask(path, { method, keepalive, headers: { "Content-Type": "application/json", ...headers }, ...content });
    return (answer.status === 204 ? null : await answer.json()) as T;
  }
  private order(method: string, path: string, body: unknown, { match, wait }: OrderOptions = {}): Promise<told.Ordered> {
    return this.send<told.Ordered>(method, this.path(path), body, {
      "Idempotency-Key": newKey(),
      ...(match ? { "If-Match": `"${match}"` } : {}),
      ...(wait ? { Prefer: `wait=${wait}` } : {}),
    });
  }
}

/** A key of 128 random bits; `randomUUID` is absent where the page is not on HTTPS or this machine. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
