/** Keys that lead to a pane: setting, branching, renaming, comparing, the log. */
import type { Pane, Store } from "../state/store";
import type { Actions } from "./actions";
import { byId } from "./dom";

export function mount(store: Store, actions: Actions): void {
  const show = (pane: Pane) => store.change({ pane });
  const tree = () => byId("pane-scenarios").querySelector<HTMLElement>("[role=treeitem][tabindex='0']");
  actions.on("set", () => {
    show("steer");
    byId("parameter-filter").focus();
  });
  actions.on("branch", () => {
    show("scenarios");
    byId("pane-scenarios").dispatchEvent(new Event("branch"));
  });
  actions.on("rename", () => {
    show("scenarios");
    tree()?.focus();
    tree()?.dispatchEvent(new KeyboardEvent("keydown", { key: "F2", bubbles: true }));
  });
  actions.on("compare", () => {
    show("scenarios");
    tree()?.focus();
  });
  actions.on("log", () => {
    show("log");
    byId("log-filter").focus();
  });
}
