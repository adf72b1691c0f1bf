/**
 * The maps on three canvases, each drawn only when what it shows has changed: land, the field, lines and marks. Each costs time with every
 * picture of the browser, so there are no more.
 */

import type { Screen } from "../decode/screen";
import { drawArrows } from "../draw/arrows";
import type { Coast } from "../draw/coast";
import { type Context, contextFor, drawContext, NOWHERE } from "../draw/context";
import { FieldMap, type Mode, placementOf } from "../draw/field";
import { drawMarks, drawMask, drawOutline, drawOver, drawUnder, type Mark, type Scene } from "../draw/lines";
import { DIFFERENCE, type Scale, scaleOf } from "../draw/palette";
import { drawPoints } from "../draw/points";
import { isWhole, turned } from "../state/globe";
import { cellAt } from "../state/grid";
import { besides, mapsOf, variableOf } from "../state/scenario";
import type { State, Store } from "../state/store";
import type { Place } from "../state/told";
import { type Panel, panels, projectionOf, toPlace, type View, wholeView } from "../state/view";
import { accent } from "./accent";
import { arrowsNow, scaleBeside } from "./beside";
import type { Colouring } from "./colouring";
import { h } from "./dom";
import type { Theme } from "./theme";
import { showTitles, titled, titlesOf } from "./titles";

/** One of the maps: the panel that it fills, and the part of it that is seen. */
interface Part {
  mode: Mode;
  panel: Panel;
  clip: Panel;
}
export interface Draft {
  corners: Place[];
}
const TITLE = 60; // [CSS pixel] that a title covers

export class MapView {
  /** A region that is being drawn. */
  draft: Draft | null = null;
  private readonly layers: HTMLCanvasElement[];
  private readonly titles: HTMLElement;
  private readonly field: FieldMap;
  /** Graticule, coast and scale, which change with the view alone; they are copied under the marks. */
  private readonly lines = document.createElement("canvas");
  coast: Coast = [];
  context: Context = NOWHERE;
  private due = new Set<"still" | "field" | "marks">();
  private asked = 0;
  private size: [number, number] = [0, 0];

  /** drawn: called after each drawing of frames that were not drawn before. Raises Error without WebGL 2. */
  constructor(
    /** Where the canvases and titles go. */
    readonly element: HTMLElement,
    private readonly store: Store,
    private readonly screen: Screen,
    private readonly colouring: Colouring,
    private readonly theme: Theme,
    private readonly drawn: () => void,
  ) {
    const named = (id: string) => (element.id ? { id } : {}); // in a notebook there may be several
    this.layers = ["under", "field", "over"].map((name) => h("canvas", { class: name, "aria-hidden": "true", ...named(name) }));
    this.titles = h("div", named("titles"));
    element.prepend(...this.layers, this.titles);
    this.field = new FieldMap(this.layers[1] as HTMLCanvasElement, () => this.refresh("field"));
    let empty = true;
    screen.follow(() => {
      this.refresh("field", ...(empty !== (screen.frames.length === 0) ? (["still"] as const) : []));
      empty = screen.frames.length === 0;
    });
    colouring.follow(() => this.refresh("field"));
    const all = () => this.refresh("still", "field", "marks");
    theme.follow(all);
    store.follow(["view", "grid", "look.maps", "look.globe", "look.scenarios", "look.other"], all);
    store.follow(["look.palette", "look.smooth", "look.logarithmic"], () => this.refresh("field"));
    store.follow(["cursor.cell", "pins", "selection", "look.arrows"], () => this.refresh("marks"));
    store.follow(["swipe"], () => {
      this.refresh("field", "marks");
      this.title();
    });
    store.subscribe(
      (state) => [...titled(state), state.steered, state.viewer, state.info?.scenarios.length],
      () => this.title(),
    );
    new ResizeObserver(() => {
      this.size = [Math.round(element.clientWidth * this.ratio), Math.round(element.clientHeight * this.ratio)];
      all();
      this.title();
    }).observe(element);
  }

