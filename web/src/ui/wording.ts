/** Orders in words for people, and as a command line or a line of Python that gives the same order. */
import { isDay, isoDate, isShort, momentOf, momentText, parseMoment, stepOf, stepText } from "../decode/calendar";
import { counted, grouped, placeText, prettyUnit, rounded } from "../decode/units";
import { labelOf, named, parted } from "../state/levels";
import { LEFT, legsOf } from "../state/scenario";
import type { Run, State } from "../state/store";
import type { LogRow, Preview, Scenario, Variable } from "../state/told";

type Words = Record<string, unknown>;
const EXAMPLE = { year: 2001, month: 3, day: 5, second: 0 }; // in a run without dates
/** What an order was: where it is sent, how, and its body; path begins behind the address of the run. */
export interface Request {
  method: "POST" | "DELETE";
  path: string;
  body: Words;
}

/** What a variable is called in all lists, forms and messages: its long name and its short one. */
export function nameOf(variables: readonly Variable[], name: unknown): string {
  const long = named(variables, String(name))?.long_name;
  return long && long !== name ? `${long} (${name})` : String(name);
}

/** What a change is of: a variable, one of its levels, or all of them. */
export function changedName(variables: readonly Variable[], name: unknown): string {
  return nameOf(variables, parted(String(name))[0]) + atText(variables, name);
}

/** " at 850 hPa" of the name of a level, " at all levels" of a variable with levels; "" of one without. */
export function atText(variables: readonly Variable[], name: unknown): string {
  const [whole, level] = parted(String(name));
  const levels = variables.find((each) => each.name === whole)?.levels;
  return levels ? ` at ${level === null ? "all levels" : labelOf(levels, level, prettyUnit)}` : "";
}

/** "2001-03-05" as it is written here; what is no date stays as it is. */
export function dateText(state: State, date: string): string {
  if (!state.run) return date;
  try {
    return momentText(parseMoment(date, state.run.clock.calendar), state.run.clock);
  } catch {
    return date;
  }
}

/** A date of the run as an example of what is typed: that of a step. */
export function exampleDate({ clock }: Pick<Run, "clock">, step: number): string {
  return isoDate(momentOf(clock, step) ?? EXAMPLE, clock);
}

/** Why a typed date is none of the steps `first` to `last`, "" where it is one. whom, at: the scenario that it is for, and where it stands. */
export function dateFault(
  { clock, steps }: Pick<Run, "clock" | "steps">,
  text: string,
  whom: string,
  at: number,
  first: number,
  last: number,
): string {
  if (clock.step === null) return "This run has no dates.";
  if (!isDay(text, clock.calendar)) return `Give a date, such as ${exampleDate({ clock }, at + 1)}.`;
  const moment = parseMoment(text, clock.calendar);
  const step = stepOf(clock, moment);
  if (step < first) return `${whom} stands at ${stepText(clock, at)}: give a later date.`;
  if (step > last) return `The run ends at ${stepText(clock, steps ?? last)}.`;
  if (!isShort(clock) && moment.second > 0) return `Steps begin at midnight: give ${isoDate(moment)}.`;
  const between = isShort(clock) && isoDate(momentOf(clock, step) ?? moment, clock) !== isoDate(moment, clock);
  return between ? `No step ends then: give ${stepText(clock, step)} or ${stepText(clock, step + 1)}.` : "";
}

/** Why a typed number of steps is none that a scenario, which has done `at`, can still do, "" where it is one. */
export function countFault({ clock, steps }: Pick<Run, "clock" | "steps">, text: string, whom: string, at: number): string {
  const count = text.trim() ? Number(text) : Number.NaN;
  if (!Number.isInteger(count) || count < 1) return "Give a number of steps, such as 10.";
  if (steps === null || count <= steps - at) return "";
  return `The run ends at ${stepText(clock, steps)}: ${whom} has ${grouped(String(Math.max(0, steps - at)))} steps left.`;
}

export function stepWords(state: State, step: number | null | undefined): string {
  if (step === null || step === undefined) return "";
  return state.run ? stepText(state.run.clock, step) : `step ${step}`;
}

/** When a change before the step behind `step` takes effect: the date of that step, or the instant where steps are shorter than a day. */
export function beginWords(state: State, step: number): string {
  const clock = state.run?.clock;
  const moment = clock && isShort(clock) && momentOf(clock, step);
  return moment ? momentText(moment, clock) : stepWords(state, step + 1);
}

/** Where a change applies. */
export function regionText(region: unknown, cells?: unknown): string {
  if (region === "all" || region === undefined) return "everywhere";
  if (typeof region === "string") return `in ${region}`;
  const [kind, value] = Object.entries(region as Words)[0] ?? ["", []];
  const many = typeof cells === "number" ? `, ${counted(cells, "cell")}` : "";
  if (kind === "cell") return `in the cell at ${placeText(value as [number, number])}`;
  if (kind === "box") {
    const [west = 0, south = 0, east = 0, north = 0] = value as number[];
    return `in the box ${placeText([west, south])} to ${placeText([east, north])}${many}`;
  }
  return kind === "polygon" ? `in a polygon${many}` : `in ${counted((value as unknown[]).length, "cell")}`;
}

