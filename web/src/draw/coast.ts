/** The coastline as one path in degrees. The view is put in by a matrix, so panning parses nothing. */
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";

export type Ring = readonly (readonly [number, number])[];

/**
 * A closed ring in parts that do not jump from one edge of the world to the other. Where it crosses the antimeridian the crossing becomes an end of
 * one part, on one edge, and the beginning of the next, on the other. A ring around a pole gets the edge of the world at this pole.
 */
export function splitAtAntimeridian(ring: Ring): [number, number][][] {
  const parts: [number, number][][] = [[]];
  ring.forEach(([longitude, latitude], index) => {
    const before = ring[index - 1];
    if (before && Math.abs(longitude - before[0]) > 180) {
      const edge = before[0] > 0 ? 180 : -180;
      const across = edge - before[0];
      const whole = across + (longitude + edge); // from the point before to this one, the short way round
      const at = whole === 0 ? latitude : before[1] + ((latitude - before[1]) * across) / whole;
      parts.at(-1)?.push([edge, at]);
      parts.push([[-edge, at]]);
    }
    parts.at(-1)?.push([longitude, latitude]);
  });
  const [first, last] = [parts[0], parts.at(-1)];
  if (parts.length > 1 && first && last) parts.splice(0, parts.length, [...last, ...first.slice(1)], ...parts.slice(1, -1)); // the ring closes
  for (const part of parts) {
    const [[west, south], [east]] = [part[0], part.at(-1)] as [[number, number], [number, number]];
    if (Math.abs(east - west) > 359) part.push([east, 90 * Math.sign(south)], [west, 90 * Math.sign(south)]); // it goes round a pole
  }
  return parts;
}

/** The rings of the land of a topology such as world-atlas' land-50m. */
export function ringsOf(atlas: Topology): Ring[] {
  const { features } = feature(atlas, atlas.objects.land as GeometryCollection);
  return features.flatMap(({ geometry }) => {
    if (geometry.type === "Polygon") return geometry.coordinates as unknown as Ring[];
    return geometry.type === "MultiPolygon" ? (geometry.coordinates.flat() as unknown as Ring[]) : [];
  });
}

/** A part of the land: to be filled by the even-odd rule, and the line around it, which leaves the edges of the world away. */
export interface Shore {
  ring: Ring;
  land: Path2D;
  line: Path2D;
  west: number;
  south: number;
  east: number;
  north: number;
}
export type Coast = readonly Shore[];

export function coastOf(rings: readonly Ring[]): Coast {
  const lands = rings.filter((ring) => ring.some(([, latitude]) => latitude > -89.9)); // one is the South Pole itself
  return lands.flatMap(splitAtAntimeridian).map(shoreOf);
}

/** Whether a point lies on an edge of the world, where no shore is. */
export const isEdge = ([longitude, latitude]: readonly [number, number]) => Math.abs(longitude) > 179.9999 || latitude < -89.9;

export function shoreOf(part: Ring): Shore {
  const shore: Shore = { ring: part, land: new Path2D(), line: new Path2D(), west: 360, south: 90, east: -360, north: -90 };
  part.forEach((point, index) => {
    const [longitude, latitude] = point;
    const before = part[index - 1];
    shore.land[before ? "lineTo" : "moveTo"](longitude, latitude);
    shore.line[before && !(isEdge(point) && isEdge(before)) ? "lineTo" : "moveTo"](longitude, latitude);
    shore.west = Math.min(shore.west, longitude);
    shore.east = Math.max(shore.east, longitude);
    shore.south = Math.min(shore.south, latitude);
    shore.north = Math.max(shore.north, latitude);
  });
  shore.land.closePath();
  return shore;
}
