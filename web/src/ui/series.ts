/** Series of pinned cells and of the region: colour and number tell the cell, the dash tells the scenario. */
import uPlot from "uplot";
import { momentOf, monthText, stepText } from "../decode/calendar";
import { readAt } from "../decode/frame";
import type { Screen } from "../decode/screen";
import { placeText, prettyUnit, rounded, toStep } from "../decode/units";
import { paced } from "../state/pace";
import type { Line, Store } from "../state/store";
import type { Actions } from "./actions";
import { fill, h, say } from "./dom";
import { aligned } from "./lines";
import { mount as mountRegion } from "./region";
import type { Theme } from "./theme";

const ROUND = Array.from({ length: 16 }, (_, k) => [1, 2, 5].map((each) => each * 10 ** (k - 6))).flat(); // between two lines of the axis

export function mount(element: HTMLElement, store: Store, screen: Screen, theme: Theme, actions: Actions): void {
  const unit = h("small");
  const key = h("em");
  const host = h("div", { class: "plot", role: "img" });
  const list = h("ul", { class: "pins" });
  const means = h("p", { class: "means" });
  fill(element, h("h2", {}, h("span", { id: "series-name" }, "Pinned cells"), unit, key), host, means, list);
  mountRegion(element, store, actions);
  let plot: uPlot | null = null;
  let made = "";

  function size(): { width: number; height: number } {
    return { width: Math.max(host.clientWidth, 50), height: Math.max(host.clientHeight, 110) };
  }
  function draw(): void {
    const { series, look, run } = store.now;
    host.hidden = series.length === 0;
    const names = look.maps > 1 ? look.scenarios : look.scenarios.slice(0, 1);
    say(key, names.length > 1 ? `— ${names[0]}  - - ${names[1]}` : "");
    if (!run || host.hidden || element.closest("[hidden]")) return;
    const { steps, columns } = aligned(series);
    const { muted, line, ink } = theme.colours;
    const shape = JSON.stringify([series.map(({ pin, scenario, low }) => [pin, scenario, !!low]), muted, run.clock]);
    if (shape !== made) {
      made = shape;
      plot?.destroy();
      plot = new uPlot(options(series, { muted, line, ink }), [steps, ...columns], host);
    } else plot?.setData([steps, ...columns]);
    host.setAttribute(
      "aria-label",
      `Series of ${series.length} lines, from ${stepText(run.clock, steps[0] ?? 0)} to ${stepText(run.clock, steps.at(-1) ?? 0)}`,
    );
  }
  function options(series: readonly Line[], { muted, line, ink }: { muted: string; line: string; ink: string }): uPlot.Options {
    const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px Inter, system-ui, sans-serif" };
    const clock = store.now.run?.clock;
    const dated = (steps: number[]) =>
      steps.map((step) => {
        const moment = clock && momentOf(clock, Math.round(step));
        if (!moment) return String(step);
        return (steps.at(-1) ?? 0) - (steps[0] ?? 0) > 200 ? monthText(moment) : stepText(clock, Math.round(step)).replace(/ \d{4}.*$/, "");
      });
    const lines = series.flatMap((each): uPlot.Series[] => {
      const colour = each.pin ? theme.pin(each.pin) : ink;
      const dash = each.scenario === store.now.look.scenarios[0] ? [] : [5, 4];
      const thin = { stroke: "transparent", width: 0, points: { show: false } };
      return [
        { label: each.scenario, stroke: colour, width: 1.6, dash, points: { show: (_: uPlot, index: number) => alone(index) } },
        ...(each.low ? [thin, thin] : []),
      ];
    });
    const alone = (index: number) => (plot?.data[index] ?? []).filter((value) => value !== null).length === 1;
    const bands: uPlot.Band[] = [];
    let at = 1;
    for (const each of series) {
      if (each.low)
        bands.push({ series: [at + 2, at + 1], fill: `color-mix(in srgb, ${each.pin ? theme.pin(each.pin) : ink} 14%, transparent)` });
      at += each.low ? 3 : 1;
    }
    return {
      ...size(),
      ...{ legend: { show: false }, bands, series: [{}, ...lines], scales: { x: { time: false } } },
      cursor: { points: { size: 6 }, y: false },
      axes: [
        { ...axis, space: 70, incrs: [1, 2, 5, 10, 20, 30, 61, 91, 182, 365, 730, 1826, 3652], values: (_, steps) => dated(steps) },
        {
          ...axis,
          ...{ size: 52, space: 26, incrs: ROUND },
          values: (_, values) => values.map((value) => toStep(value, Math.abs((values[1] ?? 1) - (values[0] ?? 0)) || 1)),
        },
      ],
    };
  }
  function write(): void {
    const { pins, look, shown, region_means } = store.now;
    const units = prettyUnit(shown[0]?.units ?? "");
    say(unit, units);
    fill(
      list,
      ...pins.map((pin, index) => {
        const square = h("i", { "aria-hidden": "true" }, String(index + 1));
        square.style.borderColor = square.style.color = theme.pin(pin.colour);
        const values = shown.slice(0, look.maps > 1 ? 2 : 1).map((_, which) => pinText(store, screen, which, pin.cell));
        const where = placeText(pin.place);
        const gone = () => store.change({ pins: store.now.pins.filter((each) => each !== pin) });
        const remove = h(
          "button",
          { type: "button", class: "quiet small", "aria-label": `Take pin ${index + 1} away`, onclick: gone },
          "×",
        );
        return h("li", {}, square, h("span", {}, where), h("b", {}, values.join(" | ")), remove);
      }),
      pins.length === 0 && h("li", { class: "faint" }, "Click a cell to follow it."),
    );
    means.hidden = region_means.length === 0;
    const text = region_means.map(({ scenario, mean, low, high, cells }) => {
      const range = `${rounded(low)} to ${rounded(high)}`;
      return `${look.maps > 1 ? `${scenario}: ` : ""}mean ${rounded(mean)} ${units}, ${range}, ${cells} cells`;
    });
    say(means, text.length ? `Region: ${text.join("; ")}` : "");
  }
  const soon = paced(5, () => {
    draw();
    write();
  });
  store.subscribe((state) => [state.series, state.pins, state.shown, state.look, state.region_means, state.pane], soon);
  theme.follow(soon);
  new ResizeObserver(() => plot?.setSize(size())).observe(host);
}

/** The value of a cell in as many digits as its frame tells apart; the unit stands above. */
function pinText(store: Store, screen: Screen, which: number, cell: number): string {
  const { grid } = store.now;
  const frame = screen.frames[which];
  if (!frame || !grid || frame.columns !== grid.columns) return "";
  const value = readAt(frame, cell);
  if (value === undefined) return "outside";
  return Number.isNaN(value) ? "missing" : toStep(value, Math.max(frame.scale, Math.abs(value) * 1e-4));
}