function changeText(change: Words, variables: readonly Variable[], cells?: unknown): string {
  const given = (change.given ?? {}) as Words;
  const unit = prettyUnit(String(given.units ?? named(variables, String(change.variable))?.units ?? ""));
  const value = typeof given.value === "number" ? rounded(given.value, 6) : "an array";
  const name = changedName(variables, change.variable);
  const where = regionText(change.region, cells);
  if (change.operation === "scale") return `${name} times ${value} ${where}`;
  if (change.operation === "add") return `${name} plus ${value} ${unit} ${where}`.replace(/ +/g, " ");
  return `${name} set to ${value} ${unit} ${where}`.replace(/ +/g, " ");
}

/** A row of the journal in words, without who ordered it. */
export function rowText(row: LogRow, state: State): string {
  const { arguments: given } = row;
  const variables = state.run?.variables ?? [];
  const detail = (row.detail ?? {}) as Words;
  switch (row.kind) {
    case "step":
      if (given.end) return "Play to the end";
      if (typeof given.until === "number") return `Play to ${stepWords(state, given.until)}`;
      return given.steps === 1 ? "One step" : `${grouped(String(given.steps))} steps`;
    case "set":
      return changeText(given, variables, detail.cells);
    case "event":
      return `${changeText(given.change as Words, variables)}, ${given.yearly ? `every year on ${given.yearly}` : `from ${beginWords(state, Number(given.step))}`}`;
    case "trigger":
      return `Trigger ${given.expression}: ${given.action}`;
    case "remove":
      return `Remove no. ${given.rule}`;
    case "cancel":
      return `Cancel no. ${given.seq}`;
    case "skip":
      return `Skip no. ${given.seq}`;
    case "branch":
      return `Branch "${given.name}"${typeof given.step === "number" ? ` from ${stepWords(state, given.step)}` : ""}`;
    case "rewind":
      return given.left ? `Back to where ${given.left} stood` : `Back to ${stepWords(state, Number(given.step))}`;
    case "restart":
      return "Back to the beginning";
    case "rename":
      return `Rename to "${given.name}"`;
    case "leave":
      return "Delete the scenario";
    case "pause":
      return row.who.startsWith("trigger:") ? "Paused by a trigger" : "Pause";
    case "checkpoint":
      return given.pin ? "Checkpoint, kept for ever" : "Checkpoint";
    default:
      return row.kind;
  }
}

/** "desk-2 set soil water in heavy", "desk-2: one step in heavy". */
export function orderText(row: LogRow, state: State): string {
  const small = (text: string) => (/^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text);
  const scenario = (scenarioOf(state, row.branch)?.name ?? "").replace(LEFT, "");
  const what =
    row.kind === "set"
      ? ` set ${small(changedName(state.run?.variables ?? [], row.arguments.variable))}`
      : `: ${small(rowText(row, state))}`;
  return `${row.who}${what} in ${scenario}`;
}

/** What became of an order. */
export function outcomeText(row: LogRow): string {
  const detail = (row.detail ?? {}) as Words;
  if (row.state === "failed") return String(detail.text ?? "failed");
  return row.state === "queued" ? "waiting" : row.state;
}

/** Its date in the run; of a change, that on which it takes effect. */
export function rowDate(row: LogRow, state: State): string {
  return row.kind === "set" && row.at_step !== null
    ? beginWords(state, row.at_step)
    : stepWords(state, row.at_step ?? (row.ended_step as number | null));
}

function changeOf(change: Words): Words {
  const given = (change.given ?? {}) as Words;
  return {
    variable: change.variable,
    ...(change.operation === "set" ? {} : { operation: change.operation }),
    value: given.value,
    ...(given.units && change.operation !== "scale" ? { units: given.units } : {}),
    ...(change.region === "all" ? {} : { region: change.region }),
  };
}

