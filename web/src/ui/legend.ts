/** The legends of the variable and of the difference, drawn at most 5 times a second. */
import { counted, prettyUnit, rounded, toStep, typedNumber } from "../decode/units";
import { drawLegend, HEIGHT, heightOf } from "../draw/legend";
import { DIFFERENCE, type Scale, scaleOf } from "../draw/palette";
import type { Api } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import { variableOf } from "../state/scenario";
import type { Store } from "../state/store";
import { choices, scaleBeside } from "./beside";
import { type Coloured, type Colouring, rangeOf } from "./colouring";
import { fill, h, say } from "./dom";
import type { Theme } from "./theme";

const [FEWEST, MOST] = [0.1, 3]; // width of a fit in widths of all values; round ends make it up to 2.2 wide

export function mount(element: HTMLElement, other: HTMLElement, store: Store, colouring: Colouring, theme: Theme, api: Api): void {
  const name = h("span", { id: "legend-name" });
  const unit = h("small");
  const lock = h("button", { type: "button", class: "lock small", onclick: () => hold(store) });
  const fit = h("button", { type: "button", class: "small", onclick: () => void fitted(store, api) }, "Fit to this map");
  const canvas = h("canvas", { class: "legend", role: "img" });
  const wide = h("button", { type: "button", class: "small", role: "switch" }, "Logarithm");
  wide.addEventListener("click", () => store.look({ logarithmic: wide.getAttribute("aria-checked") !== "true" }));
  const below = h("span");
  const missing = h("p", { class: "missing" }, h("i", { class: "hatch", "aria-hidden": "true" }), h("span"));
  const [low, high] = [field("Least"), field("Most")];
  const form = h("form", { class: "range", onsubmit: typed }, low, "to", high, h("button", { class: "small" }, "Set"));
  fill(
    element,
    h("h2", {}, name, unit),
    canvas,
    h("div", { class: "acts" }, lock, fit, wide),
    h("p", { class: "note" }, below),
    form,
    missing,
    choices(store),
  );

  const [otherName, otherUnit] = [h("span", { id: "legend-difference-name" }), h("small")];
  const centred = h("em", {}, "centred on 0");
  const otherCanvas = h("canvas", { class: "legend", role: "img" });
  const resolution = h("p", { class: "note" });
  fill(other, h("h2", {}, otherName, otherUnit, centred), otherCanvas, resolution);

  function field(label: string): HTMLInputElement {
    return h("input", { "aria-label": `${label} value of the colours`, inputmode: "decimal", size: 7, class: "small" });
  }
  function typed(event: SubmitEvent): void {
    event.preventDefault();
    const [least, most] = [typedNumber(low.value), typedNumber(high.value)];
    if (least === null || most === null || least >= most) {
      store.notify({ weight: "warn", text: "A range needs two numbers, the smaller one first.", lasts: 6000 });
    } else store.look({ range: [least, most] });
  }

  function show(): void {
    const { look, shown, run } = store.now;
    const variable = variableOf({ run }, shown[0]?.variable ?? look.variable);
    const units = prettyUnit(shown[0]?.units ?? variable?.units ?? "");
    say(name, variable?.long_name || variable?.name || "");
    say(unit, units);
    say(lock, look.range ? "Fixed range" : "Range of the run");
    lock.setAttribute("aria-pressed", String(look.range !== null));
    form.hidden = look.range === null;
    const { values, difference } = colouring;
    canvas.hidden = !values;
    const scale = values && scaleOf(variable, look.palette, look.logarithmic, values.range);
    lock.hidden = fit.hidden = wide.hidden = !scale || scale.names.length > 0;
    wide.setAttribute("aria-checked", String(!!scale?.logarithmic));
    say(below, scale?.logarithmic ? `0 and all below ${rounded(scale.range[0])} have the lowest colour: they are below the scale.` : "");
    missing.hidden = !values?.missing;
    if (values && scale) {
      const beyond: [boolean, boolean] = [values.range[0] < scale.range[0] || values.beyond[0], values.beyond[1]];
      paint(canvas, { ...values, ...scale, beyond }, false, units);
      say(missing.lastElementChild as Element, `missing: ${counted(values.missing, "cell")}`);
      if (!form.contains(document.activeElement)) {
        [low.value, high.value] = values.range.map((value) => rounded(value, 6)) as [string, string];
      }
    }
    const apart = colouring.other;
    other.hidden = !apart && (!difference || look.maps !== 3);
    centred.hidden = apart !== null;
    resolution.hidden = true;
    if (apart) {
      const beside = variableOf({ run }, look.other);
      const units = prettyUnit(beside?.units ?? "");
      say(otherName, beside?.long_name || look.other);
      say(otherUnit, units);
      paint(otherCanvas, { ...apart, ...scaleBeside(run, look.other, apart.range) }, false, units);
    } else if (difference && !other.hidden) {
      say(otherName, "Difference");
      const [first, second] = look.scenarios;
      say(otherUnit, `${units}, ${second} − ${first}`);
      paint(otherCanvas, { ...difference, ...scaleOf(undefined, DIFFERENCE, false, difference.range) }, true, units);
      const wide = difference.range[1] - difference.range[0];
      resolution.hidden = difference.resolution <= 0.01 * wide;
      say(resolution, `resolution ${toStep(difference.resolution, difference.resolution / 10)} ${units}`);
    }
  }
  function paint(on: HTMLCanvasElement, coloured: Coloured & Scale, signed: boolean, units: string): void {
    const ratio = window.devicePixelRatio || 1;
    const { names } = coloured;
    on.style.height = names.length ? `${heightOf(coloured)}px` : ""; // a strip has no room for all classes
    const { clientWidth: width, clientHeight: height } = on;
    if (width === 0) return;
    on.width = Math.round(width * ratio);
    on.height = Math.round(height * ratio);
    const pen = on.getContext("2d");
    if (!pen) return;
    pen.scale(ratio, ratio);
    drawLegend(pen, { ...coloured, signed }, 8, names.length ? 0 : height - HEIGHT, width - 16, theme.colours);
    const [least, most] = coloured.range.map((value) => rounded(value, 6));
    const words = names.map(([number, text]) => `${number} ${text}`).join("; ");
    on.title = words || coloured.logarithmic ? "" : "The bars grow with the square root of the number of cells.";
    on.setAttribute("aria-label", words ? `Classes: ${words}` : `Colours run from ${least} to ${most} ${units}`);
  }

  store.subscribe((state) => [state.look, state.run, state.pane, state.shown[0]?.variable, state.shown[0]?.units], show);
  colouring.follow(show);
  theme.follow(show);
  new ResizeObserver(show).observe(element);
}

