import fc from "fast-check";
import { expect, it } from "vitest";
import { tokenIn } from "../src/fetch/token";
import { fromFragment, type Linked, toFragment } from "../src/state/link";
import type { Maps } from "../src/state/store";

const nice = (min: number, max: number) =>
  fc.integer({ min: Math.ceil(min * 1e4), max: Math.floor(max * 1e4) }).map((value) => value / 1e4 + 0);
const place = fc.tuple(nice(-180, 180), nice(-90, 90)) as fc.Arbitrary<[number, number]>;
const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,20}$/);
const linked: fc.Arbitrary<Linked> = fc.record({
  run: name,
  date: fc.constantFrom(null, "2003-02-20", "step:120"),
  look: fc.record({
    variable: fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/),
    other: fc.constantFrom("", "depth"),
    arrows: fc.constantFrom("", "wind at 10 m"),
    scenarios: fc.uniqueArray(name, { minLength: 1, maxLength: 2 }),
    maps: fc.constantFrom(1, 2, 3, 4, 5) as fc.Arbitrary<Maps>,
    globe: fc.boolean(),
    palette: fc.constantFrom("batlow", "bamako_r"),
    range: fc.option(
      fc.tuple(nice(-1000, 0), nice(1, 1000)).map((pair): [number, number] => pair),
      { nil: null },
    ),
    smooth: fc.boolean(),
    logarithmic: fc.constantFrom(null, true, false),
    theme: fc.constantFrom("auto", "light", "dark") as fc.Arbitrary<"auto" | "light" | "dark">,
  }),
  steered: name,
  view: fc.option(fc.record({ x: nice(-180, 180), y: nice(-90, 90), zoom: nice(1, 4000) }), { nil: null }),
  pins: fc.array(place, { maxLength: 6 }),
  selection: fc.oneof(
    fc.constant(null),
    fc.tuple(nice(-180, 0), nice(-90, 0), nice(1, 180), nice(1, 90)).map((box) => ({ box: box as [number, number, number, number] })),
    fc.array(place, { minLength: 3, maxLength: 8 }).map((polygon) => ({ polygon })),
  ),
});

it("link_round_trips_every_field", () => {
  fc.assert(
    fc.property(linked, (given) => {
      const found = fromFragment(`#${toFragment(given)}`);
      expect(found.look).toEqual(Object.fromEntries(Object.entries(given.look).filter(([, value]) => value !== null && value !== ""))); // a link does not say them
      expect({ run: found.run, date: found.date ?? null, view: found.view ?? null }).toEqual({
        run: given.run,
        date: given.date,
        view: given.view,
      });
      expect(found.steered).toEqual(given.steered);
      expect(found.pins ?? []).toEqual(given.pins);
      expect(found.selection ?? null).toEqual(given.selection);
    }),
  );
});

it("what a link says wrongly is passed over", () => {
  const found = fromFragment("#run=a&maps=9&range=5,1&view=1,2&pins=nowhere,10N20E&region=polygon,1,2&theme=pink&date=yesterday&smooth=1");
  expect(found).toEqual({ run: "a", look: { smooth: true }, pins: [[20, 10]] });
  expect(fromFragment("#scenario=100%25&steer=5%25")).toEqual({ look: { scenarios: ["100%"] }, steered: "5%" }); // encoded once, not twice
});

it("a token leaves the fragment, and what else it says stays", () => {
  expect(tokenIn("#token=a-b_c&run=x&pins=19.75S138.45E")).toEqual({ token: "a-b_c", rest: "run=x&pins=19.75S138.45E" });
  expect(tokenIn("#run=x").token).toBeNull();
});
