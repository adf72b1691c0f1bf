/** The Earth seen from far away: an orthographic globe, north up, the place of the view in its middle. Pure; degrees and pixels. */
import type { Grid } from "./grid";
import type { Projection, View } from "./view";

const RADIAN = Math.PI / 180;
const turns = (degrees: number) => [Math.sin(degrees * RADIAN), Math.cos(degrees * RADIAN)] as const;

/** Whether a grid covers the whole Earth, so that a globe can show it. The outermost rows of a Gaussian one are drawn less than half a row from the poles. */
export function isWhole({ kind, span: [wide, tall], north, dx, dy }: Grid): boolean {
  return kind === "raster" && Math.abs(wide - 360) < dx / 2 && Math.max(90 - north, 90 + north - tall) < dy / 2;
}

/** The view on a globe: its middle is a place on the Earth, as the grid counts longitudes. */
export function turned(view: View, grid: Grid): View {
  return { ...view, globe: true, x: onto(grid, view.x, 0)[0], y: Math.min(Math.max(view.y, -90), 90) };
}

/** Radius in pixels, sine and cosine of the latitude in the middle. */
export function discOf({ y, zoom }: View): readonly [number, number, number] {
  return [zoom / RADIAN, ...turns(y)];
}

export const GLOBE: Projection = {
  onto,
  /** What lies behind is mirrored at the rim: outside of the disc, and the farther the nearer it is to the opposite side of the Earth. */
  offset(view, _grid, x, y) {
    const [[radius, sine, cosine], [sx, cx], [sy, cy]] = [discOf(view), turns(x - view.x), turns(y)];
    const [right, up] = [cy * sx || 1e-300, cosine * sy - sine * cy * cx]; // the very opposite lies somewhere on the circle of 2 radii
    const far = sine * sy + cosine * cy * cx < 0 ? 2 / Math.hypot(right, up) - 1 : 1;
    return [right * far * radius, up * far * radius];
  },
  place(view, _grid, right, up) {
    const [radius, sine, cosine] = discOf(view);
    const [r, u] = [right / radius, up / radius];
    const depth = Math.sqrt(1 - r * r - u * u); // NaN beside the disc
    const ahead = depth * cosine - u * sine;
    const north = Math.atan2(depth * sine + u * cosine, Math.hypot(r, ahead));
    return [view.x + Math.atan2(r, ahead) / RADIAN, north / RADIAN];
  },
  window({ x, y, zoom }, _grid, width, height) {
    const reach = Math.asin(Math.min((Math.hypot(width, height) / 2 / zoom) * RADIAN, 1)) / RADIAN;
    return [x - 180, Math.max(y - reach, -90), x + 180, Math.min(y + reach, 90)];
  },
};

function onto(grid: Grid, x: number, y: number): [number, number] {
  const [wide, tall] = grid.span;
  const east = Math.min((((x - grid.west) % 360) + 360) % 360, wide - 1e-9 * grid.dx);
  return [grid.west + east, Math.min(Math.max(y, grid.north - tall + 1e-9 * grid.dy), grid.north)];
}
