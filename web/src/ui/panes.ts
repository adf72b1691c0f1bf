/** Keys that lead to a pane: setting, branching, renaming, comparing, the log; and where the legend stands. */
import type { Pane, Store } from "../state/store";
import type { Actions } from "./actions";
import { byId } from "./dom";

export function mount(store: Store, actions: Actions): void {
  const narrow = matchMedia("(max-width: 1099px)"); // as in style.css: there the legend is a strip at the foot of the map
  const place = () => {
    const legends = [byId("legend"), byId("legend-difference")];
    if (narrow.matches) byId("map").after(...legends);
    else byId("pane-look").prepend(...legends);
  };
  narrow.addEventListener("change", place);
  place();
  const show = (pane: Pane) => store.change({ pane });
  actions.on("set", () => {
    show("steer");
    byId("parameter-filter").focus();
  });
  for (const action of ["branch", "rename"] as const)
    actions.on(action, () => {
      show("scenarios");
      byId("pane-scenarios").dispatchEvent(new Event(action));
    });
  actions.on("compare", () => {
    show("scenarios");
    byId("pane-scenarios").querySelector<HTMLElement>("[role=treeitem][tabindex='0']")?.focus();
  });
  actions.on("log", () => {
    show("log");
    byId("log-filter").focus();
  });
}
