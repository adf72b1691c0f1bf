import { expect, it } from "vitest";
import { freePlace } from "../src/ui/here";

it("the button of a region stands where it covers no pin, and above the region if it can", () => {
  const map = [0, 0, 900, 600] as const;
  const region = [300, 200, 600, 400] as const;
  const place = (...pins: [number, number][]) => freePlace(region, map, 140, 24, pins);
  expect(place()).toEqual([460, 168]);
  expect(place([350, 300])).toEqual([460, 168]);
  expect(place([500, 180])).toEqual([300, 168]);
  expect(place([500, 180], [310, 180])).toEqual([460, 408]);
  expect(freePlace([300, 0, 600, 590], map, 140, 24, [[500, 70]])).toEqual([300, 60]); // there is no room below
  expect(freePlace([-50, -90, 50, 700], map, 140, 24, [[20, 70]])).toEqual([0, 60]); // nor anywhere else
});
