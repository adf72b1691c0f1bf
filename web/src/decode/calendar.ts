/** Dates of steps in the calendars of CF, without the browser's clock. */
import type { Clock } from "../state/told";

export interface Moment {
  year: number;
  month: number;
  day: number;
  /** Seconds since midnight. */
  second: number;
}

const DAY = 86400; // [s]
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isLeap(year: number, calendar: string): boolean {
  if (calendar === "noleap" || calendar === "365_day") return false;
  if (calendar === "all_leap" || calendar === "366_day") return true;
  return year % 4 === 0 && (calendar === "julian" || (isMixed(calendar) && year < 1582) || year % 100 !== 0 || year % 400 === 0);
}

/** Whether days before 15 October 1582 are those of the Julian calendar, which is two days behind in the year 1. */
function isMixed(calendar: string): boolean {
  return calendar === "standard" || calendar === "gregorian";
}

/** Days of a month, 1 to 12. */
export function daysOfMonth(year: number, month: number, calendar: string): number {
  if (calendar === "360_day") return 30;
  return month === 2 && isLeap(year, calendar) ? 29 : (LENGTHS[month - 1] ?? 30);
}

function daysOfYear(year: number, calendar: string): number {
  return calendar === "360_day" ? 360 : isLeap(year, calendar) ? 366 : 365;
}

/** Days from 1 January of the year 1. */
function dayNumber(year: number, month: number, day: number, calendar: string): number {
  if (isMixed(calendar)) {
    const isLate = year * 10_000 + month * 100 + day >= 1582_10_15;
    return isLate ? dayNumber(year, month, day, "proleptic_gregorian") : dayNumber(year, month, day, "julian") - 2;
  }
  const years = year - 1;
  const leaps = { julian: Math.floor(years / 4), noleap: 0, "365_day": 0, all_leap: years, "366_day": years }[calendar];
  let days = years * 365 + (leaps ?? Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400));
  if (calendar === "360_day") days = years * 360;
  for (let each = 1; each < month; each++) days += daysOfMonth(year, each, calendar);
  return days + day - 1;
}

function ofDayNumber(number: number, calendar: string): [number, number, number] {
  if (isMixed(calendar)) {
    const isLate = number >= dayNumber(1582, 10, 15, calendar);
    return isLate ? ofDayNumber(number, "proleptic_gregorian") : ofDayNumber(number + 2, "julian");
  }
  let year = Math.floor(number / 366) + 1;
  let rest = number - dayNumber(year, 1, 1, calendar);
  while (rest >= daysOfYear(year, calendar)) rest -= daysOfYear(year++, calendar);
  let month = 1;
  while (rest >= daysOfMonth(year, month, calendar)) rest -= daysOfMonth(year, month++, calendar);
  return [year, month, rest + 1];
}

/** Raises an error when the text is no date of the calendar. */
export function parseMoment(text: string, calendar: string): Moment {
  const found = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?)?/.exec(text);
  const [year, month, day, hour = 0, minute = 0, second = 0] = (found ?? []).slice(1).map((part) => Number(part ?? 0));
  if (!year || !month || !day || month > 12 || day > daysOfMonth(year, month, calendar)) {
    throw new RangeError(`"${text}" is no date of the calendar "${calendar}".`);
  }
  return { year, month, day, second: hour * 3600 + minute * 60 + second };
}

/** Whether a text is a date of the calendar and nothing else, with or without a time. */
export function isDay(text: string, calendar: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$/.test(text)) return false;
  try {
    parseMoment(text, calendar);
    return true;
  } catch {
    return false;
  }
}

/** When a number of seconds after a moment is. */
export function later(from: Moment, seconds: number, calendar: string): Moment {
  const all = from.second + seconds;
  const days = Math.floor(all / DAY);
  const [year, month, day] = ofDayNumber(dayNumber(from.year, from.month, from.day, calendar) + days, calendar);
  return { year, month, day, second: all - days * DAY };
}

/** Seconds from one moment to another. */
export function between(from: Moment, to: Moment, calendar: string): number {
  const day = (moment: Moment) => dayNumber(moment.year, moment.month, moment.day, calendar);
  return (day(to) - day(from)) * DAY + to.second - from.second;
}

/** Whether steps are shorter than a day, and so have the time of their end. */
export function isShort(clock: Clock): boolean {
  return clock.step !== null && clock.step < DAY;
}

/**
 * The date of the step that was done last: its first day, or the instant of its end where steps are shorter than a day; of step 0 the beginning
 * of the run. Null without dates.
 */
export function momentOf(clock: Clock, step: number): Moment | null {
  if (clock.step === null || !clock.start) return null;
  const steps = isShort(clock) ? step : Math.max(step - 1, 0);
  return later(parseMoment(clock.start, clock.calendar), steps * clock.step, clock.calendar);
}

