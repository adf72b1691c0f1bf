/** Lines in degrees as paths in pixels. Of those on a globe only the part in its disc is to be seen. */
import { discOf } from "../state/globe";
import type { Place } from "../state/told";
import { projectionOf } from "../state/view";
import { isEdge, type Ring } from "./coast";
import type { Scene } from "./lines";

const FINE = 2; // degrees from point to point of a long line on a globe

/** The same line with as many points as it needs to follow the parallels and meridians of a globe. */
export function finely({ view }: Scene, ...line: readonly Place[]): Place[] {
  return line.flatMap(([x, y], index) => {
    const [dx, dy] = [(line[index + 1]?.[0] ?? x) - x, (line[index + 1]?.[1] ?? y) - y];
    const count = view.globe ? Math.max(1, Math.ceil(Math.max(Math.abs(dx), Math.abs(dy)) / FINE)) : 1;
    return Array.from({ length: count }, (_, k): Place => [x + (dx * k) / count, y + (dy * k) / count]);
  });
}

/** Lines as one path. Pieces behind a globe are left out; of land, which is to be filled, they go around its disc. which: of shores, as in `placed`. */
export function traced({ view, grid, panel }: Scene, lines: readonly Ring[], which?: "land" | "line"): Path2D {
  const path = new Path2D();
  const [mx, my, radius] = [panel.x + panel.width / 2, panel.y + panel.height / 2, view.globe ? discOf(view)[0] : Infinity];
  for (const line of lines) {
    let [px, py, hid, lifted] = [0, 0, false, true];
    line.forEach((place, index) => {
      const [x, y] = projectionOf(view).offset(view, grid, ...place);
      const hidden = Math.hypot(x, y) > radius;
      const behind = hidden && hid;
      const before = line[index - 1];
      const drawn = before && (which === "land" || !behind) && !(which === "line" && isEdge(before) && isEdge(place));
      if (drawn && lifted) path.moveTo(mx + px, my - py);
      if (drawn && behind && x * px + y * py < 0) {
        const far = (2 * radius) / (Math.hypot(x + px, y + py) || 1); // straight ahead would cut the disc
        path.lineTo(mx + (x + px) * far, my - (y + py) * far);
      }
      if (drawn) path.lineTo(mx + x, my - y);
      [px, py, hid, lifted] = [x, y, hidden, !drawn];
    });
  }
  return path;
}
