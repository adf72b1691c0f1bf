import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { paced } from "../src/state/pace";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("what is paced happens not too often, and once more behind the last call", () => {
  let [value, seen, count] = [0, 0, 0];
  const tell = paced(7, () => {
    seen = value;
    count++;
  });
  for (value = 1; value <= 100; value++) {
    tell();
    vi.advanceTimersByTime(10);
  }
  expect(count).toBeLessThanOrEqual(8);
  expect(count).toBeGreaterThanOrEqual(6);
  vi.advanceTimersByTime(200);
  expect(seen).toBe(100);
});
