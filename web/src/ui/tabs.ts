/** The tabs of the side panel: one pane is seen at a time; arrow keys go from tab to tab. Where the page is narrow the legends stand at the map. */
import type { Pane, Store } from "../state/store";
import { byId } from "./dom";

const PANES: Pane[] = ["look", "steer", "scenarios", "log"];

export function mount(element: HTMLElement, store: Store): void {
  const tabs = PANES.map((pane) => byId<HTMLButtonElement>(`tab-${pane}`));
  store.follow(["pane"], ({ pane }) =>
    tabs.forEach((tab, index) => {
      const chosen = PANES[index] === pane;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      byId(`pane-${PANES[index]}`).hidden = !chosen;
    }),
  );
  for (const [index, tab] of tabs.entries()) tab.addEventListener("click", () => store.change({ pane: PANES[index] ?? "look" }));
  element.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (PANES.indexOf(store.now.pane) + step + PANES.length) % PANES.length;
    store.change({ pane: PANES[next] ?? "look" });
    tabs[next]?.focus();
  });
  const narrow = matchMedia("(max-width: 1099px)"); // as in style.css: there the legend is a strip at the foot of the map
  const place = () => {
    const legends = [byId("legend"), byId("legend-difference")];
    if (narrow.matches) byId("map").after(...legends);
    else byId("pane-look").prepend(...legends);
  };
  narrow.addEventListener("change", place);
  place();
}
