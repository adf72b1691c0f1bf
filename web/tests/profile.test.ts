// @vitest-environment happy-dom
import { expect, it } from "vitest";
import type { Api } from "../src/fetch/api";
import { FIRST, type Shown, Store } from "../src/state/store";
import type { Info, Variable } from "../src/state/told";
import { mount } from "../src/ui/profile";
import type { Theme } from "../src/ui/theme";

it("a profile that did not come is asked for again with the next frame", async () => {
  const store = new Store();
  const place = document.createElement("div");
  let asked = 0;
  const series = async () => {
    asked += 1;
    if (asked === 1) throw new Error("416");
    return { values: [[5], [7]] };
  };
  const theme = { follow: () => undefined, pin: () => "red" } as unknown as Theme;
  mount(place, store, theme, { series } as unknown as Api);
  const gas = {
    name: "gas",
    units: "1",
    long_name: "Gas",
    levels: { values: [1000, 500], units: "hPa", positive: "down" },
  } as unknown as Variable;
  const shown = [{ scenario: "main", variable: "gas[0]", step: 4, live: true } as Shown];
  store.change({
    run: { variables: [gas] } as never,
    info: { scenarios: [] } as unknown as Info,
    pins: [{ cell: 1, place: [0, 0], colour: 1 }],
    look: { ...FIRST.look, variable: "gas[0]", scenarios: ["main"] },
    shown,
  });
  const said = () => place.querySelector("svg")?.getAttribute("aria-label") ?? "";
  await expect.poll(() => place.textContent).toContain("no values at hand");
  store.change({ shown: [...shown] });
  await expect.poll(said).toContain("5 at 1000 hPa; 7 at 500 hPa");
  expect(asked).toBe(2);
});
