/** What is seen, for a picture that is saved. */
import type { Screen } from "../decode/screen";
import { prettyUnit } from "../decode/units";
import { contextFor } from "../draw/context";
import type { Plate } from "../draw/picture";
import { besides, variableOf } from "../state/scenario";
import type { Store } from "../state/store";
import { arrowsNow } from "./beside";
import type { Colouring } from "./colouring";
import { cornersOf, type MapView } from "./map";
import type { Theme } from "./theme";
import { titlesOf } from "./titles";

/** ratio: pixels a CSS pixel; paper: for paper it is light. Null before the first map. */
export function plateOf(
  { map, store, screen, colouring, theme }: { map: MapView; store: Store; screen: Screen; colouring: Colouring; theme: Theme },
  ratio: number,
  paper: boolean,
): Omit<Plate, "notes"> | null {
  const { grid, look, pins, selection, run } = store.now;
  const { view, element } = map;
  const { values, difference } = colouring;
  if (!grid || !view || !values || !run) return null;
  const { colours, hatch } = paper ? theme.light() : theme;
  const modes = map.modes.filter((mode) => map.coloursOf(mode));
  const titles = titlesOf(store.now, modes);
  const arrows = arrowsNow(store.now, screen);
  const apart = besides(look);
  const maps = modes.flatMap((mode, index) => {
    const [look, title] = [map.coloursOf(mode), titles[index]];
    return look && title ? [{ mode, ...look, ...title, arrows: mode === 0 || apart ? arrows : null }] : [];
  });
  const variable = variableOf({ run }, store.now.shown[0]?.variable);
  const unit = prettyUnit(variable?.units ?? "");
  const [scale, other] = [map.coloursOf(0), map.coloursOf(2)];
  if (!scale) return null;
  const legends = [{ title: variable?.long_name || look.variable, unit, legend: { ...values, ...scale, signed: false } }];
  const [beside, second] = [map.coloursOf(1), variableOf({ run }, look.other)];
  if (colouring.other && beside && second) {
    const legend = { ...colouring.other, ...beside, signed: false };
    legends.push({ title: second.long_name || second.name, unit: prettyUnit(second.units), legend });
  }
  if (difference && other && modes.includes(2)) {
    const [first, second] = look.scenarios;
    const legend = { ...difference, ...other, signed: true };
    legends.push({ title: "Difference", unit: `${unit}, ${second} − ${first}`, legend });
  }
  const marks = pins.map((pin, index) => ({ cell: pin.cell, colour: theme.pin(pin.colour), number: index + 1 }));
  return {
    ...{ size: [element.clientWidth, element.clientHeight], ratio, view: { ...view, zoom: (view.zoom * ratio) / map.ratio }, grid },
    ...{
      coast: map.coast,
      context: contextFor(map.context, grid),
      colours,
      hatch,
      smooth: look.smooth,
      frames: screen.frames,
      maps,
      legends,
      marks,
    },
    outline: selection && cornersOf(selection),
  };
}
