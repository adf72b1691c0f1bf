/** What can be done by a key or from several places: whoever knows how says so, whoever wants it asks for it. */
import { type Action, actionOf } from "../state/keys";
import type { Store } from "../state/store";
import { byId } from "./dom";

export class Actions {
  private readonly known = new Map<Action, () => void>();

  /** Says how an action is done. */
  on(action: Action, act: () => void): void {
    this.known.set(action, act);
  }

  do(action: Action): void {
    this.known.get(action)?.();
  }

  /** Does what keys ask for, while no field has the focus: Escape leaves one. Space plays, unless Tab led to what it would press. */
  listen(store: Store): void {
    let byKeys = false;
    addEventListener("focusin", ({ target }) => {
      byKeys = target instanceof Element && target.matches(":focus-visible"); // with the next key it is visible anyhow
    });
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !store.now.dialog && takesText(document.activeElement)) byId("map").focus({ preventScroll: true });
      const action = actionOf(event, store.now.letter_keys);
      if (event.defaultPrevented || !action || !this.known.has(action) || store.now.dialog) return;
      if (action === "play" && isPressed(event.target) ? byKeys : takesText(event.target)) return;
      event.preventDefault();
      this.do(action);
    });
  }
}

function isPressed(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("a, button, select, summary, [type=checkbox], [type=radio]");
}

function takesText(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName));
}
