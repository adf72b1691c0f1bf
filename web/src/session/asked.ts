/** What the socket does not tell, and is asked for when it says hello or that something was done. */
import type { Api } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import type { Store } from "../state/store";
import type { Place } from "../state/told";

/** Changes that are still to come, and what is watched for. */
export async function fetchRules(store: Store, api: Api, newest: () => boolean): Promise<void> {
  try {
    const [events, triggers] = await Promise.all([api.events(), api.triggers()]);
    if (newest()) store.change({ events, triggers });
  } catch (error) {
    if (!isFailure(error)) throw error; // they are asked for again with the next command
  }
}

/** Where the cells of a projected grid lie in degrees. digest: of the grid. */
export async function fetchPlaces(store: Store, api: Api, digest: string): Promise<void> {
  try {
    const { head, values } = await api.cells({});
    const { grid } = store.now;
    if (!grid || grid.digest !== digest) return;
    const count = head.shape.at(-1) ?? 0;
    const row = (which: number, cell: number) => values[which * count + cell] as number; // packed number, cell, longitude, latitude
    const places: (Place | undefined)[] = new Array(grid.rows * grid.columns);
    for (let cell = 0; cell < count; cell++) places[row(1, cell)] = [row(2, cell), row(3, cell)];
    store.change({ grid: { ...grid, places } });
  } catch (error) {
    if (!isFailure(error)) throw error; // cells are told by metres until the next connection
  }
}
