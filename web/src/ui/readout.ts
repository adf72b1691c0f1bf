/** What is the value here: the cell under the pointer, in the server's own numbers. */
import { stepText } from "../decode/calendar";
import type { Screen } from "../decode/screen";
import { areaText, exactText, grouped, placeText, prettyUnit, unbroken } from "../decode/units";
import { areaOf, centreOf, degreesOf, rowOf } from "../state/grid";
import { paced } from "../state/pace";
import { besides, variableOf } from "../state/scenario";
import type { Reading, Store } from "../state/store";
import { fill, h } from "./dom";

/** The value of a cell in words, in the server's digits: "…" until it has come. */
export function valueText(store: Store, screen: Screen, index: number, cell: number, reading: Reading | undefined): string {
  const { grid, shown } = store.now;
  const [frame, facts] = [screen.frames[index], shown[index]];
  if (!frame || !facts || !grid) return "";
  const unit = prettyUnit(facts.units);
  const { classes = {} } = variableOf(store.now, facts.variable) ?? {};
  if (grid.active && !grid.active[cell]) return "outside the model";
  if (reading && reading.cell === cell && facts.live) {
    return reading.value === null ? "missing" : worded(reading.value, reading.text);
  }
  const value = frame.exact?.[cell];
  if (value === undefined || frame.rows !== grid.rows || frame.columns !== grid.columns) return "…";
  return Number.isFinite(value) ? worded(value, exactText(value)) : "missing";

  function worded(value: number, text: string): string {
    const kind = classes[String(value)];
    return kind ? `${kind} (${value})` : `${unbroken(grouped(text))} ${unit}`.trim();
  }
}

export function mount(element: HTMLElement, store: Store, screen: Screen): void {
  const list = h("dl");
  const head = h("span", { id: "readout-name" }, "Under the pointer");
  fill(element, h("h2", {}, head), list);

  function show(): void {
    const { cursor, grid, run, look, shown } = store.now;
    if (cursor.cell === null || !grid || !run) {
      fill(list, h("dt", {}, "Cell"), h("dd", { class: "faint" }, "Point at the map"));
      return;
    }
    const { cell } = cursor;
    const rows: [string, string][] = [["Cell centre", centreText()]];
    const readings = shown.map((frame) => cursor.readings[frame.stream]);
    shown.forEach((frame, index) => {
      rows.push([
        besides(look) ? nameOf(frame.variable) : look.maps > 1 ? frame.scenario : "Value",
        valueText(store, screen, index, cell, readings[index]),
      ]);
    });
    const [a, b] = look.maps === 3 && variableOf(store.now, shown[0]?.variable)?.map !== "classes" ? readings : [];
    if (a && b && a.cell === cell && b.cell === cell && a.step === b.step && a.value !== null && b.value !== null) {
      const difference = Number((b.value - a.value).toPrecision(7));
      rows.push(["Difference", `${difference > 0 ? "+" : ""}${grouped(String(difference))} ${prettyUnit(shown[0]?.units ?? "")}`]);
    }
    const area = areaOf(grid, cell);
    if (area !== null) rows.push(["Area", areaText(area)]);
    const steps = shown.map((frame, index) => (frame.live && readings[index]?.cell === cell ? (readings[index]?.step ?? 0) : frame.step));
    if (shown[0]) rows.push(["Date", [...new Set(steps)].map((step) => stepText(run.clock, step)).join(" and ")]);
    fill(list, ...rows.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]));
  }
  function nameOf(name: string): string {
    return variableOf(store.now, name)?.long_name || name;
  }
  function centreText(): string {
    const { cursor, grid } = store.now;
    if (!grid || cursor.cell === null) return "";
    const place = degreesOf(grid, cursor.cell);
    const [x, y] = centreOf(grid, cursor.cell);
    const words = place ? placeText(place) : `${grouped(String(x))}, ${grouped(String(y))} m`;
    if (grid.kind === "points") return `${words}\n${grid.ids?.[cursor.cell] ?? `point ${cursor.cell}`}`;
    const [row, column] = rowOf(grid, cursor.cell);
    const evenly = grid.latitudes ? "\nrows are drawn evenly: less than 0.014 of a cell off" : "";
    return `${words}\nrow ${row}, column ${column}${evenly}`;
  }
  const soon = paced(10, show);
  store.follow(["cursor", "shown", "grid", "look.maps"], soon);
  store.follow(["cursor.cell"], show);
}
