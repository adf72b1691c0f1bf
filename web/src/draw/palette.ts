/** Colour tables by name. */
import { TABLES } from "./palettes";

export type PaletteName = keyof typeof TABLES;

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

export function isPalette(name: string): name is PaletteName {
  return name in TABLES;
}

/** Red, green, blue of 256 entries. */
export function paletteOf(name: PaletteName): Uint8Array {
  let table = read.get(name);
  if (!table) {
    table = Uint8Array.from(atob(TABLES[name]), (character) => character.charCodeAt(0));
    read.set(name, table);
  }
  return table;
}

/** The entry at a share from 0 to 1 as a colour of CSS. */
export function colourAt(name: PaletteName, share: number): string {
  const at = 3 * Math.round(Math.min(Math.max(share, 0), 1) * 255);
  return `rgb(${paletteOf(name)
    .subarray(at, at + 3)
    .join(",")})`;
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