  get ratio(): number {
    return window.devicePixelRatio || 1;
  }
  /** What each map shows. On a narrow page there are two at most. */
  get modes(): Mode[] {
    const { look } = this.store.now;
    const [width, height] = this.size;
    if (mapsOf(look).length < 2) return [0];
    if (look.maps !== 3) return [0, 1];
    return height > width || width < 600 * this.ratio ? [0, 2] : [0, 1, 2];
  }
  get parts(): Part[] {
    const { look, swipe } = this.store.now;
    const { modes } = this;
    if (look.maps !== 4 || modes.length < 2) {
      return panels(modes.length, ...this.size).map((panel, index) => ({ mode: modes[index] ?? 0, panel, clip: panel }));
    }
    const [panel] = panels(1, ...this.size) as [Panel];
    const at = Math.round(swipe * panel.width);
    return [
      { mode: 0, panel, clip: { ...panel, width: at } },
      { mode: 1, panel, clip: { ...panel, x: at, width: panel.width - at } },
    ];
  }
  /** Without repetition: two scenarios that are shown over each other share one. */
  get panels(): Panel[] {
    return [...new Set(this.parts.map((each) => each.panel))];
  }
  /** The view, or the one that fits when nobody has chosen one. */
  get view(): View | null {
    const { view, grid, look } = this.store.now;
    const [panel] = this.panels;
    if (!grid || !panel) return null;
    const globe = look.globe && isWhole(grid);
    const seen = view ?? wholeView(grid, panel, globe);
    return globe ? turned(seen, grid) : { ...seen, globe };
  }
  /** The map, pixel, place and cell under a point of the window; beside a globe there is no place. */
  under(clientX: number, clientY: number): { panel: Panel; x: number; y: number; place: Place | null; cell: number | null } | null {
    const box = this.element.getBoundingClientRect();
    const [x, y] = [(clientX - box.x) * this.ratio, (clientY - box.y) * this.ratio];
    const inside = ({ clip }: Part) => x >= clip.x && x < clip.x + clip.width && y >= clip.y && y < clip.y + clip.height;
    const panel = this.parts.find(inside)?.panel;
    const { grid } = this.store.now;
    if (!panel || !grid || !this.view) return null;
    const place = toPlace(this.view, grid, panel, x, y);
    const cell = cellAt(grid, ...projectionOf(this.view).onto(grid, ...place));
    return { panel, x, y, place: Number.isNaN(place[0]) ? null : place, cell };
  }

  putCoast(coast: Coast): void {
    this.coast = coast;
    this.refresh("still");
  }

  putContext(context: Context): void {
    this.context = context;
    this.refresh("still");
  }

