/** Puts the page together. */
import "./ui/failing";
import type { Topology } from "topojson-specification";
import landAddress from "world-atlas/land-50m.json";
import placesAddress from "../places.json";
import { assemble } from "./assemble";
import { isDay, parseMoment, stepOf } from "./decode/calendar";
import { coastOf, ringsOf } from "./draw/coast";
import { contextOf, type PlacesFile } from "./draw/context";
import { CREDIT } from "./draw/palette";
import { picture } from "./draw/picture";
import { Api } from "./fetch/api";
import { Live } from "./fetch/live";
import { isFailure } from "./fetch/problem";
import { chosenRun, takeStarted } from "./fetch/started";
import { SignIn } from "./fetch/token";
import { cellOf, degreesOf } from "./state/grid";
import { parted } from "./state/levels";
import { fromFragment } from "./state/link";
import { paced } from "./state/pace";
import { FIRST, type Run, Store } from "./state/store";
import { lengthText } from "./ui/beside";
import { mount as mountBubble } from "./ui/bubble";
import { mount as mountChip } from "./ui/chip";
import { suit } from "./ui/colouring";
import { byId } from "./ui/dom";
import { follow } from "./ui/follow";
import { globeSwitch } from "./ui/globe";
import { mount as mountHeader } from "./ui/header";
import { mount as mountHelp } from "./ui/help";
import { mount as mountHere } from "./ui/here";
import { hold } from "./ui/legend";
import { mount as mountLog } from "./ui/log";
import { mount as mountNotices } from "./ui/notice";
import { mount as mountParameters } from "./ui/parameters";
import { mount as mountPlace } from "./ui/place";
import { plateOf } from "./ui/plate";
import { mount as mountRules } from "./ui/rules";
import { mount as mountRuns } from "./ui/runs";
import { mount as mountScenarios } from "./ui/scenarios";
import { linkTo, mount as mountShare } from "./ui/share";
import { mount as mountSignIn } from "./ui/signin";
import { mount as mountSwipe } from "./ui/swipe";
import { mount as mountTabs } from "./ui/tabs";

const [COAST_LATEST, COAST_AGAIN] = [2000, 10_000]; // [ms] after the run is known; after it could not be fetched
let fetchingCoast = false;
const page = new URL(".", document.baseURI);
const linked = fromFragment(location.hash);
if (history.state?.shared) delete linked.look.range; // loaded again: the range was the run's, and is
const store = new Store({
  look: { ...FIRST.look, ...linked.look },
  steered: linked.steered ?? "",
  view: linked.view ?? null,
  selection: linked.selection ?? null,
});
const signIn = new SignIn();
const api = new Api(page, linked.run ?? "");
mountTabs(byId("tabs"), store);
const [legend, difference] = [byId("legend"), byId("legend-difference")];
const cards = { readout: byId("readout"), series: byId("series"), chart: byId("chart"), timeline: byId("timeline") };
const { actions, theme, screen, colouring, map, steering, spoken, watch } = assemble(
  store,
  api,
  { map: byId("map"), legend, difference, ...cards },
  document.documentElement,
  drawn,
);
mountHeader(store, actions);
mountBubble(map.element, store, spoken);
byId("choices").append(globeSwitch(map, store, actions));
actions.on("range", () => hold(store));
const dialogs = byId("dialogs");
mountSignIn(dialogs, store, async (token) => {
  await signIn.with(api, token);
  location.reload();
});
mountChip(store, api, { chip: byId("chip"), over: byId("map-notice"), map: map.element });
mountNotices(byId("notices"), store);
mountHere(map, store, mountParameters(byId("parameters"), store, api, actions));
mountSwipe(map, store);
mountRules(byId("rules"), store, api);
mountScenarios(byId("pane-scenarios"), store, api, actions);
mountLog(byId("pane-log"), store, api, actions);
mountHelp(dialogs, store, actions);
mountShare(dialogs, store, api, actions, draw);
mountRuns(dialogs, store, api);
follow(store, api);
actions.listen(store);
followLook();
rememberLook();
addEventListener("hashchange", () => location.hash.includes("=") && location.reload()); // a link, opened in this window; #map is none
void begin();
Object.assign(globalThis, { steppe: { store, map, screen } }); // for the console, and for tests of the page

