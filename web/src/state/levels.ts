/** Levels: one level of a variable is a map like any other and has a name, ozone[3], counted from 0. */
import type { Levels, Variable } from "./told";

/** The name of a variable and the level that is meant, null for none. */
export function parted(name: string): [string, number | null] {
  const found = /^(.+)\[(\d+)\]$/.exec(name);
  return found ? [found[1] ?? name, Number(found[2])] : [name, null];
}

/** The variable of a name; a level as a variable without levels. */
export function named(variables: readonly Variable[], name: string | undefined): Variable | undefined {
  const [whole, level] = parted(name ?? "");
  const variable = variables.find((each) => each.name === whole);
  if (level === null || !variable) return variable;
  const label = variable.levels && level < variable.levels.values.length ? labelOf(variable.levels, level) : null;
  return label === null ? undefined : { ...variable, ...{ name: name ?? "", levels: null, long_name: `${variable.long_name}, ${label}` } };
}

/** The name of a map of a variable: of the level that is looked at, or of the nearest one that it has. shown: what is looked at. */
export function mapName({ name, levels }: Pick<Variable, "name" | "levels">, shown: string): string {
  return levels ? `${name}[${Math.min(parted(shown)[1] ?? 0, levels.values.length - 1)}]` : name;
}

/** "850 hPa", in six digits, as the server writes it. pretty: how the unit is written. */
export function labelOf({ values, units }: Levels, level: number, pretty = (unit: string): string => unit): string {
  return `${Number(values[level]?.toPrecision(6))}${units === "1" ? "" : ` ${pretty(units)}`}`;
}
