import { expect, it, vi } from "vitest";
import { Screen } from "../src/decode/screen";
import type { Api } from "../src/fetch/api";
import type { Hearers } from "../src/fetch/live";
import { Session } from "../src/session/session";
import { FIRST, type State, Store } from "../src/state/store";
import { titlesOf } from "../src/ui/titles";

/** A page on two variables that are one number of the whole grid each. answers: what is asked for, and how to answer it. */
function opened() {
  const variables = ["co2", "warm"].map((name) => ({ name, units: name === "co2" ? "ppm" : "K", long_name: "", map: "" }));
  const run = { variables, outputs: [], parameters: {}, steps: 9 } as unknown as State["run"];
  const store = new Store({ run, look: { ...FIRST.look, scenarios: ["main"] } });
  const answers: [string, (value: number) => void][] = [];
  const data = (name: string) => new Promise((answer) => answers.push([name, (value) => answer({ values: [value] })]));
  const heard: { by?: Hearers } = {};
  const wire = (hearers: Hearers) => {
    heard.by = hearers;
    return { watch: () => undefined, follow: () => undefined, cursor: () => undefined, close: () => undefined };
  };
  new Session(
    store,
    new Screen(),
    { data, events: () => new Promise(() => undefined), triggers: () => new Promise(() => undefined) } as unknown as Api,
    wire as never,
    async () => "",
    () => 100,
  );
  const title = () => titlesOf(store.now, [0])[0]?.text;
  return { store, answers, title, hear: (message: object) => heard.by?.message(message as never) };
}

it("a number of the whole grid is not that of the variable before it", async () => {
  const { store, answers, title } = opened();
  store.look({ variable: "co2" });
  answers[0]?.[1](420);
  await vi.waitFor(() => expect(title()).toContain("co2: 420 ppm"));
  store.look({ variable: "warm" });
  expect(title()).toMatch(/^warm:,/);
  answers[1]?.[1](293);
  await vi.waitFor(() => expect(title()).toContain("warm: 293 K"));
});

it("an older answer does not replace a newer one, and a planned change is asked for", async () => {
  const { store, answers, title, hear } = opened();
  store.look({ variable: "co2" });
  hear({ type: "event", branch: 1, kind: "message", text: "" });
  expect(answers.map(([name]) => name)).toEqual(["co2", "co2"]);
  answers[1]?.[1](500);
  await vi.waitFor(() => expect(title()).toContain("500 ppm"));
  answers[0]?.[1](420);
  await new Promise((done) => setTimeout(done, 20));
  expect(title()).toContain("500 ppm");
});