/** Signs in, finds the run and begins to watch it. */
async function begin(): Promise<void> {
  try {
    const started = await takeStarted();
    await signIn.fromAddress(api, started !== null);
    const [{ name, role }, runs] = started ? [started.viewer, started.runs] : await Promise.all([api.whoami(), api.runs()]);
    store.change({ runs, viewer: { name, role, may_steer: role !== "view" } });
    const run = chosenRun(runs, linked.run);
    if (!run) return;
    api.run = run.run;
    store.change({ info: run });
    watch(
      (hearers) => new Live(api.liveAddress(), hearers, started),
      () => signIn.again(api),
    );
  } catch (error) {
    if (!isFailure(error)) throw error;
    const refused = error.tag === "refused" && [401, 403].includes(error.problem.status);
    const reason = refused ? `Not signed in: ${error.message}` : error.message;
    store.change({ connection: { ...store.now.connection, link: refused ? "refused" : "lost", reason } });
    if (!refused) setTimeout(() => void begin(), 2000);
  }
}

/** Keeps the address as a link to what is seen, so that loading the page again shows it again. */
function rememberLook(): void {
  const write = paced(2, () => history.replaceState({ shared: store.now.look.range === null }, "", linkTo(store.now, page.href)));
  store.follow(["run", "look", "steered", "view", "pins", "selection", "preview", "ranges"], ({ run }) => run && write());
}

/** A picture of what is seen, with where it comes from. */
async function draw(how: "screen" | "double" | "print"): Promise<Blob> {
  const plate = plateOf({ map, store, screen, colouring, theme }, { screen: 1, double: 2, print: 4 }[how], how === "print");
  const { run, info, grid } = store.now;
  if (!plate || !run || !grid) throw new Error("There is no map yet.");
  const models = await api.models().catch(() => []);
  const version = models.find((each) => each.model === run.model)?.version;
  const source = `${run.title || run.name}: run ${run.name}, version ${info?.version}, grid ${grid.digest.slice(0, 16)}, model ${run.model} ${version ?? ""}`;
  return picture({
    ...plate,
    notes: [
      [source.trim(), arrowsText()].filter(Boolean).join(". "),
      `${CREDIT}. Coastline and borders: Natural Earth. Towns: GeoNames (CC BY 4.0). Drawn by Steppe.`,
    ],
  });
}

/** What an arrow of the picture is. */
function arrowsText(): string {
  const length = lengthText(store.now);
  return length && `Arrows: ${store.now.look.arrows}, as long as they are apart at ${length}`;
}

/** What a link asks for and only the run can answer, and what goes with a variable that is chosen. */
function followLook(): void {
  store.subscribe(
    (state) => state.grid !== null && state.run !== null,
    (known) => {
      const { grid, run } = store.now;
      if (!known || !grid || !run) return;
      setTimeout(() => void fetchCoast(), COAST_LATEST);
      if (linked.date) lookAt(linked.date, run);
    },
  );
  store.subscribe(
    ({ grid }) => grid !== null && (grid.kind !== "projected" || grid.places !== null),
    (known) => {
      const { grid } = store.now;
      if (!known || !grid) return;
      const cells = (linked.pins ?? []).map((place) => cellOf(grid, place)).filter((cell) => cell !== null);
      if (cells.length)
        store.change({ pins: cells.map((cell, index) => ({ cell, place: degreesOf(grid, cell) ?? [0, 0], colour: index + 1 })) });
    },
  );
  suit(store, linked.look.palette ? parted(linked.look.variable ?? "")[0] : "");
}

/** Looks at the date of a link, which may be still to come, or be none of this run. */
function lookAt(date: string, run: Run): void {
  const { clock } = run;
  const dated = clock.step !== null && isDay(date, clock.calendar) ? stepOf(clock, parseMoment(date, clock.calendar)) : -1;
  const step = date.startsWith("step:") ? Number(date.slice(5)) : dated;
  if (step >= 0 && step <= (run.steps ?? Number.POSITIVE_INFINITY)) steering.look(step);
  else store.notify({ weight: "warn", text: `The date of the link, ${date}, is not one of this run`, lasts: 8000 });
}

/** Called when a map was drawn: with the first one the coastline is fetched. */
function drawn(): void {
  if (screen.frames.length === 0 || performance.getEntriesByName("first-map").length > 0) return;
  performance.mark("first-map");
  void fetchCoast();
}

/** The coastline, then borders and towns, once; where nothing has a value yet, the map shows where that will be. */
async function fetchCoast(): Promise<void> {
  if (map.context.towns.length > 0 || fetchingCoast) return;
  fetchingCoast = true;
  try {
    const answer = await fetch(new URL(landAddress, import.meta.url)); // the build puts it beside the script
    map.putCoast(coastOf(ringsOf((await answer.json()) as Topology)));
    const places = await fetch(new URL(placesAddress as unknown as string, import.meta.url));
    map.putContext(contextOf((await places.json()) as PlacesFile));
    mountPlace(map, store, map.context.towns);
  } catch {
    setTimeout(() => void fetchCoast(), COAST_AGAIN); // the map does without it meanwhile
  } finally {
    fetchingCoast = false;
  }
}