  /** Draws again what has changed, with the browser's next picture. */
  refresh(...what: ("still" | "field" | "marks")[]): void {
    for (const each of what) this.due.add(each);
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  /** Draws the field alone and waits for it; milliseconds that it took. For measurements. */
  timed(): number {
    this.field.finish(); // what the browser is still putting together is not counted
    const before = performance.now();
    this.drawField();
    this.field.finish();
    return performance.now() - before;
  }

  scene(panel: Panel): Scene | null {
    const { grid } = this.store.now;
    return grid && this.view ? { view: this.view, grid, panel, ratio: this.ratio, colours: this.theme.colours } : null;
  }

  private draw(): void {
    if (this.size[0] === 0) return;
    const { due } = this;
    this.due = new Set();
    if (due.has("field")) {
      this.drawField();
      this.drawn();
    }
    if (due.has("still")) this.drawStill();
    if (due.has("marks") || due.has("still") || (due.has("field") && (this.store.now.grid?.kind === "points" || this.screen.arrows.length)))
      this.drawMarks();
  }

  /** An empty canvas of the map's size to draw on. */
  private pen(canvas: HTMLCanvasElement, opaque: boolean): CanvasRenderingContext2D | null {
    const [width, height] = this.size;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const pen = canvas.getContext("2d", { alpha: !opaque });
    pen?.clearRect(0, 0, width, height);
    return pen;
  }

  private drawField(): void {
    const { grid, look } = this.store.now;
    const { view } = this;
    this.field.clear(...this.size);
    const [a, b] = this.screen.frames;
    const { values } = this.colouring;
    if (!grid || !view || !a || !values || grid.kind === "points") return;
    this.field.put(0, a);
    if (b) this.field.put(1, b);
    for (const { mode, panel, clip } of this.parts) {
      const frame = mode === 1 ? b : a;
      const colours = this.coloursOf(mode);
      if (!frame || !colours) continue;
      const style = { ...colours, smooth: look.smooth, hatch: this.theme.hatch, ratio: this.ratio };
      this.field.draw(mode, panel, placementOf(view, grid, panel, frame), style, clip);
    }
  }

  /** The scale of a map; null while there is nothing to colour. */
  coloursOf(mode: Mode): Scale | null {
    const { look, run, shown } = this.store.now;
    const { values, other, difference } = this.colouring;
    if (mode === 2) return difference && scaleOf(undefined, DIFFERENCE, false, difference.range);
    if (mode === 1 && besides(look)) return other && scaleBeside(run, look.other, other.range);
    const variable = variableOf({ run }, shown[0]?.variable);
    return values && scaleOf(variable, look.palette, look.logarithmic, values.range);
  }

  private drawStill(): void {
    const [under, over] = [this.pen(this.layers[0] as HTMLCanvasElement, true), this.pen(this.lines, false)];
    if (under) under.fillStyle = this.theme.colours.sea;
    under?.fillRect(0, 0, ...this.size);
    for (const panel of this.panels) {
      const scene = this.scene(panel);
      if (!scene || !under || !over) return;
      const { active, kind } = scene.grid;
      drawUnder(under, scene.grid.kind === "projected" ? [] : this.coast, scene);
      if (active && kind !== "points" && !scene.view.globe && this.screen.frames.length === 0) drawMask(under, active, scene);
      drawOver(over, scene.grid.kind === "projected" ? [] : this.coast, scene, TITLE);
      drawContext(over, contextFor(this.context, scene.grid), scene, TITLE);
    }
  }

  private drawMarks(): void {
    const pen = this.pen(this.layers[2] as HTMLCanvasElement, false);
    if (this.lines.width > 0) pen?.drawImage(this.lines, 0, 0);
    const { pins, cursor, selection } = this.store.now;
    const marks: Mark[] = pins.map((pin, index) => ({ cell: pin.cell, colour: this.theme.pin(pin.colour), number: index + 1 }));
    if (cursor.cell !== null) marks.push({ cell: cursor.cell, colour: this.theme.colours.ink });
    const { look } = this.store.now;
    const arrows = arrowsNow(this.store.now, this.screen);
    for (const { mode, panel, clip } of this.parts) {
      const scene = this.scene(panel);
      const colours = this.coloursOf(mode);
      if (!pen || !scene) return;
      if (scene.grid.kind === "points" && colours) drawPoints(pen, this.screen.frames, mode, colours, scene, clip);
      if (arrows && (mode === 0 || besides(look))) drawArrows(pen, arrows, scene, clip);
    }
    for (const panel of this.panels) {
      const scene = this.scene(panel);
      if (!pen || !scene) return;
      if (selection) drawOutline(pen, cornersOf(selection), false, scene);
      if (this.draft) drawOutline(pen, this.draft.corners, true, scene);
      drawMarks(pen, marks, scene);
    }
  }

  private title(): void {
    const seen = this.parts.map((each) => each.clip);
    showTitles(this.titles, titlesOf(this.store.now, this.modes), seen, this.ratio);
    accent(this.titles, this.store.now, this.modes, seen, this.ratio);
  }
}

/** The corners of a region. */
export function cornersOf(selection: NonNullable<State["selection"]>): Place[] {
  if ("polygon" in selection) return selection.polygon;
  const [west, south, east, north] = selection.box;
  return [
    [west, north],
    [east, north],
    [east, south],
    [west, south],
  ];
}
