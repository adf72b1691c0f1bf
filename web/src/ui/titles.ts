/** The words over each map: the scenario, the variable, the unit, the date, and what is not as usual. */
import { stepText } from "../decode/calendar";
import { prettyUnit, rounded } from "../decode/units";
import type { Mode } from "../draw/field";
import { besides, scenarioNow, variableOf } from "../state/scenario";
import type { State } from "../state/store";
import type { Panel } from "../state/view";
import { fill, h } from "./dom";

export interface Title {
  title: string;
  text: string;
}

export function titlesOf(
  { run, info, reached, shown, numbers, look, preview, not_at_hand, connection }: State,
  modes: readonly Mode[],
): Title[] {
  const [first, second] = look.scenarios;
  const variable = variableOf({ run }, look.variable);
  const apart = besides(look);
  const dated = (index: number) => {
    const frame = shown[index];
    if (variable && !variable.map) {
      const name = variable.long_name || variable.name;
      const number = numbers[look.scenarios[index] ?? ""];
      const value = number === undefined ? "" : ` ${rounded(number, 9)} ${prettyUnit(variable.units)}`;
      return `${name}:${value}, one number of the whole grid: it has no map and no series`;
    }
    const absent = run && preview !== null && preview === not_at_hand ? `${stepText(run.clock, preview)} is not at hand` : "";
    if (!frame || !run) {
      if (absent && connection.link === "live") return `${absent}: look at another date`;
      const last = scenarioNow({ info, reached }, look.scenarios[index])?.step === run?.steps;
      const why = last ? "no value of its last step: look at an earlier date" : "no value yet: it comes with the next step";
      return run && connection.link === "live" ? why : "";
    }
    const name = variableOf({ run }, frame.variable)?.long_name || frame.variable;
    const words = [name, prettyUnit(frame.units), stepText(run.clock, frame.step)];
    if (look.smooth) words.push("smoothed");
    if (preview !== null && !frame.live) words.push("past");
    if (absent) words.push(absent);
    if (connection.link !== "live") words.push("not live");
    return words.filter(Boolean).join(", ");
  };
  return modes.map((mode) => {
    if (mode !== 2) return { title: (mode === 1 && !apart ? second : first) ?? "", text: dated(mode) };
    const unequal = shown.length > 1 && shown[0]?.step !== shown[1]?.step;
    const none = unequal ? "no difference: the dates differ" : variable?.map === "classes" && "no difference: its numbers name classes";
    return { title: `${second} − ${first}`, text: none || dated(0) };
  });
}

/** What the words depend on. */
export function titled({ look, run, info, reached, preview, not_at_hand, connection, shown, numbers }: State): unknown[] {
  return [
    run,
    ...look.scenarios.map((name) => scenarioNow({ info, reached }, name)?.step === run?.steps),
    numbers,
    look.variable,
    look.other,
    look.scenarios,
    look.maps,
    look.smooth,
    preview,
    not_at_hand,
    connection.link,
    ...shown.flatMap((each) => [each.variable, each.step, each.units, each.live]),
  ];
}

const TIGHT = 500; // [CSS pixel] of a map: in one that is narrower the title is small

/** panels: in device pixels; ratio: device pixels a CSS pixel. */
export function showTitles(place: Element, titles: readonly Title[], panels: readonly Panel[], ratio: number): void {
  const boxes = titles.flatMap(({ title, text }, index) => {
    const panel = panels[index];
    if (!panel) return [];
    const tight = panel.width / ratio < TIGHT ? " tight" : "";
    const box = h("div", { class: `title${tight}` }, h("b", {}, title), h("small", {}, text));
    box.style.setProperty("--x", `${panel.x / ratio}px`);
    box.style.setProperty("--w", `${panel.width / ratio}px`);
    box.style.setProperty("--y", `${panel.y / ratio}px`);
    if (index === 0) return [box];
    const split = h("div", { class: panel.x > 0 ? "split" : "split flat" });
    split.style[panel.x > 0 ? "left" : "top"] = `${(panel.x || panel.y) / ratio}px`;
    return [split, box];
  });
  fill(place, ...boxes);
}