/** Steps that are done when the step of a date, or the last before it, is. Raises an error when there is none. */
export function stepOf(clock: Clock, date: Moment): number {
  if (clock.step === null) throw new RangeError("This run has no dates.");
  const steps = between(parseMoment(clock.start, clock.calendar), date, clock.calendar) / clock.step;
  return isShort(clock) ? Math.floor(steps + 1e-6) : Math.floor(steps) + 1;
}

/** "20 Feb 2003", with the time where steps are shorter than a day. */
export function momentText(moment: Moment, clock: Clock): string {
  const date = `${moment.day} ${MONTHS[moment.month - 1]} ${moment.year}`;
  return isShort(clock) ? `${date}, ${timeText(moment.second)}` : date;
}

function timeText(second: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const ticks = Math.round(second * 1e6); // so that a sum of fractions is the number that is meant
  const rest = ticks % 60e6;
  const seconds =
    rest === 0 ? "" : `:${two(rest / 1e6)}${rest % 1e6 === 0 ? "" : ((rest % 1e6) / 1e6).toFixed(6).slice(1).replace(/0+$/, "")}`;
  return `${two(ticks / 3600e6)}:${two((ticks % 3600e6) / 60e6)}${seconds}`;
}

/** The date of a step in words: "20 Feb 2003", "before 1 Jan 2003" of step 0, "step 12" of what has no dates. */
export function stepText(clock: Clock, step: number): string {
  const moment = momentOf(clock, step);
  if (!moment) return `step ${step}`;
  return step === 0 ? `before ${momentText(moment, clock)}` : momentText(moment, clock);
}

/** "2003-02-20", as requests take it; with the time, "2003-02-20T06:00", of a clock of shorter steps. */
export function isoDate({ year, month, day, second }: Moment, clock?: Clock): string {
  const date = `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
  return clock && isShort(clock) ? `${date}T${timeText(second)}` : date;
}

/** The same day some months later, or the last of that month. */
export function monthsLater(moment: Moment, months: number, calendar: string): Moment {
  const all = moment.year * 12 + moment.month - 1 + months;
  const [year, month] = [Math.floor(all / 12), (all % 12) + 1];
  return { ...moment, year, month, day: Math.min(moment.day, daysOfMonth(year, month, calendar)) };
}

const TIMES = [60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, ...[1, 2, 5, 10, 20].map((days) => days * DAY)]; // [s] apart

/** Where an axis of steps has a date: the first of months or years, days of short spans, times of a day; steps of runs without dates. At most so many, about. */
export function dateTicks(clock: Clock, low: number, high: number, most: number): { step: number; text: string }[] {
  const [from, to] = [momentOf(clock, Math.ceil(low)), momentOf(clock, Math.floor(high))];
  const rounds = [1, 2, 5].flatMap((digit) => [digit, digit * 10, digit * 100, digit * 1000, digit * 10_000, digit * 100_000]);
  const each = Math.min(...rounds.filter((round) => (high - low) / round <= most));
  const months = from && to ? (to.year - from.year) * 12 + to.month - from.month : 0;
  const apart = isShort(clock) && clock.step ? TIMES.map((time) => time / (clock.step ?? 1)).filter(Number.isInteger) : [];
  const times = apart.find((count) => (high - low) / count <= most && (months < 2 || count * (clock.step ?? 0) <= DAY));
  if (times) {
    const before = from ? Math.round(parseMoment(clock.start, clock.calendar).second / (clock.step ?? 1)) : 0; // steps from midnight to the start
    const first = Math.ceil((low + before) / times);
    const count = Math.max(0, Math.floor((high + before) / times) - first + 1);
    const steps = Array.from({ length: count }, (_, k) => (first + k) * times - before);
    return steps.map((step) => {
      const [day = "", time = ""] = stepText(clock, step)
        .replace(/^before /, "")
        .split(", ");
      return { step, text: time.replace(/^00:00$/, day.replace(/ \d+$/, "")) || day };
    });
  }
  if (!from || !to || months < 2) {
    const first = Math.ceil(low / each);
    const steps = Array.from({ length: Math.max(0, Math.floor(high / each) - first + 1) }, (_, k) => (first + k) * each);
    return steps.map((step) => ({ step, text: stepText(clock, step).replace(/^before /, "") }));
  }
  const every = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((count) => months / count <= most) ?? 12_000;
  const begin = Math.floor((from.year * 12 + from.month - 1) / every) * every;
  return Array.from({ length: Math.ceil((months + 12) / every) + 2 }, (_, k) => begin + k * every)
    .filter((month) => month >= 12) // years begin with 1
    .map((month) => ({ year: Math.floor(month / 12), month: (month % 12) + 1, day: 1, second: 0 }))
    .map((moment) => ({ moment, step: stepOf(clock, moment) }))
    .filter(({ step }) => step >= low && step <= high)
    .map(({ moment, step }, k) => {
      const name = k === 0 ? monthText(moment) : (MONTHS[moment.month - 1] ?? "");
      return { step, text: every >= 12 || moment.month === 1 ? String(moment.year) : name };
    });
}

/** "Feb 2003". */
export function monthText({ year, month }: Moment): string {
  return `${MONTHS[month - 1]} ${year}`;
}
