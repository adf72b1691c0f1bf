/** The frame around the map of the scenario that orders go to, where there are several. */
import { LEFT, onView } from "../state/scenario";
import type { State } from "../state/store";
import type { Panel } from "../state/view";
import { h } from "./dom";

/** modes: 1 for the map of the second scenario, 2 for the difference; panels: in device pixels; ratio: device pixels a CSS pixel. */
export function accent(
  place: Element,
  { look, info, steered, viewer }: State,
  modes: readonly number[],
  panels: readonly Panel[],
  ratio: number,
): void {
  if (!viewer?.may_steer || (info?.scenarios ?? []).filter((each) => !LEFT.test(each.name)).length < 2) return;
  const panel = panels[modes.findIndex((mode) => mode !== 2 && (onView(look)[mode] ?? look.scenarios[0]) === steered)];
  if (!panel) return;
  const frame = h("div", { class: "steered" });
  for (const [side, length] of Object.entries({ left: panel.x, top: panel.y, width: panel.width, height: panel.height })) {
    frame.style.setProperty(side, `${length / ratio}px`);
  }
  place.append(frame);
}
