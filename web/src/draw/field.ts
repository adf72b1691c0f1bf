/** Draws quantised fields cell by cell, in one canvas for all maps. A new range, palette or view uploads no field. */
import type { Frame } from "../decode/frame";
import { discOf } from "../state/globe";
import type { Grid } from "../state/grid";
import { type Panel, scale, toPlace, type View } from "../state/view";
import { CORNERS, colouring } from "./field.frag";
import { type PaletteName, paletteOf, type Scale } from "./palette";

/** What a map shows: the first field, the second, or the second minus the first. */
export type Mode = 0 | 1 | 2;
/** Where the field lies: cell coordinates (east, south) of the panel's upper left corner, and cells per pixel; on a globe as the shader has them. */
export interface Placement {
  start: readonly [number, number];
  stride: readonly [number, number];
  disc?: readonly [number, number, number];
}
/** Where a frame of the whole grid, in however many pixels, lies in a panel. */
export function placementOf(view: View, grid: Grid, panel: Panel, frame: Pick<Frame, "rows" | "columns" | "stride">): Placement {
  const { rows, columns, stride: each } = frame;
  const [dx, dy] = each ? [each * grid.dx, each * grid.dy] : [grid.span[0] / columns, grid.span[1] / rows];
  const stride = [180 / Math.PI / dx, 180 / Math.PI / dy] as const;
  if (view.globe) return { start: [(view.x - grid.west) / dx, grid.north / dy], stride, disc: discOf(view) };
  const [west, north] = toPlace(view, grid, panel, panel.x, panel.y);
  const [sx, sy] = scale(view, grid);
  return { start: [(west - grid.west) / dx, (grid.north - north) / dy], stride: [1 / (sx * dx), 1 / (sy * dy)] };
}
export interface Style extends Scale {
  smooth: boolean;
  /** Red, green, blue from 0 to 1. */
  hatch: readonly [number, number, number];
  /** Device pixels a CSS pixel. */
  ratio: number;
}

const NAMES = ["a", "b", "palette", "shape", "start", "stride", "corner", "disc", "top", "quantum", "range", "hatch", "ratio"] as const;
type Places = Record<(typeof NAMES)[number], WebGLUniformLocation | null>;
interface Program {
  program: WebGLProgram;
  places: Places;
}
const COLOURS = 2; // texture unit of the palette

export class FieldMap {
  private readonly gl: WebGL2RenderingContext;
  private programs = new Map<string, Program>();
  private held: (Frame | null)[] = [null, null];
  private shapes: string[] = ["", ""];
  private colours: PaletteName | null = null;

