// @vitest-environment happy-dom
import fc from "fast-check";
import { expect, it } from "vitest";
import { counted, grouped, placeText, prettyUnit, singleText, toStep, typedNumber, typedPlace, unbroken } from "../src/decode/units";
import { actionOf, KEYS } from "../src/state/keys";
import { Store } from "../src/state/store";
import { fill, h } from "../src/ui/dom";
import { regionOf } from "../src/ui/region";

it("a_name_with_markup_is_shown_as_text", () => {
  const names = fc.oneof(fc.string(), fc.constantFrom("<img src=x onerror=alert(1)>", "<b>bold</b>", "&amp;", "</script>"));
  fc.assert(
    fc.property(names, (name) => {
      const place = h("div");
      fill(place, name, h("b", { title: name }, name));
      expect(place.textContent).toBe(name + name);
      expect(place.querySelectorAll("*")).toHaveLength(1);
      expect(place.querySelector("b")?.getAttribute("title")).toBe(name);
    }),
  );
});

it("units are written with true superscripts", () => {
  expect(["kg ha-1", "mm d-1", "m3 m-3", "degree_Celsius", "1", "W m**-2", "kg m^-2 s-1", "MJ m-2"].map(prettyUnit)).toEqual([
    ...["kg ha⁻¹", "mm d⁻¹", "m³ m⁻³", "°C", "", "W m⁻²", "kg m⁻² s⁻¹", "MJ m⁻²"],
  ]);
});

it("numbers have a true minus and thin spaces, and are read as they are written", () => {
  expect(grouped("-1234567.891")).toBe("−1 234 567.891");
  expect([0, 1, 1234].map((count) => counted(count, "cell"))).toEqual(["0 cells", "1 cell", "1 234 cells"]);
  expect(toStep(1133.0248, 0.03)).toBe("1 133.02");
  expect(toStep(-0.001, 0.1)).toBe("0.0");
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(typedNumber(grouped(String(value)))).toBe(value + 0);
    }),
  );
  expect([typedNumber("0,12"), typedNumber("1 200,5"), typedNumber("1,2,3"), typedNumber("12 kg"), typedNumber("")]).toEqual([
    0.12,
    1200.5,
    null,
    null,
    null,
  ]);
  expect(["1,000", "−12,345", "1e400", "9".repeat(400)].map(typedNumber)).toEqual([null, null, null, null]); // one or a thousand; no number
});

it("small and great numbers have one kind of exponent, whoever wrote their digits", () => {
  expect(["9.7e-09", "9.7e-9", "0.0000011920929", "1e-05", "0.0001", "-1e+20", "1e16"].map(grouped)).toEqual([
    ...["9.7e−9", "9.7e−9", "1.1920929e−6", "1e−5", "0.0001", "−1e20", "1e16"],
  ]);
  expect(toStep(-1e-5, 5e-6, 1e-5)).toBe("−1e−5");
  expect(toStep(0, 5e-6, 1e-5)).toBe("0");
  expect(toStep(15e6, 5e6)).toBe("1.5e7");
});

it("lists show a number of float64 in the digits of float32, and whole ones whole", () => {
  expect([Math.fround(8.9), 8.9, 9.716393850926385e-10, 12345678901, 1e-300].map(singleText)).toEqual([
    ...["8.9", "8.9", "9.71639385e-10", "12345678901", "1e-300"],
  ]);
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(Math.fround(Number(singleText(value)))).toBe(value + 0);
    }),
  );
});

it("no line ends within a number", () => {
  expect(unbroken("3 141 (1 353.27 to 4 206)")).toBe("3\u00a0141 (1\u00a0353.27 to 4\u00a0206)");
});

it("corners that are typed are a box or a polygon", () => {
  expect(regionOf("145 -20, 143 -22")).toEqual({ box: [143, -22, 145, -20] });
  expect(regionOf("170 -20, -170 20")).toEqual({ box: [170, -20, 190, 20] }); // over the date line, as one that is drawn
  expect(regionOf("350 10, 10 -10")).toEqual({ box: [-10, -10, 10, 10] });
  expect(regionOf("-170 -20, 170 20")).toEqual({ box: [-170, -20, 170, 20] });
  expect(regionOf("1 2; 3 4\n5 −6")).toEqual({
    polygon: [
      [1, 2],
      [3, 4],
      [5, -6],
    ],
  });
  for (const wrong of ["", "1 2", "1 2, 3", "1 2, 3 here", "1 2, 1 4", "1 95, 3 4"]) expect(typeof regionOf(wrong)).toBe("string");
});

it("places say their hemisphere", () => {
  expect(placeText([147.45, -19.95])).toBe("19.95° S, 147.45° E");
  expect(placeText([350, 10])).toBe("10° N, 10° W");
  expect([placeText([0, 0]), placeText([180, -0.00001]), typedPlace("0°, 180°")]).toEqual(["0°, 0°", "0°, 180°", [180, 0]]);
  for (const text of ["-19.95, 147.45", "19.95° S, 147.45° E", "19.95S 147.45 e", "−19.95;147.45", placeText([147.45, -19.95])])
    expect(typedPlace(text)).toEqual([147.45, -19.95]);
  expect(typedPlace("10 n, 10 w")).toEqual([-10, 10]);
  for (const text of ["", "Longreach", "19.95", "91, 0", "0, 361", "1.2.3, 4", "3 towns"]) expect(typedPlace(text)).toBeNull();
});

it("no key does two things, and letters can be switched off", () => {
  const keys = KEYS.flatMap((each) => each.keys);
  expect(new Set(keys).size).toBe(keys.length);
  const press = (key: string, letters = true, more = {}) =>
    actionOf({ key, ctrlKey: false, altKey: false, metaKey: false, ...more }, letters);
  expect([press(" "), press("V"), press("3"), press("F2")]).toEqual(["play", "variable", "difference", "rename"]);
  expect([press("v", false), press("F2", false), press("c", true, { ctrlKey: true }), press("q")]).toEqual([null, "rename", null, null]);
  expect([press("[", true, { altKey: true }), press("d", true, { altKey: true })]).toEqual(["slower", null]); // Option and 5 on a Mac
});

it("the store tells of a part only when it has changed", () => {
  const store = new Store();
  const heard: unknown[] = [];
  const end = store.subscribe(
    (state) => [state.look.variable, state.look.maps],
    (value) => heard.push(value),
  );
  store.look({ smooth: true });
  store.look({ variable: "green" });
  store.look({ variable: "green" });
  end();
  store.look({ variable: "litter" });
  expect(heard).toEqual([
    ["", 1],
    ["green", 1],
  ]);
});
