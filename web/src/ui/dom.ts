/** Making elements. Texts go in as text: names come from people, and are never read as markup. */

type Child = Node | string | number | null | undefined | false;
type Listeners = { [Name in keyof HTMLElementEventMap as `on${Name}`]?: (event: HTMLElementEventMap[Name]) => void };
/** Attributes by their names in HTML; false and null leave one away, true sets an empty one; on* listens. */
export type Attributes = Listeners & { [name: string]: unknown };

function put<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on") && typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** An element of HTML: `h("button", {type: "button", onclick: act}, "Pause")`. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return put(document.createElement(tag), attributes, children);
}

/** An element of SVG. */
export function s<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  return put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** The element of this id; raises an error when the page has none. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no element "${id}".`);
  return found as T;
}

/** Puts other children into an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  put(element, {}, children);
}

/** Writes a text where it is another one. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows that a control cannot be used and why, in words that a screen reader says; it can still be found. */
export function bar(element: HTMLElement, reason: string | null): void {
  if (reason === null) {
    element.removeAttribute("aria-disabled");
    element.removeAttribute("aria-description");
    element.title = element.dataset.title ?? "";
  } else {
    element.setAttribute("aria-disabled", "true");
    element.setAttribute("aria-description", reason);
    element.dataset.title ??= element.title;
    element.title = reason;
  }
}
