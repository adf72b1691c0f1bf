/** A combobox: a field whose list is filtered by what is typed. ARIA Authoring Practices, editable combobox with list autocomplete. */
import { fill, h } from "./dom";

export interface Option {
  value: string;
  label: string;
  detail: string;
  /** What is searched beside the label. */
  words: string;
  picture?: () => HTMLElement;
}
export interface Choice {
  element: HTMLElement;
  /** Opens the list with the focus in the field. */
  open(): void;
  /** Shows what is chosen. */
  show(value: string): void;
}

/** Small letters without accents, so that "koln" finds Köln. */
function plain(text: string): string {
  return text
    .normalize("NFD")
    .replaceAll(/\p{Diacritic}/gu, "")
    .toLowerCase();
}

/** How far down a match stands: it is what was typed, begins with it, has a word that does, or has it within. */
export function rankOf({ value, label }: Pick<Option, "value" | "label">, text: string): number {
  const [typed, name] = [plain(text.trim()), plain(label)];
  if (name === typed || plain(value) === typed) return 0;
  return name.startsWith(typed) ? 1 : name.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(typed)) ? 2 : 3;
}

export function choice(
  id: string,
  label: string,
  options: (text?: string) => readonly Option[],
  choose: (value: string) => void,
  most = Number.POSITIVE_INFINITY,
  none: (text: string) => string = () => "No match",
): Choice {
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": label, hidden: true });
  const input = h("input", {
    ...{ id, role: "combobox", "aria-label": label, "aria-expanded": "false", "aria-controls": `${id}-list`, "aria-autocomplete": "list" },
    ...{ autocomplete: "off", spellcheck: "false", title: label },
  });
  const element = h("span", { class: "choice", id: `${id}-choice` }, input, list);
  let chosen = "";
  let at = 0;
  let found: readonly Option[] = [];

  const labelOf = (value: string) => options().find((option) => option.value === value)?.label ?? value;
  function filter(text: string): void {
    const words = plain(text).split(/\s+/).filter(Boolean);
    found = options(text)
      .filter((option) => words.every((word) => plain(`${option.label} ${option.words} ${option.value}`).includes(word)))
      .sort((one, other) => rankOf(one, text) - rankOf(other, text))
      .slice(0, most);
    fill(
      list,
      ...found.map((option, index) => {
        const press = (event: PointerEvent) => {
          event.preventDefault(); // the field keeps the focus
          take(index);
        };
        const texts = [h("b", {}, option.label), h("small", {}, option.detail)];
        return h("li", { id: `${id}-${index}`, role: "option", onpointerdown: press }, option.picture?.(), ...texts);
      }),
      found.length === 0 && h("li", { role: "option", "aria-disabled": "true" }, none(text)),
    );
    list.style.translate = "";
    list.style.translate = `${Math.min(0, document.documentElement.clientWidth - list.getBoundingClientRect().right)}px`; // into the window
    move(Math.max(0, text === labelOf(chosen) ? found.findIndex((option) => option.value === chosen) : 0));
  }
  function move(to: number): void {
    at = found.length ? (to + found.length) % found.length : 0;
    for (const [index, row] of [...list.children].entries()) row.setAttribute("aria-selected", String(index === at));
    if (found.length) input.setAttribute("aria-activedescendant", `${id}-${at}`);
    if (!list.hidden) list.children[at]?.scrollIntoView({ block: "nearest" });
  }
  function toggle(open: boolean): void {
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (open) filter("");
    else input.removeAttribute("aria-activedescendant");
    if (open) move(options().findIndex((option) => option.value === chosen));
  }
  function take(index: number): void {
    const option = found[index];
    toggle(false);
    if (option) choose(option.value);
    input.value = labelOf(chosen);
  }
  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => toggle(list.hidden !== false));
  input.addEventListener("input", () => {
    if (list.hidden) toggle(true);
    filter(input.value);
  });
  input.addEventListener("blur", () => {
    toggle(false);
    input.value = labelOf(chosen);
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (list.hidden) toggle(true);
      else move(at + step);
    } else if (event.key === "Enter" && !list.hidden) {
      event.preventDefault();
      if (found.length && (input.value.trim() || options().some(({ value }) => value === chosen))) take(at); // else nothing is meant
    } else if (event.key === "Escape") {
      toggle(false);
      input.value = labelOf(chosen);
    }
  });
  return {
    element,
    open() {
      input.focus();
      toggle(true);
    },
    show(value) {
      chosen = value;
      if (document.activeElement !== input || list.hidden) input.value = labelOf(value);
    },
  };
}
