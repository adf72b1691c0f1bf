// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { choice, rankOf } from "../src/ui/choice";
import { timeOf } from "../src/ui/share";

const option = (label: string) => ({ value: label, label, detail: "", words: "" });

it("what begins with the typed text comes first, then what has a word that does", () => {
  const names = ["Koror", "Port Roper", "Rockhampton", "Roma", "Ro"];
  expect(names.toSorted((one, other) => rankOf(option(one), "ro") - rankOf(option(other), "ro"))).toEqual([
    ...["Ro", "Rockhampton", "Roma", "Port Roper", "Koror"],
  ]);
});

it("a list without a match says why", () => {
  const search = choice(
    ...(["place", "Go to", () => [option("Roma")], () => undefined] as const),
    40,
    (text) => `${text}: give latitude, longitude`,
  );
  document.body.replaceChildren(search.element);
  const input = search.element.querySelector("input") as HTMLInputElement;
  input.value = "153, -27.5";
  input.dispatchEvent(new Event("input"));
  expect(search.element.querySelector("li")?.textContent).toBe("153, -27.5: give latitude, longitude");
});

it("values are saved of the dates that are typed, from the start where the first is empty", () => {
  const times = [
    ["", ""],
    ["", "2003-02-01"],
    ["2003-02-01", ""],
    ["2003-02-01", "2003-02-01"],
    ["2003-02-01", "2003-03-01"],
  ].map(([from = "", to = ""]) => timeOf(from, to, "2003-01-01"));
  expect(times).toEqual(["latest", "2003-01-01/2003-02-01", "2003-02-01", "2003-02-01", "2003-02-01/2003-03-01"]);
});
