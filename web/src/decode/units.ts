/** Units and numbers as people write them. */

const SUPERSCRIPTS: Record<string, string> = Object.fromEntries(
  [..."0123456789-"].map((digit, index) => [digit, "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"[index] ?? digit]),
);
const NAMES: Record<string, string> = {
  "1": "",
  degree_Celsius: "°C",
  degC: "°C",
  degrees_C: "°C",
  celsius: "°C",
  degree: "°",
  degrees: "°",
  degrees_north: "° N",
  degrees_east: "° E",
  percent: "%",
  um: "µm",
};

/** A CF unit with true superscripts: "kg ha-1" becomes "kg ha⁻¹". */
export function prettyUnit(unit: string): string {
  const whole = NAMES[unit.trim()];
  if (whole !== undefined) return whole;
  return unit
    .trim()
    .replace(/\*\*|\^/g, "")
    .split(/[\s.*]+/)
    .map((word) => {
      const found = /^([A-Za-z%°µ_]+?)(-?[0-9]+)$/.exec(word);
      if (!found) return NAMES[word] ?? word;
      const [, name = "", power = ""] = found;
      return (NAMES[name] ?? name) + [...power].map((digit) => SUPERSCRIPTS[digit] ?? digit).join("");
    })
    .join(" ");
}

const MINUS = "−";
const THIN = " ";

/** Below it and from 1e16 on, numbers are written with an exponent, whichever program wrote their digits. */
const LEAST_PLAIN = 1e-4;

/** The digits of a number with a true minus and thin spaces between groups of three before the point. */
export function grouped(text: string): string {
  return inThrees(powered(text));
}

/** "1 cell", "15 208 cells". */
export function counted(count: number, unit: string): string {
  return `${grouped(String(count))} ${unit}${count === 1 ? "" : "s"}`;
}

function inThrees(text: string): string {
  const [, sign = "", whole = "", rest = ""] = /^(-?)([0-9]+)(.*)$/s.exec(text) ?? [];
  if (!whole) return text.replace("-", MINUS);
  return (sign && MINUS) + whole.replace(/\B(?=([0-9]{3})+$)/g, THIN) + rest.replace("e-", `e${MINUS}`);
}

/** The same digits with an exponent where it belongs: "0.0000012" and "1.2e-06" are both "1.2e-6". */
function powered(text: string): string {
  const size = Math.abs(Number(text));
  return (size > 0 && size < LEAST_PLAIN) || (size >= 1e16 && size < Infinity) ? Number(text).toExponential().replace("+", "") : text;
}

/** Text in which no line ends within a number. */
export function unbroken(text: string): string {
  return text.replace(/(?<=[0-9]) (?=[0-9]{3})/g, "\u00a0");
}

/** A number with as many decimals as a step of `step` can tell apart. most: the size of the greatest number beside it, which all are written like. */
export function toStep(value: number, step: number, most = Math.abs(value)): string {
  if (!Number.isFinite(value)) return String(value);
  if (value !== 0 && (most < LEAST_PLAIN || most >= 1e7)) return raised(value, step);
  if (most < LEAST_PLAIN) return "0";
  const decimals = Math.min(Math.max(Math.ceil(-Math.log10(step) - 1e-9), 0), 12);
  const text = value.toFixed(decimals);
  return inThrees(/^-0\.?0*$/.test(text) ? text.slice(1) : text);
}

/** With an exponent, in as few digits as tell a step apart: "−1e−5". */
function raised(value: number, step: number): string {
  const power = (size: number) => Math.floor(Math.log10(size) + 1e-9);
  const digits = Math.min(Math.max(power(Math.abs(value)) - power(step), 0), 12);
  return inThrees(Number(value.toExponential(digits)).toExponential().replace("+", ""));
}

/** A number in at most `digits` digits that count. */
export function rounded(value: number, digits = 4): string {
  return grouped(String(Number(value.toPrecision(digits))));
}

/** The shortest decimal that gives a number of the server back, which may be one of float32. */
export function exactText(value: number): string {
  const single = [6, 7, 8, 9].map((digits) => Number(value.toPrecision(digits))).find((each) => Math.fround(each) === value);
  return String(single ?? value);
}

/** A number in the digits that give it back as float32, or all of them where it is whole: for lists and charts. */
export function singleText(value: number): string {
  const text = exactText(value);
  return Number.isInteger(value) ? text : String(Number(Number(text).toPrecision(9)));
}

/** The number that somebody typed, with spaces between groups, a true minus or a decimal comma; null when it is none, or may be two: 1,000. */
export function typedNumber(text: string): number | null {
  if (/^\s*[-+\u2212]?[0-9]{1,3},[0-9]{3}\s*$/.test(text)) return null;
  const plain = text
    .replace(/\s/g, "")
    .replaceAll(MINUS, "-")
    .replace(/^([^.,]*),([^.,]*)$/, "$1.$2");
  return /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?$/i.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : null;
}

/** A place in degrees: "19.95° S, 147.45° E"; the equator, Greenwich and 180° lie on no side. */
export function placeText([longitude, latitude]: readonly [number, number]): string {
  const degrees = (value: number, sides: string) => {
    const size = Math.round(Math.abs(value) * 1e4) / 1e4;
    return size % 180 === 0 ? `${size}°` : `${size}° ${sides[value < 0 ? 0 : 1]}`;
  };
  const east = ((((longitude + 180) % 360) + 360) % 360) - 180;
  return `${degrees(latitude, "SN")}, ${degrees(east, "WE")}`;
}

/** The longitude and latitude of typed text, latitude first: "-19.95, 147.45", "19.95° S, 147.45° E" or "19.95S 147.45E"; null of other text. */
export function typedPlace(text: string): readonly [number, number] | null {
  const found = /^([-+]?[0-9.]+)\s*°?\s*([NS]?)[\s,;]+([-+]?[0-9.]+)\s*°?\s*([EW]?)$/i.exec(text.trim().replaceAll(MINUS, "-"));
  if (!found) return null;
  const [, north = "", south = "", east = "", west = ""] = found;
  const latitude = Number(north) * (/s/i.test(south) ? -1 : 1);
  const longitude = Number(east) * (/w/i.test(west) ? -1 : 1);
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 360 ? [longitude, latitude] : null;
}

/** An area in km2, in digits that make sense. */
export function areaText(area: number): string {
  return `${grouped(area >= 100 ? String(Math.round(area)) : area.toPrecision(3))} km²`;
}