/** Holds the range as it is, or takes the run's again. */
export function hold(store: Store): void {
  const range = rangeOf(store.now);
  store.look({ range: store.now.look.range || !range ? null : [range[0], range[1]] });
}

/** The range for a map of which most cells lie in `fit`: that, or from least to greatest value where it is wider or narrower by far than these. */
export function fitting({ low, high }: { low: number; high: number }, least: number, greatest: number): [number, number] {
  const share = (high - low) / (greatest - least);
  return share < FEWEST || (share > MOST && share < Number.POSITIVE_INFINITY) ? [least, greatest] : [low, high];
}

/** Holds a range that fits the map that is shown, as the server finds it. */
async function fitted(store: Store, api: Api): Promise<void> {
  const [map] = store.now.shown;
  if (!map) return;
  try {
    const { variable, scenario } = map;
    const time = map.live ? "latest" : `step:${map.step}`;
    const end = (reduce: "min" | "max") =>
      api.data(variable, { scenario, time, width: 1, height: 1, reduce }).then(
        ({ values }) => Number(values[0]),
        () => Number.NaN, // points are in no pixels
      );
    const [fit, least, greatest] = await Promise.all([api.fit(variable, scenario, time), end("min"), end("max")]);
    store.look({ range: fitting(fit, least, greatest) });
  } catch (error) {
    if (!isFailure(error)) throw error;
    store.notify({ weight: "warn", text: "No range fits this map", detail: error.message, lasts: 6000 });
  }
}
