/** What is seen as the fragment of an address, which is never sent to a server; and back. No token is ever in it. */
import type { Look, Maps, Selection, Theme } from "./store";
import type { Place } from "./told";
import type { View } from "./view";

/** Everything that a link can say; what it does not say stays as it is. */
export interface Linked {
  run: string;
  /** ISO date or step:n of a past date; null: the newest. */
  date: string | null;
  look: Look;
  /** The scenario that orders go to. */
  steered: string;
  view: View | null;
  pins: Place[];
  selection: Selection | null;
}

const numbers = (values: readonly number[]) => values.map((value) => String(Number(value.toPrecision(9)))).join(",");

/** The fragment without "#". */
export function toFragment({ run, date, look, steered, view, pins, selection }: Linked): string {
  const words: [string, string | null][] = [
    ["run", run],
    ["scenario", look.scenarios.map(encodeURIComponent).join(",")],
    ["steer", steered && encodeURIComponent(steered)],
    ["variable", look.variable],
    ["beside", look.other || null],
    ["arrows", look.arrows || null],
    ["date", date],
    ["maps", String(look.maps)],
    ["globe", look.globe ? "1" : "0"],
    ["palette", look.palette],
    ["range", look.range ? numbers(look.range) : null],
    ["smooth", look.smooth ? "1" : "0"],
    ["logarithm", look.logarithmic === null ? null : look.logarithmic ? "1" : "0"],
    ["view", view ? numbers([view.y, view.x, view.zoom]) : null],
    ["pins", pins.map(([x, y]) => `${placeWord(y, "N", "S")}${placeWord(x, "E", "W")}`).join(",") || null],
    ["region", selection ? ("box" in selection ? `box,${numbers(selection.box)}` : `polygon,${numbers(selection.polygon.flat())}`) : null],
    ["theme", look.theme],
  ];
  return words.flatMap(([name, value]) => (value ? [`${name}=${encodeURIComponent(value).replaceAll("%2C", ",")}`] : [])).join("&");
}

/** What a fragment says, with or without "#". Words that are not understood are passed over: a link outlives the page that made it. */
export function fromFragment(fragment: string): Partial<Omit<Linked, "look">> & { look: Partial<Look> } {
  const words = new URLSearchParams(fragment.replace(/^#/, "").replaceAll("+", "%2B"));
  const has = (name: string) => words.get(name) || undefined;
  const look: Partial<Look> = {};
  const scenarios = has("scenario")?.split(",").map(decoded).filter(Boolean);
  if (scenarios?.length) look.scenarios = scenarios.slice(0, 2);
  for (const [part, name] of [
    ["variable", "variable"],
    ["other", "beside"],
    ["arrows", "arrows"],
    ["palette", "palette"],
  ] as const) {
    const text = has(name);
    if (text) look[part] = text;
  }
  const maps = Number(has("maps"));
  if ([1, 2, 3, 4, 5].includes(maps)) look.maps = maps as Maps;
  const range = list(has("range"));
  if (range?.length === 2 && (range[0] as number) < (range[1] as number)) look.range = [range[0] as number, range[1] as number];
  if (has("globe")) look.globe = has("globe") === "1";
  if (has("smooth")) look.smooth = has("smooth") === "1";
  if (has("logarithm")) look.logarithmic = has("logarithm") === "1";
  const theme = has("theme");
  if (theme === "auto" || theme === "light" || theme === "dark") look.theme = theme satisfies Theme;

  const found: ReturnType<typeof fromFragment> = { look };
  const run = has("run");
  if (run) found.run = run;
  const date = has("date");
  if (date && /^(\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?|step:\d+)$/.test(date)) found.date = date;
  const steered = has("steer");
  if (steered) found.steered = decoded(steered);
  const view = list(has("view"));
  if (view?.length === 3 && (view[2] as number) > 0) found.view = { y: view[0] as number, x: view[1] as number, zoom: view[2] as number };
  const pins = has("pins")
    ?.split(",")
    .map(placeOf)
    .filter((place) => place !== null);
  if (pins?.length) found.pins = pins.slice(0, 6);
  const selection = selectionOf(has("region"));
  if (selection) found.selection = selection;
  return found;
}

/** A name as it was encoded; one that cannot be decoded as it stands. */
function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function list(text: string | undefined): number[] | undefined {
  const values = text?.split(",").map(Number);
  return values?.every(Number.isFinite) ? values : undefined;
}

function placeWord(value: number, positive: string, negative: string): string {
  return `${Number(Math.abs(value).toPrecision(9))}${value < 0 ? negative : positive}`;
}

function placeOf(word: string): Place | null {
  const found = /^([0-9.e-]+)([NS])([0-9.e-]+)([EW])$/.exec(word);
  if (!found) return null;
  const [y, x] = [Number(found[1]) * (found[2] === "S" ? -1 : 1), Number(found[3]) * (found[4] === "W" ? -1 : 1)];
  return Number.isFinite(x) && Number.isFinite(y) ? [x, y] : null;
}

function selectionOf(text: string | undefined): Selection | null {
  const [kind, ...rest] = text?.split(",") ?? [];
  const values = rest.map(Number);
  if (!values.every(Number.isFinite)) return null;
  if (kind === "box" && values.length === 4) return { box: values as [number, number, number, number] };
  if (kind !== "polygon" || values.length < 6 || values.length % 2) return null;
  return { polygon: Array.from({ length: values.length / 2 }, (_, k): Place => [values[2 * k] as number, values[2 * k + 1] as number]) };
}