  /** restored: called when the browser has given a lost context back and all must be drawn again. Raises Error without WebGL 2. */
  constructor(
    private readonly canvas: HTMLCanvasElement,
    restored: () => void,
  ) {
    const gl = canvas.getContext("webgl2", { antialias: false, depth: false });
    if (!gl)
      throw new Error("The map needs WebGL 2, which this browser lacks or does not allow. Use a current Firefox, Chromium or Safari.");
    this.gl = gl;
    this.prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.prepare();
      restored();
    });
  }

  /** Makes a canvas empty and of this size in device pixels. */
  clear(width: number, height: number): void {
    const { gl, canvas } = this;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.disable(gl.SCISSOR_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
  }

  /** Takes the field that is the first (0) or the second (1); one that is held already is not uploaded again. */
  put(unit: 0 | 1, frame: Frame): void {
    if (this.held[unit] === frame) return;
    const { gl } = this;
    const { columns, rows, levels } = frame;
    const wide = frame.bits === 16;
    const kind = wide ? gl.UNSIGNED_SHORT : gl.UNSIGNED_BYTE;
    const shape = `${columns} ${rows} ${wide}`;
    gl.activeTexture(gl.TEXTURE0 + unit);
    if (this.shapes[unit] === shape) gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, columns, rows, gl.RED_INTEGER, kind, levels);
    else gl.texImage2D(gl.TEXTURE_2D, 0, wide ? gl.R16UI : gl.R8UI, columns, rows, 0, gl.RED_INTEGER, kind, levels);
    this.shapes[unit] = shape;
    this.held[unit] = frame;
  }

  /** Draws into the part `clip` of a panel; nothing when a field that the mode needs was not put or they differ in shape. */
  draw(mode: Mode, panel: Panel, { start, stride, disc }: Placement, style: Style, clip = panel): void {
    const { gl } = this;
    const [a, b] = [this.held[0] ?? this.held[1], this.held[1] ?? this.held[0]];
    const shown = mode === 1 ? this.held[1] : this.held[0];
    if (
      !a ||
      !b ||
      !shown ||
      (mode === 2 && (this.shapes[0]?.replace(/ \w+$/, "") !== this.shapes[1]?.replace(/ \w+$/, "") || !this.held[1]))
    )
      return;
    if (this.colours !== style.palette) {
      gl.activeTexture(gl.TEXTURE0 + COLOURS);
      const table = paletteOf(style.palette);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, table.length / 3, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, table);
      this.colours = style.palette;
    }
    const places = this.use(mode, style.smooth && style.names.length === 0, style.logarithmic, !!disc);
    if (!places) return;
    const bottom = this.canvas.height - panel.y - panel.height;
    gl.viewport(panel.x, bottom, panel.width, panel.height);
    const edge = (cells: number, stride: number, end: number) => (disc ? (end - 0.5) * Infinity : Math.round(cells / stride));
    const [left, right] = [-start[0], shown.columns - start[0]].map((cells, end) =>
      Math.min(Math.max(edge(cells, stride[0], end), clip.x - panel.x), clip.x - panel.x + clip.width),
    ) as [number, number];
    const [up, down] = [-start[1], shown.rows - start[1]].map((cells, end) =>
      Math.min(Math.max(edge(cells, stride[1], end), 0), panel.height),
    ) as [number, number];
    gl.scissor(panel.x + left, bottom + panel.height - down, right - left, down - up); // nothing is looked up beside the grid
    gl.uniform2i(places.shape, shown.columns, shown.rows);
    gl.uniform2f(places.start, ...start);
    gl.uniform2f(places.stride, ...stride);
    gl.uniform2f(places.corner, panel.x + (disc ? panel.width / 2 : 0), bottom + panel.height / (disc ? 2 : 1));
    if (disc) gl.uniform3f(places.disc, ...disc);
    gl.uniform2ui(places.top, a.top, b.top);
    gl.uniform4f(places.quantum, a.scale, a.offset, b.scale, b.offset);
    gl.uniform2f(places.range, ...style.range);
    gl.uniform3f(places.hatch, ...style.hatch);
    gl.uniform1f(places.ratio, style.ratio);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** Waits until everything is drawn; for measurements. */
  finish(): void {
    this.gl.finish();
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  /** Makes the program for a mode current; null when the context was lost, which will be restored. */
  private use(mode: Mode, smooth: boolean, logarithmic: boolean, globe: boolean): Places | null {
    const { gl } = this;
    const key = `${mode} ${smooth} ${logarithmic} ${globe}`;
    const known = this.programs.get(key);
    if (known) {
      gl.useProgram(known.program);
      return known.places;
    }
    const program = gl.createProgram();
    for (const [kind, text] of [
      [gl.VERTEX_SHADER, CORNERS],
      [gl.FRAGMENT_SHADER, colouring(mode, smooth, logarithmic, globe)],
    ] as const) {
      const shader = gl.createShader(kind);
      if (!program || !shader) return null;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      if (gl.isContextLost()) return null;
      throw new Error(`This browser refused the map's shader: ${gl.getProgramInfoLog(program)}.`);
    }
    gl.useProgram(program);
    const places = Object.fromEntries(NAMES.map((name) => [name, gl.getUniformLocation(program, name)])) as Places;
    gl.uniform1i(places.a, 0);
    gl.uniform1i(places.b, 1);
    gl.uniform1i(places.palette, COLOURS);
    this.programs.set(key, { program, places });
    return places;
  }

  private prepare(): void {
    const { gl } = this;
    this.programs = new Map();
    gl.enable(gl.SCISSOR_TEST);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    for (const unit of [0, 1, COLOURS]) {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
      for (const edge of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, edge, gl.CLAMP_TO_EDGE);
      if (unit !== COLOURS) gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8UI, 1, 1, 0, gl.RED_INTEGER, gl.UNSIGNED_BYTE, new Uint8Array([255]));
    }
    this.held = [null, null];
    this.shapes = ["", ""];
    this.colours = null;
  }
}
