/** Profiles: the values of all levels at each pinned cell, at the date that is shown, the ground below. */
import { exactText, prettyUnit, rounded } from "../decode/units";
import type { Api, Series } from "../fetch/api";
import { labelOf, parted } from "../state/levels";
import { paced } from "../state/pace";
import { scenarioNow, variableOf } from "../state/scenario";
import type { Store } from "../state/store";
import type { Levels } from "../state/told";
import { fill, s } from "./dom";
import type { Theme } from "./theme";

const [WIDTH, HEIGHT, LEFT] = [260, 150, 86]; // LEFT: room for seven digits and a unit

export function mount(element: HTMLElement, store: Store, theme: Theme, api: Api): void {
  const drawing = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "profile" });
  element.append(drawing);
  let asked = "";

  async function write(): Promise<void> {
    const { look, pins, shown, info } = store.now;
    const [name, level] = parted(look.variable);
    const variable = variableOf(store.now, name);
    const [map] = shown;
    drawing.toggleAttribute("hidden", !variable?.levels || pins.length === 0);
    if (!variable?.levels || !map || pins.length === 0) return;
    const version = info?.scenarios.find((each) => each.name === map.scenario)?.version;
    const key = JSON.stringify([name, level, pins, map.scenario, map.step, version, document.documentElement.dataset.theme]);
    if (key === asked) return;
    asked = key;
    const stands = scenarioNow(store.now, map.scenario)?.step;
    const where = { scenario: map.scenario, time: map.live || map.step === stands ? "latest" : `step:${map.step}` };
    const found = await Promise.all(pins.map((pin) => api.series(name, { at: [pin.place] }, where).catch(() => null)));
    if (asked !== key) return;
    if (found.includes(null)) asked = ""; // it may be there with the next frame
    draw(found, variable.levels, `${variable.long_name || name}`, prettyUnit(variable.units), level);
  }

  function draw(found: readonly (Series | null)[], levels: Levels, title: string, units: string, looked: number | null): void {
    const { pins } = store.now;
    const lines = found.map((series) => series?.values.map((line) => line.at(-1) ?? null) ?? []);
    const known = lines.flat().filter((value) => value !== null);
    const low = Math.min(0, ...known);
    const high = Math.max(low, ...known);
    const rising = (levels.values.at(-1) ?? 0) > (levels.values[0] ?? 0);
    const upward = levels.positive ? rising === (levels.positive === "up") : true; // whether the last level is the highest
    const y = (level: number) => {
      const part = (level + 0.5) / levels.values.length;
      return 8 + (HEIGHT - 30) * (upward ? 1 - part : part);
    };
    const x = (value: number) => LEFT + ((WIDTH - LEFT - 10) * (value - low)) / (high - low || 1);
    const every = Math.ceil(levels.values.length / 8);
    const names = levels.values.map((_, level) => labelOf(levels, level, prettyUnit));
    const scale = names.flatMap((text, level) => {
      const line = s("line", { x1: LEFT, x2: WIDTH - 10, y1: y(level), y2: y(level), class: level === looked ? "looked" : "" });
      return level % every ? [line] : [line, s("text", { x: LEFT - 6, y: y(level) + 4, "text-anchor": "end" }, text)];
    });
    const end = (text: string, at: number, anchor: string) => s("text", { x: at, y: HEIGHT - 4, "text-anchor": anchor }, text);
    const ends = !known.length
      ? [end("no values at hand", WIDTH - 10, "end")]
      : high > low
        ? [end(rounded(low), LEFT, "start"), end(`${rounded(high)} ${units}`, WIDTH - 10, "end")]
        : [end(`${rounded(low)} ${units}`, LEFT, "start")];
    const drawn = lines.map((line, index) => {
      const points = line.flatMap((value, level) => (value === null ? [] : [`${x(value)},${y(level)}`]));
      const drawnLine = s("polyline", { points: points.join(" "), fill: "none", "stroke-width": 2 });
      drawnLine.style.stroke = theme.pin(pins[index]?.colour ?? 1);
      return drawnLine;
    });
    const said = lines.map((line, index) => {
      const parts = line.map((value, level) => `${value === null ? "no value" : exactText(value)} at ${names[level]}`);
      return `${lines.length > 1 ? `pin ${index + 1}: ` : ""}${parts.join("; ")}`;
    });
    drawing.setAttribute("aria-label", `Profile of ${title}: ${said.join(". ")}`);
    fill(drawing, s("title", {}, `Profile of ${title}`), ...scale, ...ends, ...drawn);
  }
  const soon = paced(2, () => void write());
  store.follow(["look", "pins", "shown", "info"], soon);
  theme.follow(soon);
}
