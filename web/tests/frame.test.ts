import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ArrayError, decodeArray } from "../src/decode/array";
import { decode, type Frame, FrameError, frameOf, isFrame, valueAt } from "../src/decode/frame";
import { Latest } from "../src/decode/latest";
import { bytesOf, FIXTURES } from "./fixtures";

function frameIn(bytes: string): Frame {
  const found = decode(bytesOf(bytes));
  if (!isFrame(found)) throw new Error("no frame");
  return found;
}

describe.each(FIXTURES.frames)("a frame of $bits bits that Python packed", ({ bits, bytes, cells, ...facts }) => {
  const frame = frameIn(bytes);

  it("has the facts of its head", () => {
    expect(frame).toMatchObject({ bits, rows: 7, columns: 5, time: 1154, replaying: true, last: false, ...facts });
    expect(frame.missing).toBe(cells.filter((cell) => cell === "missing").length);
  });

  it("decoded_value_is_within_half_a_step", () => {
    const numbers = cells.flatMap((cell, pixel) => (typeof cell === "number" ? [[cell, valueAt(frame, pixel)]] : []));
    expect(numbers.length).toBeGreaterThan(10);
    for (const [value, decoded] of numbers)
      expect(Math.abs(Number(value) - Number(decoded))).toBeLessThanOrEqual((frame.scale / 2) * 1.0001);
  });

  it("missing_and_outside_stay_apart", () => {
    const kinds = cells.map((cell) => (typeof cell === "number" ? "value" : cell));
    const decoded = cells.map((_, pixel) => {
      const value = valueAt(frame, pixel);
      return value === undefined ? "outside" : Number.isNaN(value) ? "missing" : "value";
    });
    expect(new Set(kinds).size).toBe(3);
    expect(decoded).toEqual(kinds);
  });

  it("frame_of_wrong_length_is_refused", () => {
    const content = bytesOf(bytes);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: content.byteLength + 40 }), (length) => {
        fc.pre(length !== content.byteLength);
        const other = new Uint8Array(length);
        other.set(new Uint8Array(content).subarray(0, length));
        expect(() => decode(other.buffer)).toThrow(FrameError);
      }),
    );
  });

  it("is refused with a word of another kind, another version or other bits", () => {
    for (const [at, value] of [
      [0, 81],
      [7, 2],
      [4, 12],
    ] as const) {
      const other = new Uint8Array(bytesOf(bytes));
      other[at] = value;
      expect(() => decode(other.buffer)).toThrow(FrameError);
    }
  });
});

it("counts of dropped frames are read", () => {
  expect(decode(bytesOf(FIXTURES.drops))).toEqual({ stream: 3, dropped: 17 });
});

it.each(FIXTURES.arrays)("an array that Python packed has its numbers", ({ bytes, values }) => {
  const { head, values: found } = decodeArray(bytesOf(bytes));
  expect(head).toMatchObject({ variable: "green", units: "kg ha-1", shape: [3, 4], step: 3 });
  expect(Array.from(found, (value) => (Number.isNaN(value) ? null : value))).toEqual(values);
  expect(() => decodeArray(bytesOf(bytes).slice(0, -1))).toThrow(ArrayError);
});

it("an array of a past date becomes a frame within half a step", () => {
  const cell = fc.oneof(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.constant(Number.NaN));
  fc.assert(
    fc.property(fc.array(fc.tuple(cell, fc.boolean()), { minLength: 1, maxLength: 60 }), (cells) => {
      const values = cells.map(([value, active]) => (active ? Math.fround(value) : Number.NaN));
      const active = Uint8Array.from(cells, ([, is]) => Number(is));
      const frame = frameOf(values, [1, cells.length], active, { stream: 1, time: 0, step: 1, number: 0 });
      cells.forEach(([, is], pixel) => {
        const [value, decoded] = [values[pixel] as number, valueAt(frame, pixel)];
        if (!is) expect(decoded).toBeUndefined();
        else if (Number.isNaN(value)) expect(decoded).toBeNaN();
        else expect(Math.abs((decoded as number) - value)).toBeLessThanOrEqual(frame.scale * 0.51 + Math.abs(value) * 2e-7 + 1e-37);
      });
      expect(frame.missing).toBe(cells.filter(([value, is]) => is && Number.isNaN(value)).length);
    }),
  );
});

describe("the newest frames", () => {
  const frame = (stream: number, step: number): Frame => ({ ...frameIn(FIXTURES.frames[0]?.bytes ?? ""), stream, step });

  it("only_the_newest_frame_is_kept", () => {
    const latest = new Latest();
    for (let step = 1; step <= 100; step++) latest.put(frame(1, step), step);
    expect(latest.take([1], 101)?.map((each) => each.step)).toEqual([100]);
  });

  it("of a pair wait for one another, but not for ever", () => {
    const latest = new Latest();
    latest.put(frame(1, 7), 0);
    expect(latest.take([1, 2], 1)).toBeNull();
    latest.put(frame(2, 7), 2);
    latest.put(frame(1, 8), 10);
    expect(latest.take([1, 2], 11)).toBeNull();
    expect(latest.take([1, 2], 200)?.map((each) => each.step)).toEqual([8, 7]);
    expect(latest.take([1, 3], 200)?.map((each) => each.step)).toEqual([8]);
    expect(latest.take([3, 1], 200)).toBeNull();
    latest.put(frame(2, 8), 201);
    expect(latest.take([1, 2], 202)?.map((each) => each.step)).toEqual([8, 8]);
  });
});
