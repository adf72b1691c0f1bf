import { expect, test } from "vitest";
import { first } from "../src/session/streams";
import type { Variable } from "../src/state/told";

const variable = (name: string, role: Variable["role"], ...layers: string[]) => ({ name, role, dims: ["cell", ...layers] }) as Variable;
const variables = [
  variable("rain", "forcing"),
  variable("water", "state", "layer"),
  variable("green", "state"),
  variable("growth", "diagnostic"),
  variable("standing", "derived"),
];

test("what is written and has a value at once is shown first, else a state of one number a cell", () => {
  expect(first(variables, ["rain", "growth", "standing", "green"], 0)).toBe("standing");
  expect(first(variables, ["rain", "growth"], 0)).toBe("green");
  expect(first(variables, [], 0)).toBe("green");
  expect(first(variables, ["rain", "growth", "standing", "green"], 60)).toBe("growth");
  expect(first([], ["green"], 0)).toBe("");
});
