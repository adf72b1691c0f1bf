/** The search for a town: the map goes there. Its field appears once the names have come, on grids that have degrees. */
import type { Town } from "../draw/context";
import type { Store } from "../state/store";
import { choice } from "./choice";
import { byId } from "./dom";
import type { MapView } from "./map";

const NEAR = 3; // degrees of latitude that are seen around a town
const MOST = 40; // names in the list

export function mount(map: MapView, store: Store, towns: readonly Town[]): void {
  const { grid } = store.now;
  if (!grid || grid.kind === "projected") return;
  const [wide, tall] = grid.span;
  const near = towns.filter(({ place: [x, y] }) => {
    const [east, north] = [(((x - grid.west + wide) % 360) + 360) % 360, grid.north + tall - y];
    return east < 3 * wide && north > 0 && north < 3 * tall;
  });
  const options = near.map(({ name }, index) => ({ value: String(index), label: name, detail: "", words: "" }));
  const search = choice("place", "Go to a town", () => options, go, MOST);
  search.show("Go to …");
  byId("choices").append(search.element);

  function go(value: string): void {
    const town = near[Number(value)];
    const [panel] = map.panels;
    if (!town || !panel) return;
    const [x, y] = town.place;
    store.change({ view: { x, y, zoom: Math.max(map.view?.zoom ?? 0, panel.height / NEAR) } });
    map.element.focus();
  }
}
