/** Puts together what the page and the map in a notebook have in common: the map, what stands beside it, and what fetches for both. */
import { Screen } from "./decode/screen";
import type { Api } from "./fetch/api";
import type { Hearers, Wire } from "./fetch/live";
import { Following } from "./session/following";
import { Past } from "./session/past";
import { Session } from "./session/session";
import type { Store } from "./state/store";
import { Actions } from "./ui/actions";
import { mount as mountChart } from "./ui/chart";
import { Colouring } from "./ui/colouring";
import { mount as mountLegend } from "./ui/legend";
import { MapView } from "./ui/map";
import { mount as mountPointer } from "./ui/pointer";
import { mount as mountProfile } from "./ui/profile";
import { mount as mountReadout, valueText } from "./ui/readout";
import { mount as mountSeries } from "./ui/series";
import { Steering } from "./ui/steering";
import { Theme } from "./ui/theme";
import { mount as mountTimeline } from "./ui/timeline";

/** The elements that the parts go into. */
export type Places = Record<"map" | "legend" | "difference" | "readout" | "series" | "chart" | "timeline", HTMLElement>;

/** root: the element whose theme it is; drawn: called when a map was drawn. */
export function assemble(store: Store, api: Api, places: Places, root: HTMLElement, drawn: () => void = () => undefined) {
  const actions = new Actions();
  const theme = new Theme(store, root);
  const screen = new Screen();
  const colouring = new Colouring(store, screen);
  const map = new MapView(places.map, store, screen, colouring, theme, drawn);
  const steering = new Steering(store, api, actions);
  const spoken = (cell: number) => valueText(store, screen, 0, cell, store.now.cursor.readings[1]);
  mountLegend(places.legend, places.difference, store, colouring, theme, api);
  mountReadout(places.readout, store, screen);
  mountSeries(places.series, store, theme, actions);
  mountProfile(places.series, store, theme, api);
  mountChart(places.chart, store, theme);
  mountTimeline(places.timeline, store, steering, actions);
  mountPointer(map, store, actions, spoken);
  /** Begins to watch the run. wire, unknown: as of a Session, which is returned. */
  function watch(wire: (hearers: Hearers) => Wire, unknown: () => Promise<string>): Session {
    const session = new Session(store, screen, api, wire, unknown, () => map.element.clientWidth * map.ratio);
    new Past(store, screen, api);
    new Following(store, api);
    return session;
  }
  return { actions, theme, screen, colouring, map, steering, spoken, watch };
}
