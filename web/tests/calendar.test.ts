import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { between, daysOfMonth, isoDate, later, momentOf, monthsLater, parseMoment, stepOf, stepText } from "../src/decode/calendar";
import type { Clock } from "../src/state/told";
import { labels } from "../src/ui/timeline";
import { FIXTURES } from "./fixtures";

const clock = (calendar: string, step = 86400): Clock => ({ start: "2000-01-01T00:00:00", step, calendar, units: "days since 2000-01-01" });
const calendars = ["standard", "noleap", "all_leap", "360_day", "julian"];

it.each(FIXTURES.dates)("day $day of $calendar is cftime's", ({ calendar, day, date }) => {
  expect(isoDate(later(parseMoment("2000-01-01", calendar), day * 86400, calendar))).toBe(date);
});

it("noleap_has_no_29_february", () => {
  expect(daysOfMonth(2000, 2, "noleap")).toBe(28);
  expect(() => parseMoment("2000-02-29", "noleap")).toThrow(RangeError);
  expect(isoDate(later(parseMoment("2000-02-28", "noleap"), 86400, "noleap"))).toBe("2000-03-01");
  expect(isoDate(later(parseMoment("2000-02-28", "standard"), 86400, "standard"))).toBe("2000-02-29");
  expect(isoDate(monthsLater(parseMoment("2000-01-31", "noleap"), 1, "noleap"))).toBe("2000-02-28");
});

it("a step and its date lead to one another in every calendar", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...calendars),
      fc.integer({ min: 1, max: 80_000 }),
      fc.constantFrom(86400, 3600, 21600),
      (calendar, step, length) => {
        const moment = momentOf(clock(calendar, length), step);
        if (!moment) throw new Error("no date");
        expect(stepOf(clock(calendar, length), moment)).toBe(step);
        expect(between(parseMoment("2000-01-01", calendar), moment, calendar)).toBe((length < 86400 ? step : step - 1) * length);
      },
    ),
  );
});

it("requests have the instant of a step that is shorter than a day, and it parses back", () => {
  const lengths = [600, 37.5, 0.1, 3600];
  fc.assert(
    fc.property(
      fc.constantFrom(...calendars),
      fc.integer({ min: 0, max: 80_000 }),
      fc.constantFrom(...lengths),
      (calendar, step, length) => {
        const short = clock(calendar, length);
        const moment = momentOf(short, step);
        if (!moment) throw new Error("no date");
        expect(stepOf(short, parseMoment(isoDate(moment, short), calendar))).toBe(step);
      },
    ),
  );
  const minutes = clock("standard", 600);
  expect(isoDate(momentOf(minutes, 36)!, minutes)).toBe("2000-01-01T06:00");
  expect(isoDate(momentOf(clock("standard"), 36)!, clock("standard"))).toBe("2000-02-05");
});

describe("dates in words", () => {
  it("say the day that was done last, and what was before the first", () => {
    expect(stepText(clock("standard"), 51)).toBe("20 Feb 2000");
    expect(stepText(clock("standard"), 0)).toBe("before 1 Jan 2000");
    expect(stepText(clock("standard", 3600), 8)).toBe("1 Jan 2000, 08:00");
    expect(stepText(clock("standard", 37.5), 3)).toBe("1 Jan 2000, 00:01:52.5");
    expect(stepText({ ...clock("standard"), step: null }, 12)).toBe("step 12");
  });
});

it("the bar of time has a year at its first text and at each January, and none at its ends", () => {
  const found = labels({ ...clock("standard"), start: "2001-02-20T00:00:00" }, 374, 830);
  expect(found.map(({ text }) => text)).toEqual(["May 2001", "Jul", "Sep", "Nov", "2002"]);
  for (const { step } of found) expect(Math.min(step, 374 - step) * (830 / 374)).toBeGreaterThanOrEqual(24);
  expect(labels({ ...clock("standard"), step: null }, 374, 830)).toEqual([]);
});

it("a standard calendar has the days of the Julian one before 15 October 1582, as the server has", () => {
  const clock = { start: "1499-12-20T00:00:00", step: 86400, calendar: "standard", units: "" };
  expect([71, 72, 73].map((step) => stepText(clock, step))).toEqual(["28 Feb 1500", "29 Feb 1500", "1 Mar 1500"]);
  expect(stepOf(clock, parseMoment("1500-02-29", "standard"))).toBe(72);
  const late = { ...clock, start: "1582-10-04T00:00:00" };
  expect([1, 2].map((step) => stepText(late, step))).toEqual(["4 Oct 1582", "15 Oct 1582"]);
  expect(stepOf(late, parseMoment("1582-10-15", "standard"))).toBe(2);
});
