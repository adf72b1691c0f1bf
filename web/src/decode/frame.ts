/**
 * Messages of the live socket that are not text, little-endian:
 *
 *     STPF | bits | stream | flags | version | number | 0 | rows | columns | west | north | cell | scale | offset | time | step | missing | 0
 *     then rows x columns levels, u8 or u16, row by row from the north-west
 *     STPD | stream | dropped
 */

export interface Frame {
  stream: number;
  bits: 8 | 16;
  /** The engine is being brought back: this was seen before. */
  replaying: boolean;
  /** The last step of the run. */
  last: boolean;
  number: number;
  rows: number;
  columns: number;
  /** value = offset + scale x level */
  scale: number;
  offset: number;
  /** In the clock's units and calendar. */
  time: number;
  step: number;
  missing: number;
  /** The level outside the mask; one less is missing. */
  top: number;
  levels: Uint8Array | Uint16Array;
  /** Of the grid it has every n-th row and column; undefined where it has all, or means of cells. */
  stride?: number;
  /** The values themselves, of what came as numbers. */
  exact?: ArrayLike<number>;
}
export interface Drops {
  stream: number;
  dropped: number;
}
export class FrameError extends Error {
  readonly tag = "frame";
}

const HEAD = 64;
const FRAME = 0x46505453; // "STPF"
const DROPS = 0x44505453; // "STPD"

/** Raises FrameError when the message is not what its head says. The levels stay where they lie. */
export function decode(buffer: ArrayBuffer): Frame | Drops {
  const head = new DataView(buffer);
  const magic = buffer.byteLength >= 4 ? head.getUint32(0, true) : 0;
  if (magic === DROPS) {
    if (buffer.byteLength !== 12) throw new FrameError(`A count of dropped frames has 12 bytes, not ${buffer.byteLength}.`);
    return { stream: head.getUint32(4, true), dropped: head.getUint32(8, true) };
  }
  if (magic !== FRAME) throw new FrameError('The message begins neither with "STPF" nor with "STPD".');
  if (buffer.byteLength < HEAD) throw new FrameError(`A frame of ${buffer.byteLength} bytes is shorter than its head.`);
  const bits = head.getUint8(4);
  const flags = head.getUint8(6);
  const version = head.getUint8(7);
  if (version !== 1) throw new FrameError(`A head of version ${version} is not known here. Load the page again.`);
  if (bits !== 8 && bits !== 16) throw new FrameError(`A frame has 8 or 16 bits a cell, not ${bits}.`);
  const rows = head.getUint16(16, true);
  const columns = head.getUint16(18, true);
  const bytes = HEAD + (rows * columns * bits) / 8;
  if (buffer.byteLength !== bytes) {
    throw new FrameError(`A frame of ${rows} x ${columns} cells has ${bytes} bytes, not ${buffer.byteLength}.`);
  }
  return {
    stream: head.getUint8(5),
    bits,
    replaying: (flags & 4) !== 0,
    last: (flags & 8) !== 0,
    number: head.getUint32(8, true),
    rows,
    columns,
    scale: head.getFloat32(32, true),
    offset: head.getFloat32(36, true),
    time: head.getFloat64(40, true),
    step: Number(head.getBigUint64(48, true)),
    missing: head.getUint32(56, true),
    top: 2 ** bits - 1,
    levels: bits === 8 ? new Uint8Array(buffer, HEAD) : new Uint16Array(buffer, HEAD),
  };
}

export function isFrame(message: Frame | Drops): message is Frame {
  return "levels" in message;
}

/** A pixel's value; NaN where it is missing, undefined outside the mask or the frame. */
export function valueAt(frame: Frame, pixel: number): number | undefined {
  const level = frame.levels[pixel];
  if (level === undefined || level === frame.top) return undefined;
  return level === frame.top - 1 ? Number.NaN : frame.offset + frame.scale * level;
}

/**
 * A frame of 16 bits of an array that came by HTTP, such as one of a past date.
 *
 * values: rows x columns; active: 1 inside the mask, null when all that is finite is. What is inside and not finite is missing.
 */
export function frameOf(
  values: ArrayLike<number>,
  [rows, columns]: readonly [number, number],
  active: Uint8Array | null,
  facts: Pick<Frame, "stream" | "time" | "step" | "number">,
): Frame {
  const top = 2 ** 16 - 1;
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let pixel = 0; pixel < values.length; pixel++) {
    const value = values[pixel] as number;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (!(least <= most)) [least, most] = [0, 0];
  const offset = Math.fround(least);
  const scale = Math.fround((most - offset) / (top - 2) || 1);
  const levels = new Uint16Array(values.length);
  let missing = 0;
  for (let pixel = 0; pixel < levels.length; pixel++) {
    const value = values[pixel] as number;
    if (Number.isFinite(value)) levels[pixel] = Math.min(Math.max(Math.round((value - offset) / scale), 0), top - 2);
    else if (active?.[pixel]) {
      levels[pixel] = top - 1;
      missing++;
    } else levels[pixel] = top;
  }
  return { ...facts, bits: 16, replaying: false, last: false, rows, columns, scale, offset, missing, top, levels, exact: values };
}
