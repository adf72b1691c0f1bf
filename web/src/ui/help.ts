/** The help: what keys do, where to read on, and whether keys of one letter are heard. */
import { CREDIT } from "../draw/palette";
import { KEYS, type Key } from "../state/keys";
import type { Store } from "../state/store";
import type { Actions } from "./actions";
import { dialog } from "./dialog";
import { h } from "./dom";

const STORED = "steppe.letter-keys";
const NAMES: Record<string, string> = { " ": "Space", "+": "+", "-": "−" };
/** What is heard by what has the focus, not by the whole page. */
const LOCAL: readonly [string, string][] = [
  ["Arrows", "Move the cross on the map, turn the globe, or the time on its line"],
  ["Enter", "Pin the cell under the cross; in a form, look at a change and then send it"],
  ["PageUp PageDown", "A month on the time line"],
  ["Home End", "The first and the last step that can be shown at once"],
  ["Esc", "Leave a form or a window"],
];

export function mount(place: HTMLElement, store: Store, actions: Actions): void {
  actions.on("help", () => store.change({ dialog: "help" }));
  try {
    store.change({ letter_keys: localStorage.getItem(STORED) !== "off" });
  } catch {
    // a browser that stores nothing: the keys are heard
  }
  dialog(place, store, "help", "Help", () => {
    const letters = h("input", { type: "checkbox", role: "switch", id: "letter-keys" });
    letters.checked = store.now.letter_keys;
    letters.addEventListener("change", () => {
      store.change({ letter_keys: letters.checked });
      try {
        localStorage.setItem(STORED, letters.checked ? "on" : "off");
      } catch {
        // it holds while the page is open
      }
    });
    return [
      h("label", { class: "switch" }, letters, "Keys of one character work while no field has the focus"),
      h(
        "table",
        { class: "keys" },
        h("caption", { class: "spoken" }, "Keys"),
        h("tbody", {}, ...KEYS.map(rowOf), ...LOCAL.map(([keys, says]) => rowOf({ keys: keys.split(" "), says, looks: true }))),
      ),
      h(
        "p",
        { class: "credit" },
        "Numbers beside the map come from the server, never from a colour. ",
        h("a", { href: "api/v1/openapi.json", target: "_blank", rel: "noreferrer" }, "The contract of the server"),
        `. Coast and borders: Natural Earth. Towns: GeoNames (CC BY 4.0). ${CREDIT}.`,
      ),
    ];
  });
}

function rowOf({ keys, says, looks }: Pick<Key, "keys" | "says" | "looks">): HTMLElement {
  const names = keys.map((key) => NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key));
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, ...names.flatMap((name) => [h("kbd", {}, name), " "])),
    h("td", {}, says),
    h("td", {}, looks ? "" : "steers"),
  );
}
