/** A button beside a region that is drawn: it leads to a change in this region. */

import { asCounted, centreOf } from "../state/grid";
import type { Store } from "../state/store";
import { toPixel } from "../state/view";
import { h, say } from "./dom";
import { cornersOf, type MapView } from "./map";
import { BARRING, barred, ordered } from "./orders";
import { atText } from "./wording";

type Box = readonly [left: number, top: number, right: number, bottom: number];
const TITLE = 60; // [CSS pixel] that the title of the map covers
const [APART, MARK] = [8, 12]; // [CSS pixel] of the button from the region, and of a pin's mark from its middle; its number stands at the right

/** Where a button of a size stands: above the region or below it, at its right end or its left one, where it covers no pin if it can. */
export function freePlace(
  region: Box,
  map: Box,
  width: number,
  height: number,
  pins: readonly (readonly number[])[],
): readonly [number, number] {
  const [left, top, right, bottom] = region;
  const most = map[2] - width;
  const xs = [Math.min(right - width, most), Math.min(left, most)].map((x) => Math.max(map[0], x));
  const ys = [Math.max(TITLE, top - height - APART), bottom + APART];
  const places = ys.flatMap((y) => xs.map((x) => [x, y] as [number, number]));
  const covers = ([x, y]: [number, number], [px = 0, py = 0]: readonly number[]) =>
    px > x - 2 * MARK && px < x + width + MARK && py > y - MARK && py < y + height + MARK;
  const free = places.find((place) => place[1] + height < map[3] && !pins.some((pin) => covers(place, pin)));
  return free ?? (places[0] as [number, number]);
}

/** change: leads to a change in the region that is selected. */
export function mount(map: MapView, store: Store, change: () => void): void {
  const button = h("button", { type: "button", class: "small here", onclick: change });
  for (const heard of ["pointerdown", "pointerup", "keydown"]) button.addEventListener(heard, (event) => event.stopPropagation()); // it is no place on the map
  map.element.append(button);
  const place = () => {
    const { selection, grid, pins } = store.now;
    const [{ view }, [panel]] = [map, map.panels];
    button.hidden = !selection || !grid || !view || !panel || barred(store) !== null;
    if (!selection || !grid || !view || !panel) return;
    const corners = cornersOf(selection);
    const middle = (Math.min(...corners.map(([x]) => x)) + Math.max(...corners.map(([x]) => x))) / 2;
    const turn = asCounted(grid, [middle, 0])[0] - middle;
    const pixels = corners.map(([x, y]) => toPixel(view, grid, panel, x + turn, y));
    const [xs, ys] = [pixels.map(([x]) => x), pixels.map(([, y]) => y)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    button.hidden ||= right < panel.x || left > panel.x + panel.width || bottom < panel.y || top > panel.y + panel.height;
    say(button, `Change here${atText(store.now.run?.variables ?? [], store.now.look.variable)} in ${ordered(store)?.name}`);
    const boxed = (...sides: [number, number, number, number]) => sides.map((side) => side / map.ratio) as unknown as Box;
    const marks = pins.map(({ cell }) => toPixel(view, grid, panel, ...centreOf(grid, cell)).map((at) => at / map.ratio));
    const all = boxed(panel.x, panel.y, panel.x + panel.width, panel.y + panel.height);
    const [x, y] = freePlace(boxed(left, top, right, bottom), all, button.offsetWidth, button.offsetHeight, marks);
    Object.assign(button.style, { left: `${x}px`, top: `${y}px` });
  };
  store.follow(["selection", "pins", "view", "grid", "look", "steered", ...BARRING], place);
  new ResizeObserver(place).observe(map.element);
}
