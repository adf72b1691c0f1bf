/** The search for a town or a place in degrees: the map goes there. Its field appears once the names have come, on grids that have degrees. */
import { placeText, typedPlace } from "../decode/units";
import type { Town } from "../draw/context";
import { asCounted } from "../state/grid";
import type { Store } from "../state/store";
import { choice, type Option } from "./choice";
import { byId } from "./dom";
import type { MapView } from "./map";

const NEAR = 3; // degrees of latitude that are seen around a town
const MOST = 40; // names in the list

export function mount(map: MapView, store: Store, towns: readonly Town[]): void {
  const { grid } = store.now;
  if (!grid || grid.kind === "projected") return;
  const [wide, tall] = grid.span;
  const isNear = ([x, y]: readonly [number, number]) => {
    const [east, north] = [(((x - grid.west + wide) % 360) + 360) % 360, grid.north + tall - y];
    return east < 3 * wide && north > 0 && north < 3 * tall;
  };
  const near = towns.filter((town) => isNear(town.place));
  const options = near.map(({ name }, index) => ({ value: String(index), label: name, detail: "", words: "" }));
  const search = choice("place", "Go to a town, or to latitude, longitude", found, go, MOST, whyNone);
  search.show("Go to …");
  byId("choices").append(search.element);

  function whyNone(text: string): string {
    if (typedPlace(text)) return "This place is not on the map";
    return /\d/.test(text) ? "Give latitude, longitude: -27.5, 153" : "No town of this name";
  }
  function found(text = ""): readonly Option[] {
    const place = typedPlace(text);
    if (!place) return options;
    return isNear(place) ? [{ value: text, label: placeText(place), detail: "", words: text }] : [];
  }
  function go(value: string): void {
    const place = typedPlace(value) ?? near[Number(value)]?.place;
    const [panel] = map.panels;
    if (!grid || !place || !panel) return;
    const [x, y] = asCounted(grid, place);
    store.change({ view: { x, y, zoom: Math.max(map.view?.zoom ?? 0, panel.height / NEAR) } });
    map.element.focus();
  }
}
