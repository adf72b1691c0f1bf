/** What the page says by itself: messages with what can be done about them, each until it is closed or has been seen. */
import type { Notice, Store } from "../state/store";
import { fill, h } from "./dom";

export function mount(element: HTMLElement, store: Store): void {
  const shown = new Map<number, HTMLElement>();
  const clocks = new Map<number, ReturnType<typeof setTimeout>>();
  const start = ({ id, lasts }: Notice) => {
    const gone = () => store.dismiss(id);
    if (lasts !== undefined) clocks.set(id, setTimeout(gone, lasts));
  };
  store.follow(["notices"], ({ notices }) => {
    for (const [id, card] of shown) {
      if (notices.some((notice) => notice.id === id)) continue;
      clearTimeout(clocks.get(id));
      clocks.delete(id);
      card.remove();
      shown.delete(id);
    }
    for (const notice of notices) {
      if (shown.has(notice.id)) continue;
      const card = cardOf(notice, store);
      card.addEventListener("pointerenter", () => clearTimeout(clocks.get(notice.id))); // who reads has time
      card.addEventListener("focusin", () => clearTimeout(clocks.get(notice.id)));
      card.addEventListener("pointerleave", () => start(notice));
      shown.set(notice.id, card);
      element.append(card);
      start(notice);
    }
  });
}

function cardOf(notice: Notice, store: Store): HTMLElement {
  const card = h("section", { class: "notice", "data-weight": notice.weight });
  const close = h("button", { type: "button", class: "small quiet", "aria-label": "Close", onclick: () => store.dismiss(notice.id) }, "✕");
  const acts = (notice.actions ?? []).map(({ label, act }) => {
    const onclick = () => {
      store.dismiss(notice.id);
      act();
    };
    return h("button", { type: "button", class: "small", onclick }, label);
  });
  const text = h("b", {}, notice.text, notice.times > 1 && ` (${notice.times} times)`);
  const detail = notice.detail ? h("span", { class: "detail" }, notice.detail) : null;
  fill(card, h("p", {}, text, detail), acts.length > 0 && h("div", { class: "acts" }, ...acts), close);
  return card;
}
