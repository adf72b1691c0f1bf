/** The handle of the line between two scenarios that are shown over each other. */
import { mapsOf } from "../state/scenario";
import type { Store } from "../state/store";
import { h } from "./dom";
import type { MapView } from "./map";

export function mount({ element }: MapView, store: Store): void {
  const handle = h("div", { class: "swipe", role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": 100 });
  element.append(handle);
  const move = (share: number) => store.change({ swipe: Math.min(Math.max(share, 0), 1) });
  handle.addEventListener("pointerdown", (event) => {
    event.stopPropagation(); // the map would move
    handle.setPointerCapture(event.pointerId);
  });
  handle.addEventListener("pointermove", ({ pointerId, clientX }) => {
    const { x, width } = element.getBoundingClientRect();
    if (handle.hasPointerCapture(pointerId)) move((clientX - x) / width);
  });
  handle.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -0.02, ArrowRight: 0.02, Home: -1, End: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    move(store.now.swipe + by);
  });
  store.follow(["look.maps", "look.scenarios", "swipe"], ({ look, swipe }) => {
    handle.hidden = look.maps !== 4 || mapsOf(look).length < 2;
    handle.style.left = `${100 * swipe}%`;
    handle.setAttribute("aria-valuenow", String(Math.round(100 * swipe)));
    handle.setAttribute("aria-label", `Line between ${look.scenarios.join(" and ")}`);
  });
}
