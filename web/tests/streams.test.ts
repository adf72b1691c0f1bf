import { expect, test } from "vitest";
import { firstMap } from "../src/session/streams";
import type { Variable } from "../src/state/told";

const variable = (name: string, role: Variable["role"], map: Variable["map"] = "field") => ({ name, role, map }) as Variable;
const variables = [
  variable("rain", "forcing"),
  variable("gravity", "parameter", ""),
  variable("green", "state"),
  variable("growth", "diagnostic"),
  variable("standing", "derived"),
];

test("what is written and has a value at once is shown first, else a state with a map", () => {
  expect(firstMap(variables, ["rain", "growth", "standing", "green"], 0)).toBe("standing");
  expect(firstMap(variables, ["rain", "growth"], 0)).toBe("green");
  expect(firstMap(variables, [], 0)).toBe("green");
  expect(firstMap(variables, ["rain", "growth", "standing", "green"], 60)).toBe("growth");
  expect(firstMap([], ["green"], 0)).toBe("");
});
