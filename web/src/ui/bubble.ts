/** The value above a finger that rests on the map. */
import type { Store } from "../state/store";
import { h, say } from "./dom";

/** spoken: the value of a cell in words. */
export function mount(map: HTMLElement, store: Store, spoken: (cell: number) => string): void {
  const bubble = h("div", { class: "bubble", hidden: true, "aria-hidden": "true" });
  map.append(bubble);
  const show = () => {
    const { cell } = store.now.cursor;
    bubble.hidden = map.dataset.holding !== "true" || cell === null;
    if (cell !== null) say(bubble, spoken(cell));
  };
  const follow = ({ clientX, clientY, pointerType }: PointerEvent) => {
    if (pointerType !== "touch") return;
    const box = map.getBoundingClientRect();
    bubble.style.left = `${Math.min(Math.max(clientX - box.x, 70), box.width - 70)}px`;
    bubble.style.top = `${Math.max(clientY - box.y - 36, 34)}px`;
  };
  map.addEventListener("pointerdown", follow);
  map.addEventListener("pointermove", follow);
  for (const end of ["pointerup", "pointercancel"]) map.addEventListener(end, show);
  store.follow(["cursor", "shown"], show);
}
