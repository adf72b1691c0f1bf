/** What can be done by a key or from several places: whoever knows how says so, whoever wants it asks for it. */
import { type Action, actionOf } from "../state/keys";
import type { Store } from "../state/store";

export class Actions {
  private readonly known = new Map<Action, () => void>();

  /** Says how an action is done. */
  on(action: Action, act: () => void): void {
    this.known.set(action, act);
  }

  do(action: Action): void {
    this.known.get(action)?.();
  }

  /** Does what keys ask for, while no field has the focus. */
  listen(store: Store): void {
    addEventListener("keydown", (event) => {
      if (event.defaultPrevented || takesText(event.target)) return;
      const action = actionOf(event, store.now.letter_keys);
      if (!action || !this.known.has(action) || store.now.dialog) return;
      if (action === "play" && event.target instanceof HTMLButtonElement) return; // Space presses the button that has the focus
      event.preventDefault();
      this.do(action);
    });
  }
}

function takesText(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName));
}