/** The request that gives the order of a row again; null where it holds an array that was uploaded, or is the server's own. */
export function requestOf(row: LogRow, scenario: string): Request | null {
  const { arguments: given } = row;
  const post = (path: string, body: Words): Request => ({ method: "POST", path, body });
  switch (row.kind) {
    case "step":
      return post("step", { scenario, ...given });
    case "pause":
      return post("pause", { scenario });
    case "set":
      return given.upload
        ? null
        : post("set", {
            scenario,
            ...changeOf(given),
            ...(row.state === "queued" && row.at_step !== null ? { when: { step: row.at_step } } : {}),
          });
    case "event":
      return (given.change as Words).upload
        ? null
        : post("events", {
            scenario,
            ...changeOf(given.change as Words),
            when: given.yearly ? { yearly: given.yearly } : { step: given.step },
          });
    case "trigger":
      return post("triggers", {
        scenario,
        expression: given.expression,
        action: given.action,
        ...(given.text ? { text: given.text } : {}),
        ...(given.variable ? { variable: given.variable } : {}),
      });
    case "checkpoint":
      return post("checkpoints", { scenario, pin: given.pin });
    case "branch":
      return post("scenarios", { name: given.name, from: { scenario, ...(given.step === null ? {} : { step: given.step }) } });
    case "rewind":
      return post(`scenarios/${scenario}/rewind`, given.left ? { left: given.left } : { step: given.step });
    case "restart":
      return post("restart", { scenario });
    case "rename":
      return post(`scenarios/${scenario}/rename`, { name: given.name });
    case "cancel":
      return { method: "DELETE", path: `operations/${given.seq}`, body: {} };
    default:
      return null;
  }
}

/** A word of a shell, whatever is in it. */
export function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The order as a command line; the token comes from the environment. */
export function asCurl(request: Request, address: string): string {
  const body = request.method === "POST" ? ` \\\n  -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(request.body))}` : "";
  const keys = `-H "Authorization: Bearer $STEPPE_TOKEN" -H "Idempotency-Key: $(uuidgen)"`;
  return `curl -X ${request.method} ${quoted(address)} \\\n  ${keys}${body}`;
}

/** JSON as Python writes it. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value as Words)
      .map(([name, each]) => `${JSON.stringify(name)}: ${literal(each)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}

function keywords(words: Words): string {
  return Object.entries(words)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `, ${name}=${literal(value)}`)
    .join("");
}

/** The order as lines of Python; null where the client has no such call. */
export function asPython(request: Request, page: string, run: string): string | null {
  const { scenario = "main", ...body } = request.body as Words & { scenario?: string };
  const call = callOf(request, body);
  if (call === null) return null;
  const whose = scenario === "main" ? "run" : `run.scenario(${JSON.stringify(scenario)})`;
  return `import steppe\n\nrun = steppe.connect(${JSON.stringify(page)}, run=${JSON.stringify(run)})\n${whose}.${call}`;
}

function callOf({ path }: Request, body: Words): string | null {
  const { variable, value, when, region, ...more } = body;
  const where = typeof region === "object" && region !== null ? (region as Words) : {};
  if (typeof region === "string" || "cell" in where) return null;
  switch (path) {
    case "step":
      return "until" in body ? null : body.end ? "play()" : `step(${literal(body.steps)}${keywords({ speed: body.speed })})`;
    case "pause":
      return "pause()";
    case "restart":
      return "restart()";
    case "checkpoints":
      return `checkpoint(pin=${literal(body.pin ?? false)})`;
    case "set":
      return `set(${literal(variable)}, ${literal(value)}${keywords({ ...more, ...where, when: (when as Words | undefined)?.step })})`;
    case "events": {
      const moment = when as Words;
      return `add_event(${literal(variable)}, ${literal(value)}${keywords({ ...more, ...where, yearly: moment.yearly, at: moment.step })})`;
    }
    case "triggers":
      return `add_trigger(${literal(more.expression)}, ${literal(more.action)}${keywords({ text: more.text, variable })})`;
    case "scenarios":
      return `branch(${literal(body.name)}${keywords({ at: (body.from as Words).step })})`;
    default:
      return path.endsWith("/rewind") && !body.left ? `rewind(${literal(body.step)})` : null;
  }
}

/** The scenario that a branch is, by its number. */
export function scenarioOf(state: State, branch: unknown): Scenario | undefined {
  return state.info?.scenarios.find((each) => each.branch === branch);
}

/** The scenario in whose past an order lies, also where a rewind has left what came after it; undefined where none goes on with it. */
export function goesOn(state: State, row: LogRow): Scenario | undefined {
  const scenarios = state.info?.scenarios ?? [];
  const name = scenarioOf(state, row.branch)?.name.replace(LEFT, "");
  const found = scenarios.find((each) => each.name === name);
  return (row.at_step ?? 0) <= (legsOf(scenarios, found).get(Number(row.branch)) ?? -1) ? found : undefined;
}

/** "29 016 cells: mean 0.12 -> 0.1 animals ha-1". at: " at 850 hPa", where a variable has levels. */
export function previewText({ cells, before, after, units, outside }: Preview, at = ""): string {
  const number = (value: number | null) => (value === null ? "no value" : rounded(value, 5));
  const means = `${counted(cells, "cell")}${at}: mean ${number(before)} → ${number(after)} ${prettyUnit(units)}`;
  const wrong = outside ? `; ${grouped(String(outside))} would be outside the limits` : "";
  return `${means.trim()}${wrong}`;
}
