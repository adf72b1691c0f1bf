/** What is shown with the variable: another one on a map beside it, and a vector as arrows over it. */
import type { Screen } from "../decode/screen";
import type { Range } from "../decode/statistics";
import { prettyUnit, rounded } from "../decode/units";
import { APART, type Arrows } from "../draw/arrows";
import { type Scale, scaleOf, suitable } from "../draw/palette";
import { mapName, parted } from "../state/levels";
import { besides, componentsOf, variableOf } from "../state/scenario";
import type { Run, State, Store } from "../state/store";
import type { Variable } from "../state/told";
import { fill, h, say } from "./dom";
import { changedName } from "./wording";

/** Both choices, and how long an arrow is. */
export function choices(store: Store): HTMLElement {
  const other = h("select", {
    class: "small",
    onchange: () => store.look(other.value ? { other: other.value, maps: 5 } : { other: "", maps: 1 }),
  });
  const arrows = h("select", { class: "small", onchange: () => store.look({ arrows: arrows.value }) });
  const arrow = h("i", { class: "arrow", "aria-hidden": "true" });
  arrow.style.width = `${APART}px`;
  const [key, length] = [h("span", { class: "key" }), h("span")];
  fill(key, arrow, length);
  const vector = h("label", {}, "Arrows", arrows);
  store.follow(["run", "look.variable", "look.other", "look.maps", "look.arrows", "ranges"], ({ run, look, ranges }) => {
    const shown = besides(look) ? look.other : "";
    const isShown = ({ name }: Variable) => name === parted(shown)[0]; // its level may be another one than that of the first map
    const variables = run?.variables ?? [];
    const maps = variables
      .filter(({ map }) => map)
      .flatMap((each) => {
        const here = mapName(each, look.variable);
        if (here !== look.variable) return [isShown(each) ? shown : here];
        return (each.levels?.values ?? []).map((_, level) => `${each.name}[${level}]`).filter((name) => name !== here); // its other levels
      });
    list(
      other,
      maps.map((name) => [name, changedName(variables, name)]),
      shown,
    );
    const vectors = [...new Set(variables.map((each) => each.vector))].filter((name) => componentsOf({ run, look }, name));
    list(
      arrows,
      vectors.map((name) => [name, name]),
      look.arrows,
    );
    vector.hidden = vectors.length === 0;
    const text = lengthText({ run, look, ranges });
    key.hidden = !text;
    say(length, text);
  });
  return h("div", { class: "acts beside" }, h("label", {}, "Beside it", other), vector, key);
}

function list(select: HTMLSelectElement, options: readonly (readonly [string, string])[], chosen: string): void {
  fill(select, ...[["", "none"] as const, ...options].map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
}

/** The length of the longest arrow: the farthest end of the ranges of both components. */
function longestOf(ranges: readonly (readonly [number, number] | undefined)[]): number {
  return Math.max(...ranges.flatMap((range) => range ?? []).map(Math.abs), 0);
}

/** The longest arrow in words, "0.5 m² s⁻¹"; empty where there are no arrows. */
export function lengthText({ run, look, ranges }: Pick<State, "run" | "look" | "ranges">): string {
  const parts = componentsOf({ run, look }, look.arrows);
  const longest = parts && longestOf(parts.map((each) => ranges[each.name]));
  return parts && longest ? `${rounded(longest)} ${prettyUnit(parts[0].units)}` : "";
}

/** What is drawn as arrows; null while there is nothing to draw. */
export function arrowsNow(state: Pick<State, "run" | "look" | "ranges">, screen: Screen): Arrows | null {
  const parts = componentsOf(state, state.look.arrows);
  const [x, y] = screen.arrows;
  if (!parts || !x || !y) return null;
  const signs = [parts[0].toward === "east" ? 1 : -1, parts[1].toward === "north" ? 1 : -1] as const;
  return { x, y, signs, longest: longestOf(parts.map((each) => state.ranges[each.name])) };
}

/** The scale of the variable on the map beside. */
export function scaleBeside(run: Run | null, name: string, range: Range): Scale {
  const variable = variableOf({ run }, name);
  return scaleOf(variable, variable ? suitable(variable) : "batlow", null, range);
}
