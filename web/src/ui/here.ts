/** A button beside a region that is drawn: it leads to a change in this region. */
import type { Store } from "../state/store";
import { toPixel } from "../state/view";
import { byId, h, say } from "./dom";
import { cornersOf, type MapView } from "./map";
import { barred, ordered } from "./orders";

export function mount(map: MapView, store: Store): void {
  const button = h("button", { type: "button", class: "small here" });
  button.addEventListener("click", () => {
    store.change({ pane: "steer" });
    byId("parameters").dispatchEvent(new Event("here"));
  });
  for (const heard of ["pointerdown", "pointerup", "keydown"]) button.addEventListener(heard, (event) => event.stopPropagation()); // it is no place on the map
  map.element.append(button);
  const place = () => {
    const { selection, grid } = store.now;
    const [{ view }, [panel]] = [map, map.panels];
    button.hidden = !selection || !grid || !view || !panel || barred(store) !== null;
    if (!selection || !grid || !view || !panel) return;
    const pixels = cornersOf(selection).map((corner) => toPixel(view, grid, panel, ...corner));
    const [xs, ys] = [pixels.map(([x]) => x), pixels.map(([, y]) => y)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    button.hidden ||= right < panel.x || left > panel.x + panel.width || bottom < panel.y || top > panel.y + panel.height;
    say(button, `Change here in ${ordered(store)?.name}`);
    button.style.left = `${Math.max(0, Math.min(right, panel.x + panel.width) / map.ratio - button.offsetWidth)}px`;
    button.style.top = `${Math.max(60, top / map.ratio - 34)}px`;
  };
  store.subscribe(
    (state) => [state.selection, state.view, state.grid, state.look.maps, state.look.globe, state.steered, barred(store)],
    place,
  );
  new ResizeObserver(place).observe(map.element);
}
