/** The chart of pinned cells and of the region, as wide as the map: hover for values, click to look at a date, drag to zoom. */
import type uPlot from "uplot";
import { dateTicks, stepText } from "../decode/calendar";
import { grouped, prettyUnit, rounded, singleText, toStep, unbroken } from "../decode/units";
import { ticks as roundTicks } from "../draw/ticks";
import { paced } from "../state/pace";
import { scenarioNow, variableOf } from "../state/scenario";
import type { Line, Store } from "../state/store";
import { fill, h, say } from "./dom";
import { aligned } from "./lines";
import type { Theme } from "./theme";

const DATE = 90; // [CSS pixel] of a date on the axis
const STATISTIC = 6; // digits of what is told of a region; the CSV file has all
const EDGE = 35; // [CSS pixel] of a date that stands at the edge
const NUMBER = 26; // [CSS pixel] between two numbers on the axis
const FONT = "11px Inter, system-ui, sans-serif";
const AGAIN = 5000; // [ms] after uPlot could not be fetched

export function mount(element: HTMLElement, store: Store, theme: Theme): void {
  const host = h("div", { class: "plot", role: "img" });
  const told = h("p", { class: "told" });
  const why = h("p", { class: "why" });
  const bar = h("progress", { "aria-label": "Progress of computing again" });
  const stop = h("button", { type: "button", class: "small", onclick: () => store.change({ filling: !store.now.filling }) });
  const whole = h("button", { type: "button", class: "small", onclick: () => zoom(null) }, "Whole length");
  fill(element, told, host, h("div", { class: "row-of-chart" }, why, bar, stop, whole));
  let Plot: typeof uPlot | null = null;
  let plot: uPlot | null = null;
  let made = "";
  let most = 0; // steps that were to be computed again

  /** The lines that are drawn, and names of numbers: of classes a region has none. */
  function lines(): { series: readonly Line[]; classes: Readonly<Record<string, string>> } {
    const { series, look } = store.now;
    const { classes = {} } = variableOf(store.now, look.variable) ?? {};
    return { series: Object.keys(classes).length ? series.filter((line) => !line.low) : series, classes };
  }
  function zoom(span: [number, number] | null): void {
    store.change({ zoomed: span });
    plot?.setData(plot.data, span === null);
  }
  function draw(): void {
    const { run, look, zoomed } = store.now;
    const { series } = lines();
    element.hidden = series.length === 0;
    if (!run || element.hidden) return;
    if (!Plot) return fetchPlot();
    const { steps, columns } = aligned(series);
    const { muted, line, ink } = theme.colours;
    const shape = JSON.stringify([series.map(({ pin, scenario, low }) => [pin, scenario, !!low]), muted, run.clock, look.variable]);
    if (shape !== made) {
      made = shape;
      plot?.destroy();
      plot = new Plot(options(series, { muted, line, ink }), [steps, ...columns] as uPlot.AlignedData, host);
      if (zoomed) store.change({ zoomed: null });
    } else plot?.setData([steps, ...columns] as uPlot.AlignedData, zoomed === null);
    const [first, last] = [stepText(run.clock, steps[0] ?? 0), stepText(run.clock, steps.at(-1) ?? 0)];
    host.setAttribute("aria-label", `Series of ${series.length} lines, from ${first} to ${last}`);
  }
  /** Fetches uPlot with the first line to draw: the first map does not wait for it. */
  function fetchPlot(): void {
    import("uplot").then(
      (found) => {
        Plot = found.default;
        draw();
      },
      () => setTimeout(soon, AGAIN),
    );
  }
  function options(series: readonly Line[], { muted, line, ink }: { muted: string; line: string; ink: string }): uPlot.Options {
    const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: FONT };
    const { run, look } = store.now;
    const { classes } = lines();
    const named = Object.keys(classes).length > 0;
    const ticks = (from: number, to: number) => (run ? dateTicks(run.clock, from, to, Math.max(2, host.clientWidth / DATE)) : []);
    /** The classes that the lines have, as many as there is room for. */
    const classTicks = (from: number, to: number) => {
      const [found, apart] = [lines().series.flatMap(({ values }) => values), ((to - from) * NUMBER) / host.clientHeight];
      let last = Number.NEGATIVE_INFINITY;
      return Object.keys(classes)
        .map(Number)
        .sort((one, other) => one - other)
        .filter((each) => {
          const fits = found.includes(each) && each >= from && each <= to && each - last >= apart;
          if (fits) last = each;
          return fits;
        });
    };
    const alone = (column: uPlot.AlignedData[number], at: number) => {
      const known = (from: number, by: number): boolean => {
        for (let k = from; k in column; k += by) if (column[k] !== undefined) return column[k] !== null;
        return false;
      };
      return typeof column[at] === "number" && !known(at - 1, -1) && !known(at + 1, 1);
    };
    const drawn = series.flatMap((each): uPlot.Series[] => {
      const colour = each.pin ? theme.pin(each.pin) : ink;
      const thin = { stroke: "transparent", width: 0, points: { show: false } };
      const filter = (self: uPlot, index: number) => {
        const column = self.data[index] ?? [];
        return [...column.keys()].filter((at) => alone(column, at)); // between gaps
      };
      const dash = each.scenario === look.scenarios[0] ? [] : [5, 4];
      return [
        { label: each.scenario, stroke: colour, width: 1.6, dash, points: { show: true, filter, size: 4 } },
        ...(each.low ? [thin, thin] : []),
      ];
    });
    const bands: uPlot.Band[] = [];
    let at = 1;
    for (const each of series) {
      if (each.low) bands.push({ series: [at + 2, at + 1], fill: `color-mix(in srgb, ${ink} 14%, transparent)` });
      at += each.low ? 3 : 1;
    }
    return {
      ...{ width: Math.max(host.clientWidth, 50), height: Math.max(host.clientHeight, 90) },
      ...{
        padding: [6, EDGE, 0, (self) => (self.scales.y?.min == null ? EDGE : 0)] as uPlot.Padding, // numbers have the room at the left
        legend: { show: false },
        bands,
        series: [{}, ...drawn],
        scales: { x: { time: false } },
      },
      cursor: { points: { size: 6 }, y: false, drag: { x: true, y: false } },
      axes: [
        {
          ...{ ...axis, size: 28, splits: (_, __, from, to) => ticks(from, to).map(({ step }) => step) },
          values: (self, splits) => {
            const { min, max } = self.scales.x ?? {};
            const texts = new Map(ticks(min ?? 0, max ?? 0).map(({ step, text }) => [step, text]));
            return splits.map((step) => texts.get(step) ?? "");
          },
        },
        {
          ...{ ...axis, incrs: () => [Number.MAX_VALUE] }, // unused: uPlot only draws an axis for which it finds a step
          splits: (_, __, from, to) => (named ? classTicks(from, to) : roundTicks(from, to, host.clientHeight / NUMBER - 1)),
          values: (_, values) => (named ? values.map((value) => classes[value] ?? "") : axisTexts(values)),
          size: (self, texts) => widest(self.ctx, texts ?? []),
        },
      ],
      hooks: {
        setCursor: [
          (self) => {
            const { idx, left } = self.cursor;
            const step = idx === null || idx === undefined || (left ?? -1) < 0 ? null : (self.data[0][idx] ?? null);
            if (step !== store.now.pointed) store.change({ pointed: step });
          },
        ],
        setSelect: [
          (self) => {
            const [from, to] = [self.select.left, self.select.left + self.select.width].map((x) => Math.round(self.posToVal(x, "x")));
            if (from !== undefined && to !== undefined && to > from) store.change({ zoomed: [from, to] });
          },
        ],
        ready: [(self) => listen(self)],
      },
    };
  }
  function listen(self: uPlot): void {
    let begun = 0;
    self.over.addEventListener("mousedown", ({ clientX }) => {
      begun = clientX;
    });
    self.over.addEventListener("click", ({ clientX }) => {
      const { look, pointed } = store.now;
      const stands = scenarioNow(store.now, look.scenarios[0])?.step ?? 0;
      if (Math.abs(clientX - begun) < 4 && pointed !== null) store.change({ preview: pointed >= stands ? null : pointed });
    });
    self.over.addEventListener("dblclick", () => zoom(null));
  }

  function write(): void {
    const { pointed, preview, shown, run, look, pins, filling, zoomed } = store.now;
    const { series, classes } = lines();
    if (!run || element.hidden) return;
    const at = pointed ?? preview ?? shown[0]?.step ?? scenarioNow(store.now, look.scenarios[0])?.step ?? 0;
    const unit = prettyUnit(variableOf({ run }, look.variable)?.units ?? "");
    const both = new Set(series.map((each) => each.scenario)).size > 1;
    fill(
      told,
      h("b", {}, stepText(run.clock, at)),
      ...series.map((line) => {
        const number = pins.findIndex((pin) => pin.colour === line.pin);
        const mark = h("i", { "aria-hidden": "true" }, line.pin ? String(number + 1) : "∅");
        if (line.pin) mark.style.color = theme.pin(line.pin);
        const text = lineText(line, at, classes, scenarioNow(store.now, line.scenario)?.step);
        return h("span", {}, mark, ` ${both ? `${line.scenario} ` : ""}${text}${/[0-9]/.test(text) ? ` ${unit}` : ""}`);
      }),
    );
    const reasons = new Map<string, { whose: string; reason: string; span: [number, number] }>();
    for (const { scenario, gaps } of series) {
      for (const { reason, first, last } of gaps) {
        const [from, to] = reasons.get(`${scenario} ${reason}`)?.span ?? [first, last];
        reasons.set(`${scenario} ${reason}`, {
          whose: both ? `${scenario}, ` : "",
          reason,
          span: [Math.min(from, first), Math.max(to, last)],
        });
      }
    }
    const words = [...reasons.values()].map(({ whose, reason, span }) => {
      const dates = [...new Set(span)].map((step) => stepText(run.clock, step)).join(" to ");
      return `${whose}${dates}: values are missing. ${reason}`;
    });
    say(why, words.join(" "));
    why.tabIndex = words.length ? 0 : -1; // long reasons are scrolled by keys, too
    const left = series.flatMap((line) => line.gaps.filter((gap) => gap.open)).reduce((sum, { first, last }) => sum + last - first + 1, 0);
    most = left ? Math.max(most, left) : 0;
    bar.hidden = left === 0 || !filling;
    stop.hidden = left === 0;
    say(stop, filling ? "Stop" : "Compute them again");
    whole.hidden = zoomed === null;
    Object.assign(bar, { max: most || 1, value: most - left });
  }
  const soon = paced(5, () => {
    draw();
    write();
  });
  store.subscribe((state) => [state.series, state.pins, state.shown, state.look, state.zoomed, state.filling, state.preview], soon);
  store.subscribe((state) => state.pointed, write);
  theme.follow(soon);
  new ResizeObserver(() => plot?.setSize({ width: Math.max(host.clientWidth, 50), height: Math.max(host.clientHeight, 90) })).observe(host);
}

