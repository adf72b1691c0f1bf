/** What `fixtures.py` wrote. */
import { readFileSync } from "node:fs";

interface Fixtures {
  frames: { bits: 8 | 16; bytes: string; cells: (number | "missing" | "outside")[]; number: number; stream: number; step: number }[];
  drops: string;
  arrays: { bytes: string; values: (number | null)[] }[];
  dates: { calendar: string; day: number; date: string }[];
}
export const FIXTURES = JSON.parse(readFileSync(new URL("fixtures.json", import.meta.url), "utf8")) as Fixtures;

export function bytesOf(text: string): ArrayBuffer {
  return Uint8Array.from(Buffer.from(text, "base64")).buffer as ArrayBuffer;
}
