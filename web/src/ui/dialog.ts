/** Windows over the page: one at a time, left by Escape, by its button or by a click beside it; then the focus is where it was. */
import type { Dialog, Store } from "../state/store";
import { fill, h } from "./dom";

/** Makes a window that is open while the store says so. make: what it holds, made when it opens. */
export function dialog(place: HTMLElement, store: Store, name: Dialog & string, title: string, make: () => (Node | string)[]): void {
  const heading = h("h2", { id: `dialog-${name}` }, title);
  const body = h("div", { class: "dialog-body" });
  const close = h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => store.change({ dialog: null }) }, "✕");
  const element = h("dialog", { "aria-labelledby": heading.id, class: "dialog" }, h("div", { class: "dialog-head" }, heading, close), body);
  place.append(element);
  element.addEventListener("close", () => {
    if (store.now.dialog === name) store.change({ dialog: null });
  });
  element.addEventListener("click", (event) => {
    if (event.target === element) store.change({ dialog: null });
  });
  store.subscribe(
    (state) => state.dialog === name,
    (open) => {
      if (open && !element.open) {
        fill(body, ...make());
        element.showModal();
      } else if (!open && element.open) element.close();
    },
  );
}
