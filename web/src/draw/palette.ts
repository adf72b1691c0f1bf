/** Colour tables by name. */
import type { Range } from "../decode/statistics";
import type { Variable } from "../state/told";
import { CLASSES, TABLES } from "./palettes";

/** The name of a table, or "classes" with the numbers of the classes. */
export type PaletteName = keyof typeof TABLES | `classes ${string}`;
/** Which value has which colour. names: number and name of each class; empty for a field of numbers. */
export interface Scale {
  palette: PaletteName;
  range: Range;
  logarithmic: boolean;
  names: readonly (readonly [number, string])[];
}

/** kind: sequential, diverging about the middle, or cyclic; for: what it is made for. */
export const PALETTES: readonly { name: PaletteName; kind: "sequential" | "diverging" | "cyclic"; for: string }[] = [
  { name: "batlow", kind: "sequential", for: "anything" },
  { name: "bamako_r", kind: "sequential", for: "vegetation" },
  { name: "lajolla", kind: "sequential", for: "heat" },
  { name: "lapaz_r", kind: "sequential", for: "water" },
  { name: "oslo_r", kind: "sequential", for: "rain" },
  { name: "davos", kind: "sequential", for: "depth" },
  { name: "grayC", kind: "sequential", for: "print" },
  { name: "vik_r", kind: "diverging", for: "differences" },
  { name: "cork", kind: "diverging", for: "differences" },
  { name: "berlin", kind: "diverging", for: "differences on dark" },
  { name: "romaO", kind: "cyclic", for: "directions" },
];
export const DIFFERENCE: PaletteName = "vik_r";
export const CREDIT = "Colours: Scientific colour maps, F. Crameri (2018)";

const read = new Map<PaletteName, Uint8Array>();

const DECADES = 3; // of a logarithmic scale whose values begin at nothing

export function isPalette(name: string): name is keyof typeof TABLES {
  return name in TABLES;
}

/** The scale of a variable. logarithmic: what the viewer chose, null for what suits it; [low, high]: the range of its values. */
export function scaleOf(variable: Variable | undefined, name: string, logarithmic: boolean | null, [low, high]: Range): Scale {
  const names = Object.entries(variable?.classes ?? {}).map(([number, text]) => [Number(number), text] as const);
  names.sort(([one], [other]) => one - other);
  if (names.length) {
    const numbers = names.map(([number]) => number);
    const range = [Math.min(...numbers), Math.max(...numbers, Math.min(...numbers) + 1)] as const;
    return { palette: `classes ${numbers.join(",")}`, range, logarithmic: false, names };
  }
  const palette = isPalette(name) ? name : "batlow";
  const wide = (logarithmic ?? variable?.logarithmic ?? false) && high > 0;
  const least = low > 0 ? low : 10 ** (Math.ceil(Math.log10(high)) - DECADES);
  return { palette, range: wide ? [least, high] : [low, high], logarithmic: wide, names };
}

/** Where a value lies on a scale: 0 at its low end and below, 1 at its high end and above. */
export function shareOf({ range: [low, high], logarithmic }: Pick<Scale, "range" | "logarithmic">, value: number): number {
  const share = logarithmic ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.min(Math.max(share, 0), 1);
}

const WIDEST = 4096; // entries of a table that every graphics processor takes

/** An entry for each number from the least class to the greatest. */
function tableOf(numbers: readonly number[]): Uint8Array {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  const count = Math.min(most - least + 1, WIDEST);
  const table = new Uint8Array(3 * count).fill(128);
  numbers.forEach((number, which) => {
    const at = (6 * which) % CLASSES.length;
    const colour = [0, 2, 4].map((part) => Number.parseInt(CLASSES.slice(at + part, at + part + 2), 16));
    table.set(colour, 3 * Math.round(((number - least) * (count - 1)) / (most - least || 1)));
  });
  return table;
}

/** Red, green, blue of 256 entries; of classes of one entry a number. */
export function paletteOf(name: PaletteName): Uint8Array {
  let table = read.get(name);
  if (!table) {
    table = isPalette(name) ? summed(TABLES[name]) : tableOf(name.replace("classes ", "").split(",").map(Number));
    read.set(name, table);
  }
  return table;
}

function summed(steps: string): Uint8Array {
  const table = new Uint8Array(steps.length);
  for (let at = 0; at < steps.length; at++) table[at] = (table[at - 3] ?? 0) + steps.charCodeAt(at) - 64;
  return table;
}

/** The entry at a share from 0 to 1 as a colour of CSS. */
export function colourAt(name: PaletteName, share: number): string {
  const table = paletteOf(name);
  const at = 3 * Math.round(Math.min(Math.max(share, 0), 1) * (table.length / 3 - 1));
  return `rgb(${table.subarray(at, at + 3).join(",")})`;
}

/** The palette that suits a variable by its name, unit and standard name. */
export function suitable(variable: { name: string; units: string; standard_name: string; long_name: string }): PaletteName {
  const words = `${variable.name} ${variable.standard_name} ${variable.long_name}`.toLowerCase();
  if (/direction/.test(words)) return "romaO";
  if (/rain|precipitation|snow/.test(words)) return "oslo_r";
  if (/temperature|radiation|heat/.test(words)) return "lajolla";
  if (/water|runoff|moisture|drainage|evapo|transpir|humidity|depth/.test(words)) return "lapaz_r";
  if (/biomass|dry_matter|green|growth|cover|grass|vegetation|litter|leaf|pasture|standing|dry matter|yield/.test(words)) return "bamako_r";
  return "batlow";
}
