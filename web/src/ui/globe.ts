/** Whether a grid of the whole Earth is shown on a globe or on a flat map. */
import { isWhole } from "../state/globe";
import type { Store } from "../state/store";
import { wholeView } from "../state/view";
import type { Actions } from "./actions";
import { h } from "./dom";
import type { MapView } from "./map";

const NEEDS = "A globe needs a grid of the whole Earth.";

/** The switch; hidden where there is nothing to choose. */
export function globeSwitch(map: MapView, store: Store, actions: Actions): HTMLElement {
  const [title, onclick] = ["Globe or flat map (M)", () => actions.do("globe")];
  const button = h("button", { type: "button", class: "globe", title, role: "switch", onclick }, "Globe");
  actions.on("globe", () => {
    const [{ grid, look, view }, [panel]] = [store.now, map.panels];
    if (!grid || !panel || !isWhole(grid)) return void store.notify({ weight: "warn", text: NEEDS, lasts: 6000 });
    const zoom = Math.max(view?.zoom ?? 0, wholeView(grid, panel, !look.globe).zoom);
    store.change({ view: view && { ...view, zoom }, look: { ...look, globe: !look.globe } });
  });
  store.follow(["grid", "look.globe"], ({ grid, look }) => {
    button.hidden = !grid || !isWhole(grid);
    button.setAttribute("aria-checked", String(look.globe));
  });
  return button;
}
