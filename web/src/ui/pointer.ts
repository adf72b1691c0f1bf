/** Moving the map, pointing, pinning and drawing regions: by mouse, finger and keyboard. */
import { placeText } from "../decode/units";
import { cellAt, centreOf, degreesOf, rowOf } from "../state/grid";
import type { Store } from "../state/store";
import type { Place } from "../state/told";
import { moved, projectionOf, toPixel, zoomed } from "../state/view";
import type { Actions } from "./actions";
import { h, say } from "./dom";
import type { MapView } from "./map";

const STILL = 5; // [CSS pixel] that a click may move
const HOLD = 350; // [ms] until a finger that rests reads
const PINS = 6;

/** spoken: the value of the cross's cell in words, for a screen reader. */
export function mount(map: MapView, store: Store, actions: Actions, spoken: (cell: number) => string): void {
  const { element } = map;
  const said = h("p", { class: "spoken", "aria-live": "polite", id: element.id ? "map-said" : null });
  element.append(said);
  const fingers = new Map<number, PointerEvent>();
  let tool: "box" | "polygon" | null = null;
  let travelled = 0;
  let holding = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let awaited: (() => string) | null = null; // what was told of a cell before its value had come

  function point(cell: number | null): void {
    if (cell !== store.now.cursor.cell) store.change({ cursor: { cell, readings: {} } });
  }
  function pin(cell: number): void {
    const { pins, grid } = store.now;
    if (!grid) return;
    if (pins.some((each) => each.cell === cell)) return store.change({ pins: pins.filter((each) => each.cell !== cell) });
    if (grid.active && !grid.active[cell]) return announce("outside the model, not pinned");
    const free = [1, 2, 3, 4, 5, 6].find((colour) => !pins.some((each) => each.colour === colour));
    if (free === undefined) {
      store.notify({ weight: "warn", text: `${PINS} cells are pinned already. Remove one first.`, lasts: 6000 });
      return;
    }
    const place = degreesOf(grid, cell);
    if (!place) return announce("not pinned: the places of its cells are still loading");
    store.change({ pins: [...pins, { cell, place, colour: free }] });
    tell(cell, () => `pinned, ${placeText(place)}, ${spoken(cell)}`);
  }
  function announce(text: string): void {
    awaited = null;
    say(said, text);
  }
  /** Tells of a cell, and again once its value has come. */
  function tell(cell: number, words: () => string): void {
    announce(words());
    awaited = () => (store.now.cursor.cell === cell ? words() : "");
  }
  store.follow(["cursor"], () => {
    const text = awaited?.() ?? "";
    if (text && !text.endsWith("…")) announce(text);
  });
  function draw(next: "box" | "polygon" | null): void {
    if (next && store.now.grid?.kind === "projected") {
      store.notify({ weight: "warn", text: "On a projected grid, type the corners of a region, in degrees.", lasts: 8000 });
      return;
    }
    tool = next;
    map.draft = null;
    element.dataset.tool = next ?? "";
    map.refresh("marks");
    if (next === "box") announce("Draw a box by dragging. Escape leaves it.");
    if (next === "polygon") announce("Click the corners; Enter closes the polygon, Escape leaves it.");
  }
  function finish(): void {
    const corners = map.draft?.corners ?? [];
    const round = (value: number) => Math.round(value * 1e4) / 1e4;
    const longitudes = corners.map(([x]) => x);
    const turn = Math.min(...longitudes) < -180 ? 360 : Math.max(...longitudes) > 360 ? -360 : 0; // into the server's range
    if (tool === "polygon" && corners.length >= 3) {
      store.change({ selection: { polygon: corners.map(([x, y]): Place => [round(x + turn), round(y)]) } });
    } else if (tool === "box" && corners.length === 4) {
      const [xs, ys] = [longitudes.map((x) => x + turn), corners.map(([, y]) => y)];
      const box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)].map(round) as [number, number, number, number];
      if (box[2] > box[0] && box[3] > box[1]) store.change({ selection: { box } });
    }
    draw(null);
  }

  /** What lies under the pointer; for one that draws a box beyond the edge of the map, what lies at the edge. */
  function under(event: PointerEvent): ReturnType<typeof map.under> {
    if (tool !== "box") return map.under(event.clientX, event.clientY);
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const [x, y] = [Math.min(event.clientX, right - 1), Math.min(event.clientY, bottom - 1)];
    return map.under(Math.max(x, left), Math.max(y, top));
  }

  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    travelled = 0;
    holding = false;
    clearTimeout(timer);
    const at = map.under(event.clientX, event.clientY);
    if (tool === "box" && at?.place) map.draft = { corners: [at.place, at.place, at.place, at.place] };
    if (event.pointerType === "touch" && !tool && fingers.size === 1) {
      timer = setTimeout(() => {
        holding = travelled < STILL;
        element.dataset.holding = String(holding);
        if (holding) point(map.under(event.clientX, event.clientY)?.cell ?? null);
      }, HOLD);
    }
  });
  // where the page scrolls, one finger scrolls it and two move the map; the browser takes a gesture unless it is stopped at once
  const scrolls = () => getComputedStyle(element).touchAction === "pan-y";
  element.addEventListener("touchmove", (event) => (event.touches.length > 1 || holding) && event.cancelable && event.preventDefault(), {
    passive: false,
  });
  element.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    const at = under(event);
    const { grid } = store.now;
    const { view } = map;
    if (!before || !grid || !view) {
      if (event.pointerType !== "touch") point(at?.cell ?? null);
      if (tool === "polygon" && map.draft && at?.place) {
        map.draft.corners.splice(-1, 1, at.place);
        map.refresh("marks");
      }
      return;
    }
    const [dx, dy] = [(event.clientX - before.clientX) * map.ratio, (event.clientY - before.clientY) * map.ratio];
    travelled += Math.abs(dx) + Math.abs(dy);
    fingers.set(event.pointerId, event);
    if (fingers.size === 2) return pinch(event, before);
    if (tool === "box" && map.draft && at?.place) {
      point(at.cell);
      const [from] = map.draft.corners as [Place];
      map.draft.corners = [from, [at.place[0], from[1]], at.place, [from[0], at.place[1]]];
      return map.refresh("marks");
    }
    if (tool) return;
    if (holding) return point(at?.cell ?? null);
    if (event.pointerType === "touch" && scrolls()) return;
    if (travelled >= STILL * map.ratio) store.change({ view: moved(view, grid, dx, dy) });
  });
  function pinch(event: PointerEvent, before: PointerEvent): void {
    const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    const { grid } = store.now;
    const { view } = map;
    if (!other || !grid || !view) return;
    const apart = (one: PointerEvent) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
    const at = map.under((event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2);
    if (!at) return;
    const shifted = moved(
      view,
      grid,
      ((event.clientX - before.clientX) / 2) * map.ratio,
      ((event.clientY - before.clientY) / 2) * map.ratio,
    );
    store.change({ view: zoomed(shifted, grid, at.panel, at.x, at.y, apart(event) / apart(before)) });
  }
  const lift = (event: PointerEvent) => {
    const single = fingers.size === 1 && fingers.has(event.pointerId);
    fingers.delete(event.pointerId);
    clearTimeout(timer);
    const at = under(event);
    if (event.type === "pointerup" && single && at) {
      if (tool === "box") finish();
      else if (tool === "polygon" && at.place) map.draft = { corners: [...(map.draft?.corners.slice(0, -1) ?? []), at.place, at.place] };
      else if (travelled < STILL * map.ratio && !holding && at.cell !== null) {
        if (event.pointerType === "touch") point(at.cell);
        pin(at.cell);
      }
    }
    if (holding) element.dataset.holding = "false";
    holding = false;
  };
  element.addEventListener("pointerup", lift);
  element.addEventListener("pointercancel", lift);
  element.addEventListener("pointerleave", (event) => {
    const left = !element.contains(document.elementFromPoint(event.clientX, event.clientY)); // WebKit reports each click as a departure
    if (event.pointerType !== "touch" && !fingers.size && left) point(null);
  });
  element.addEventListener("dblclick", () => tool === "polygon" && finish());
  element.addEventListener("contextmenu", (event) => holding && event.preventDefault());
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const at = map.under(event.clientX, event.clientY);
      const { grid } = store.now;
      if (!at || !grid || !map.view) return;
      const pixels = event.deltaMode === 1 ? event.deltaY * 20 : event.deltaY;
      store.change({ view: zoomed(map.view, grid, at.panel, at.x, at.y, Math.exp(-Math.max(-200, Math.min(200, pixels)) / 300)) });
    },
    { passive: false },
  );

  // ---- by keyboard: a cross goes from cell to cell, the map follows it; a globe turns under it ----
  element.addEventListener("keydown", (event) => {
    const step = ({ ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] } as Record<string, [number, number]>)[
      event.key
    ];
    if (step) {
      event.preventDefault();
      cross(step[0] * (event.shiftKey ? 10 : 1), step[1] * (event.shiftKey ? 10 : 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (tool === "polygon") finish();
      else if (store.now.cursor.cell !== null) pin(store.now.cursor.cell);
    } else if (event.key === "Escape") {
      if (tool) draw(null);
      else if (store.now.selection) store.change({ selection: null });
      else point(null);
    }
  });
  function cross(rows: number, columns: number): void {
    const { grid, cursor } = store.now;
    const { view } = map;
    const [panel] = map.panels;
    if (!grid || !view || !panel) return;
    const middle = view.globe
      ? (cellAt(grid, ...projectionOf(view).onto(grid, view.x, view.y)) ?? 0)
      : Math.floor(grid.rows / 2) * grid.columns + Math.floor(grid.columns / 2);
    const [row, column] = rowOf(grid, cursor.cell ?? middle);
    const next = cursor.cell === null ? [row, column] : [row + rows, column + columns];
    const last = grid.kind === "points" ? (grid.places?.length ?? 1) - 1 : grid.rows * grid.columns - 1;
    const inside = (value: number, count: number) => Math.min(Math.max(value, 0), count - 1);
    if (view.globe) next[1] = ((next[1] as number) + grid.columns) % grid.columns;
    const cell = Math.min(last, inside(next[0] as number, grid.rows) * grid.columns + inside(next[1] as number, grid.columns));
    point(cell);
    const centre = centreOf(grid, cell);
    const [x, y] = toPixel(view, grid, panel, ...centre);
    const out = x < panel.x + 20 || x > panel.x + panel.width - 20 || y < panel.y + 20 || y > panel.y + panel.height - 20;
    if (out || view.globe) store.change({ view: { ...view, x: centre[0], y: centre[1] } });
    tell(cell, () => `${placeText(degreesOf(grid, cell) ?? centre)}, ${spoken(cell)}`);
  }
  function zoom(factor: number): void {
    const { grid } = store.now;
    const [panel] = map.panels;
    if (!grid || !panel || !map.view) return;
    store.change({ view: zoomed(map.view, grid, panel, panel.x + panel.width / 2, panel.y + panel.height / 2, factor) });
  }
  actions.on("zoom-in", () => zoom(1.5));
  actions.on("zoom-out", () => zoom(1 / 1.5));
  actions.on("fit", () => store.change({ view: null }));
  actions.on("box", () => draw(tool === "box" ? null : "box"));
  actions.on("polygon", () => draw(tool === "polygon" ? null : "polygon"));
}
