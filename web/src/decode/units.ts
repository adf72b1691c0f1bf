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

/** The digits of a number with a true minus and thin spaces between groups of three before the point. */
export function grouped(text: string): string {
  const [, sign = "", whole = "", rest = ""] = /^(-?)([0-9]+)(.*)$/s.exec(text) ?? [];
  if (!whole) return text.replace("-", MINUS);
  return (sign && MINUS) + whole.replace(/\B(?=([0-9]{3})+$)/g, THIN) + rest.replace("e-", `e${MINUS}`);
}

/** A number with as many decimals as a step of `step` can tell apart. */
export function toStep(value: number, step: number): string {
  if (!Number.isFinite(value)) return String(value);
  const decimals = Math.min(Math.max(Math.ceil(-Math.log10(step) - 1e-9), 0), 12);
  const text = Math.abs(value) >= 1e7 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(3) : value.toFixed(decimals);
  return grouped(/^-0\.?0*$/.test(text) ? text.slice(1) : text);
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

/** The number that somebody typed, with spaces between groups, a true minus or a decimal comma; null when it is none, or may be two: 1,000. */
export function typedNumber(text: string): number | null {
  if (/^\s*[-+\u2212]?[0-9]{1,3},[0-9]{3}\s*$/.test(text)) return null;
  const plain = text
    .replace(/\s/g, "")
    .replaceAll(MINUS, "-")
    .replace(/^([^.,]*),([^.,]*)$/, "$1.$2");
  return /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?$/i.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : null;
}

/** A place in degrees: "19.95° S, 147.45° E". */
export function placeText([longitude, latitude]: readonly [number, number]): string {
  const degrees = (value: number) => String(Math.round(Math.abs(value) * 1e4) / 1e4);
  const east = ((((longitude + 180) % 360) + 360) % 360) - 180;
  return `${degrees(latitude)}° ${latitude < 0 ? "S" : "N"}, ${degrees(east)}° ${east < 0 ? "W" : "E"}`;
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
