/** The raw array format: u32 n, n bytes of JSON, the array, little-endian, in C order. */

export interface ArrayHead {
  variable: string;
  units: string;
  dtype: string;
  shape: number[];
  dims: string[];
  step: number;
  date: string | null;
  scenario: string;
}
export interface RawArray {
  head: ArrayHead;
  values: Float32Array | Float64Array | Int16Array | Int32Array | Uint32Array;
}
export class ArrayError extends Error {
  readonly tag = "array";
}

const KINDS = { "<f4": Float32Array, "<f8": Float64Array, "<i2": Int16Array, "<i4": Int32Array, "<u4": Uint32Array };

/** Raises ArrayError when the bytes are not what their head says. */
export function decodeArray(buffer: ArrayBuffer): RawArray {
  if (buffer.byteLength < 4) throw new ArrayError(`An array of ${buffer.byteLength} bytes has no head.`);
  const length = new DataView(buffer).getUint32(0, true);
  if (4 + length > buffer.byteLength) throw new ArrayError(`A head of ${length} bytes does not fit into ${buffer.byteLength}.`);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as ArrayHead;
  const Kind = KINDS[head.dtype as keyof typeof KINDS];
  if (!Kind) throw new ArrayError(`Arrays of "${head.dtype}" are not known here.`);
  const count = head.shape.reduce((product, size) => product * size, 1);
  const bytes = count * Kind.BYTES_PER_ELEMENT;
  if (4 + length + bytes !== buffer.byteLength) {
    throw new ArrayError(`An array of ${head.shape.join(" x ")} ${head.dtype} has ${bytes} bytes, not ${buffer.byteLength - 4 - length}.`);
  }
  return { head, values: new Kind(buffer, 4 + length, count) };
}