/** Numbers of an axis, all written in one way. */
export function axisTexts(values: readonly number[]): string[] {
  const [first = 0, second = 1] = values;
  const most = Math.max(...values.map(Math.abs));
  return values.map((value) => toStep(value, Math.abs(second - first) || 1, most));
}

/** How wide an axis with these texts is [CSS pixel]. */
function widest(pen: CanvasRenderingContext2D, texts: readonly string[]): number {
  pen.save();
  pen.font = FONT; // uPlot's own is in pixels of the screen
  const width = Math.max(28, ...texts.map((text) => Math.min(pen.measureText(text).width, 160)));
  pen.restore();
  return Math.ceil(width) + 14;
}

/**
 * What a line has at a step, in the server's digits as float32, of a region in fewer: "…" before it has come. classes: names of numbers, of which
 * there is no mean; stands: where its scenario stands.
 */
export function lineText(
  line: Line,
  step: number,
  classes: Readonly<Record<string, string>> = {},
  stands = Number.POSITIVE_INFINITY,
): string {
  const index = line.steps.indexOf(step);
  const told = (write: (value: number) => string) => (values: readonly (number | null)[] | undefined) => {
    const value = values?.[index];
    return value === null || value === undefined ? "missing" : unbroken(write(value));
  };
  const text = told((value) => classes[value] ?? grouped(singleText(value)));
  const short = told((value) => rounded(value, STATISTIC));
  if (line.gaps.some((gap) => gap.first <= step && step <= gap.last)) return "no value";
  if (index < 0 && step > stands) return "not reached";
  if (index < 0) return step < 1 ? "" : "…";
  if (line.low && Object.keys(classes).length) return text(line.low) === text(line.high) ? text(line.low) : "";
  return line.low ? `${short(line.values)} (${short(line.low)} to ${short(line.high)})` : text(line.values);
}
