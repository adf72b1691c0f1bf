/** Choosing a region: drawn on the map, or by corners that are typed. */
import { typedNumber } from "../decode/units";
import type { Selection, Store } from "../state/store";
import type { Place } from "../state/told";
import type { Actions } from "./actions";
import { h, say } from "./dom";

export function mount(element: HTMLElement, store: Store, actions: Actions): void {
  const button = (label: string, title: string, act: () => void) =>
    h("button", { type: "button", class: "small", title, onclick: act }, label);
  const field = h("textarea", { id: "corners", rows: 3, spellcheck: "false", "aria-describedby": "corners-help corners-wrong" });
  const wrong = h("p", { id: "corners-wrong", class: "wrong", role: "alert" });
  const form = h(
    ...(["form", { class: "corners", hidden: true, onsubmit: typed }] as const),
    h("label", { for: "corners" }, "Corners"),
    field,
    h(
      "small",
      { id: "corners-help" },
      "Longitude and latitude of each: two corners are a box, west before east, three and more a polygon. 143 -22, 145 -20",
    ),
    wrong,
    h("button", { class: "small" }, "Follow this region"),
  );
  const none = button("No region", "Follow no region", () => store.change({ selection: null }));
  const row = h(
    ...(["div", { class: "acts", role: "group", "aria-label": "Region" }] as const),
    button("Box", "Draw a box on the map (B)", () => actions.do("box")),
    button("Polygon", "Draw a polygon on the map (P)", () => actions.do("polygon")),
    button("Corners…", "Type the corners", () => {
      form.hidden = !form.hidden;
      if (!form.hidden) field.focus();
    }),
    none,
  );
  element.append(row, form);

  function typed(event: SubmitEvent): void {
    event.preventDefault();
    const found = regionOf(field.value);
    say(wrong, typeof found === "string" ? found : "");
    field.setAttribute("aria-invalid", String(typeof found === "string"));
    if (typeof found === "string") return;
    form.hidden = true;
    store.change({ selection: found });
  }
  store.follow(["selection"], ({ selection }) => {
    none.hidden = !selection;
    if (selection)
      field.value = ("box" in selection ? [selection.box.slice(0, 2), selection.box.slice(2)] : selection.polygon)
        .map((corner) => corner.join(" "))
        .join(", ");
  });
}

/** The region of corners that are typed, or what is wrong with them. */
export function regionOf(text: string): Selection | string {
  const numbers = text
    .trim()
    .split(/[\s,;]+/)
    .map(typedNumber);
  const corners: Place[] = [];
  for (let at = 0; at < numbers.length; at += 2) {
    const [x, y] = [numbers[at], numbers[at + 1]];
    if (x === null || y === null || x === undefined || y === undefined)
      return `"${text.trim()}" is no list of longitudes and latitudes in pairs.`;
    if (Math.abs(y) > 90 || x < -180 || x > 360) return `${x} ${y} is no place: longitudes are from −180 to 360, latitudes from −90 to 90.`;
    corners.push([x, y]);
  }
  const [a, b] = corners;
  if (!a || !b) return "A box needs two corners, a polygon three or more.";
  if (corners.length > 2) return { polygon: corners };
  if (a[0] === b[0] || a[1] === b[1]) return "The two corners of a box must differ in longitude and in latitude.";
  const turn = a[0] - b[0] > 180 ? 360 : 0; // typed from west to east over the date line, or over that of Greenwich
  const [x, y] = a[0] > 180 ? [a[0] - turn, b[0]] : [a[0], b[0] + turn];
  return { box: [Math.min(x, y), Math.min(a[1], b[1]), Math.max(x, y), Math.max(a[1], b[1])] };
}
