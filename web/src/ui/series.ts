/** Pinned cells and the region in short: each with its value at the date that is shown. The chart has the rest. */
import { placeText, prettyUnit } from "../decode/units";
import { paced } from "../state/pace";
import { scenarioNow, variableOf } from "../state/scenario";
import type { Line, Store } from "../state/store";
import type { Actions } from "./actions";
import { lineText } from "./chart";
import { fill, h, say } from "./dom";
import { mount as mountRegion } from "./region";
import type { Theme } from "./theme";
import { regionText } from "./wording";

export function mount(element: HTMLElement, store: Store, theme: Theme, actions: Actions): void {
  const unit = h("small");
  const list = h("ul", { class: "pins" });
  const means = h("p", { class: "means" });
  fill(element, h("h2", {}, h("span", { id: "series-name" }, "Pinned cells"), unit), list, means);
  mountRegion(element, store, actions);

  function write(): void {
    const { pins, look, shown, series } = store.now;
    const at = shown[0]?.step ?? 0;
    const { classes = {}, units: unitsOf = "" } = variableOf(store.now, look.variable) ?? {};
    const units = prettyUnit(unitsOf);
    const textOf = (line: Line) => lineText(line, at, classes, scenarioNow(store.now, line.scenario)?.step);
    say(unit, units);
    fill(
      list,
      ...pins.map((pin, index) => {
        const square = h("i", { "aria-hidden": "true" }, String(index + 1));
        square.style.borderColor = square.style.color = theme.pin(pin.colour);
        const values = series.filter((line) => line.pin === pin.colour).map(textOf);
        const gone = () => store.change({ pins: store.now.pins.filter((each) => each !== pin) });
        const remove = h("button", { type: "button", class: "quiet small", "aria-label": `Remove pin ${index + 1}`, onclick: gone }, "×");
        return h(
          "li",
          {},
          square,
          h("span", {}, placeText(pin.place)),
          h("b", {}, ...values.flatMap((text, index) => [index ? " | " : "", h("span", {}, text)])),
          remove,
        );
      }),
      pins.length === 0 && h("li", { class: "faint" }, "Click a cell to follow it."),
    );
    const regions = series.filter((line) => line.pin === 0);
    means.hidden = regions.length === 0;
    const numbers = Object.keys(classes).length === 0;
    const texts = regions.flatMap((line) => {
      const text = textOf(line);
      return text ? `${look.maps > 1 ? `${line.scenario}: ` : ""}${numbers ? `mean ${text} ${units}` : text}` : [];
    });
    const [region] = regions;
    say(means, [`Region ${regionText(region?.selection, region?.cells)}`, texts.join("; ")].filter(Boolean).join(": "));
  }
  const soon = paced(5, write);
  store.follow(["series", "pins", "shown", "look", "pane"], soon);
  theme.follow(soon);
}
