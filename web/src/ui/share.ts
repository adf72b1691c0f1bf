/** Taking something away: a link to what is seen, a picture, numbers. No token is ever in any of it. */
import { isoDate, momentOf } from "../decode/calendar";
import { prettyUnit } from "../decode/units";
import type { Api, DataQuery } from "../fetch/api";
import { isFailure } from "../fetch/problem";
import { parted } from "../state/levels";
import { toFragment } from "../state/link";
import { onView, scenarioNow, variableOf } from "../state/scenario";
import type { Gap, Selection, State, Store } from "../state/store";
import type { Actions } from "./actions";
import { rangeOf } from "./colouring";
import { dialog } from "./dialog";
import { h, say } from "./dom";
import { aligned } from "./lines";
import { exampleDate, quoted } from "./wording";

/** Draws what is seen as a PNG: scale 1 or 2, or for print. */
export type Picture = (how: "screen" | "double" | "print") => Promise<Blob>;

/** The address that shows the same to somebody else, who needs a token of their own. */
export function linkTo(state: State, page: string): string {
  const { run, steered, view, pins, selection, preview } = state;
  const range = rangeOf(state);
  const look = { ...state.look, range: range && ([...range] as [number, number]) };
  const moment = run && preview ? momentOf(run.clock, preview) : null; // that of step 0 is the first day, which is step 1
  const date = preview === null ? null : run && moment ? isoDate(moment, run.clock) : `step:${preview}`;
  return `${page}#${toFragment({ run: run?.name ?? "", date, look, steered, view, pins: pins.map(({ place }) => place), selection })}`;
}

const FIRST = 1; // number of the branch whose records lie in the run folder itself

/** The folder of the scenario that is shown, in the one that holds the run's. */
function folderOf(state: State): string | null {
  const { run, look } = state;
  const shown = scenarioNow(state, look.scenarios[0]);
  return run && shown ? (shown.branch === FIRST ? run.name : `${run.name}/branches/${shown.branch}`) : null;
}

/**
 * Where the records of the scenario that is shown lie, seen from the folder that holds the run's, and how they are opened there; null of a run
 * that records nothing. The server tells nobody where that folder is.
 */
export function storeOf(state: State): { store: string; first: string; lines: string[] } | null {
  const folder = folderOf(state);
  if (!state.run?.outputs.length || folder === null) return null;
  const store = `${folder}/output.zarr`;
  return {
    store,
    first: folder === state.run.name ? "record" : "checkpoint of the scenario", // until then its records are in memory alone
    lines: [`results = steppe.open(${JSON.stringify(folder)})`, `results = xarray.open_zarr(${JSON.stringify(store)})  # without Steppe`],
  };
}

/** How the scenario that is shown is opened from anywhere; the token is in the environment. page: where the page lies. */
export function remoteOf({ run, look }: State, page: string): string[] {
  const scenario = look.scenarios[0] ?? "main";
  const shown = scenario === "main" ? "run" : `run.scenario(${JSON.stringify(scenario)})`;
  return [
    `run = steppe.connect(${JSON.stringify(page.replace(/\/$/, ""))}, run=${JSON.stringify(run?.name ?? "")})  # $STEPPE_TOKEN`,
    `whole = ${shown}.dataset()`,
  ];
}

/** The command that makes a film of what is shown, in the folder that holds the run's; null where it was not recorded. */
export function filmOf(state: State): string | null {
  const { run, look } = state;
  const folder = folderOf(state);
  if (!run?.outputs.includes(parted(look.variable)[0]) || folder === null) return null;
  const scale = look.range ? ` --scale=${look.range.join(",")}` : "";
  return `steppe plot ${quoted(folder)} --movie ${quoted(`${look.variable}.mp4`)} --variable ${quoted(look.variable)}${scale}`;
}

/** A cell of CSV: quoted where it must be, and never the beginning of a formula of a spreadsheet. */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^[-+]?[0-9.]+(e[-+]?[0-9]+)?$/i.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The lines of the figure as CSV, with what they are in lines that begin with #. */
export function seriesCsv(state: State): string {
  const { run, look, series, pins, grid } = state;
  const variable = variableOf({ run }, look.variable);
  const named = series.map((line) => {
    const pin = pins.find((each) => each.colour === line.pin);
    return {
      line,
      name: `${line.scenario} ${pin ? `cell ${pins.indexOf(pin) + 1}` : "region"}`,
      where: whereText(line.selection, pin?.place),
    };
  });
  const names = named.flatMap(({ line, name }) => (line.low ? ["mean", "least", "greatest"].map((each) => `${name} ${each}`) : name));
  const { steps, columns } = aligned(series);
  const head = [
    `# ${run?.name ?? ""}: ${variable?.long_name || look.variable}`,
    `# variable ${look.variable}, unit ${variable?.units ?? ""}`,
    `# grid ${grid?.digest ?? ""}, model ${run?.model ?? ""}`,
    ...(run?.title ? [`# ${run.title}`] : []),
    ...named.map(({ line, name, where }) => `# ${name}: ${line.cells ? `${line.cells} cells, ` : ""}${where}`),
    ...(series.some((line) => line.thinned) ? ["# of long series the least and the greatest values of equal pieces"] : []),
    ...named.flatMap(({ line, name }) =>
      together(line.gaps).map((gap) => `# ${name}: no values at steps ${gap.first} to ${gap.last}: ${gap.reason}`),
    ),
  ].map((line) => line.replaceAll(/[\r\n]/g, " "));
  const rows = steps.map((step, index) => {
    const moment = run && momentOf(run.clock, step);
    return [String(step), run && moment ? isoDate(moment, run.clock) : "", ...columns.map((values) => String(values[index] ?? ""))]
      .map(csvCell)
      .join(",");
  });
  return [...head, ["step", "date", ...names].map(csvCell).join(","), ...rows, ""].join("\n");
}

/** Where a line is of, in numbers. */
function whereText(selection: Selection | undefined, place: readonly number[] = []): string {
  if (!selection) return `longitude ${place[0]}, latitude ${place[1]}`;
  if ("box" in selection) return `box west, south, east, north ${selection.box.join(", ")}`;
  return `polygon of longitude and latitude ${selection.polygon.map((corner) => corner.join(" ")).join(", ")}`;
}

/** Gaps of one reason that follow each other, as one. */
export function together(gaps: readonly Gap[]): Gap[] {
  const found: Gap[] = [];
  for (const gap of gaps) {
    const last = found.at(-1);
    if (last && last.reason === gap.reason && last.last + 1 >= gap.first) found[found.length - 1] = { ...last, last: gap.last };
    else found.push(gap);
  }
  return found;
}

/** Has the browser save bytes under a name. */
export function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** The dates that are asked for: of a typed span, from the start of the run where its first day is empty; the newest where both are. */
export function timeOf(from: string, to: string, start: string): string {
  if (!from && !to) return "latest";
  const [first, last] = [from || start, to || from];
  return first === last ? first : `${first}/${last}`;
}

export function mount(place: HTMLElement, store: Store, api: Api, actions: Actions, picture: Picture | null): void {
  actions.on("share", () => store.change({ dialog: "share" }));
  actions.on("save", () => store.change({ dialog: "save" }));
  dialog(place, store, "share", "Share", () => {
    const link = linkTo(store.now, api.page.href);
    const said = h("span", { role: "status" });
    const field = h("input", { id: "share-link", readonly: true, value: link });
    const records = storeOf(store.now);
    const lines = remoteOf(store.now, api.page.href);
    return [
      h("p", {}, "This address shows the same variable, scenarios, colours, view and pins. It holds no token: its receiver needs one."),
      h("label", { for: field.id, class: "spoken" }, "Link"),
      h("div", { class: "row" }, field, copying(field, said)),
      h("h3", {}, "All dates ", h("small", {}, "as one xarray.Dataset, from anywhere")),
      h("p", {}, "A map is fetched when it is read, by Zarr over HTTP. It needs a token."),
      ...inCopy("share-remote", lines, said),
      ...(records ? recorded(records, said) : []),
      said,
    ];
  });
  dialog(place, store, "save", "Save", () => saving(store, api, picture));
}

/** A button that copies what is in a field. */
function copying(field: HTMLInputElement | HTMLTextAreaElement, said: HTMLElement): HTMLElement {
  const copy = async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "It is selected: copy it with Ctrl-C.";
    }
  };
  return h("button", { type: "button", class: "main", onclick: () => void copy() }, "Copy");
}

/** Lines to be copied. */
function inCopy(id: string, lines: string[], said: HTMLElement, label = "Lines of Python"): HTMLElement[] {
  const field = h("textarea", { id, class: "lines", readonly: true, rows: lines.length, wrap: "off" }, lines.join("\n"));
  return [h("label", { for: id, class: "spoken" }, label), h("div", { class: "row" }, field, copying(field, said))];
}

function recorded({ store, first, lines }: { store: string; first: string; lines: string[] }, said: HTMLElement): HTMLElement[] {
  return [
    h("h3", {}, "Records ", h("small", {}, `on the machine of the run, after the first ${first}`)),
    h("p", {}, "They lie in the Zarr store ", h("code", {}, store), ". Either line of Python opens it in the folder that holds the run's."),
    ...inCopy("share-store", lines, said),
  ];
}

function saving(store: Store, api: Api, picture: Picture | null): HTMLElement[] {
  const { now } = store;
  const { run, look, selection, series, preview } = now;
  const name = [run?.name ?? "steppe", look.variable, ...onView(look).filter((each) => each !== "main")].join("-");
  const scenario = look.scenarios[0] ?? "main";
  const at = preview ?? scenarioNow(now, scenario)?.step ?? 0;
  const moment = run && at > 0 ? momentOf(run.clock, at) : null;
  const today = run && moment ? isoDate(moment, run.clock) : "";
  const field = (id: string, label: string, value: string) => {
    const input = h("input", { id, value, size: 8, placeholder: run ? exampleDate(run, Math.max(at, 1)) : "", autocomplete: "off" });
    return { input, element: h("label", { for: id }, label, input) };
  };
  const from = field("save-from", "From", today);
  const to = field("save-to", "To", today);
  const wanted = (): DataQuery => {
    const time = timeOf(from.input.value.trim(), to.input.value.trim(), run ? exampleDate(run, 1) : "");
    return { scenario, time: time === today && preview === null ? "latest" : time, ...(selection ?? {}) };
  };
  const taken = h("p", { class: "none", "aria-live": "polite" });
  const tell = () => {
    const { time = "" } = wanted();
    say(
      taken,
      time === "latest" ? `Saves the newest date${today && preview === null ? `, ${today}` : ""}.` : `Saves ${time.replace("/", " to ")}.`,
    );
  };
  for (const { input } of [from, to]) input.addEventListener("input", tell);
  tell();
  const button = (label: string, act: () => void) => h("button", { type: "button", onclick: act }, label);
  const refused = h("p", { class: "wrong", role: "alert" });
  const data = async (format: "csv" | "netcdf", ending: string) => {
    refused.textContent = "";
    try {
      const head = format === "csv" ? [`# variable ${look.variable}, unit ${unit}, scenario ${scenario}\n`] : [];
      save(new Blob([...head, await api.file(look.variable, wanted(), format)]), `${name}.${ending}`);
    } catch (error) {
      if (!isFailure(error)) throw error;
      refused.textContent = error.message; // a message of the page would lie behind this window
    }
  };
  const draw = async (how: "screen" | "double" | "print") => {
    refused.textContent = store.now.shown.length ? "" : "There is no map yet.";
    if (picture && store.now.shown.length) save(await picture(how), `${name}${today ? `-${today}` : ""}.png`);
  };
  const csv = () => {
    const { now } = store; // lines have come since the window was opened
    const absent = now.series.some(({ end }) => end === 0);
    refused.textContent = absent ? "The values of the series have not come yet." : "";
    if (!absent) save(new Blob([seriesCsv(now)], { type: "text/csv" }), `${name}-series.csv`);
  };
  const unit = variableOf({ run }, look.variable)?.units ?? "";
  const [film, said] = [filmOf(now), h("span", { role: "status" })];
  const [begin, end] = [field("film-from", "First day", ""), field("film-to", "Last day", "")];
  const bar = h("progress", { "aria-label": "Progress of the film", hidden: true });
  const make = button("Film", async () => {
    bar.hidden = make.disabled = !bar.hidden; // pressed again it stops the work
    if (bar.hidden) return;
    make.textContent = "Stop";
    said.textContent = "The server makes the film; the run comes first.";
    const [low, high] = rangeOf(store.now) ?? [];
    const [from, to] = [begin, end].map(({ input }) => input.value.trim() || undefined);
    try {
      const blob = await api.film(look.variable, { scenario, from, to, low, high, style: look.palette }, bar);
      if (blob) save(blob, `${name}.mp4`);
      said.textContent = blob ? "The film is saved." : "Stopped: there is no film.";
    } catch (error) {
      if (!isFailure(error)) throw error;
      said.textContent = error.message; // a message of the page would lie behind this window
    }
    make.textContent = "Film";
    bar.hidden = true;
    make.disabled = false;
  });
  return [
    ...(picture
      ? [
          h("h3", {}, "Picture ", h("small", {}, "PNG with title, legend, scale and origin")),
          h(
            "div",
            { class: "acts" },
            button("As seen", () => void draw("screen")),
            button("Twice as fine", () => void draw("double")),
            button("For print", () => void draw("print")),
          ),
        ]
      : []),
    h("h3", {}, "Film ", h("small", {}, "MP4 of the records in these colours, here or by a command on the machine of the run")),
    ...(film
      ? [
          h("div", { class: "row" }, begin.element, end.element),
          h("div", { class: "acts" }, make, bar),
          ...inCopy("save-film", [film], said, "The command of the film"),
        ]
      : [h("p", {}, "The run does not record this variable, so there is no film of it.")]),
    said,
    h("h3", {}, "Series ", h("small", {}, series.length ? `of ${series.length} lines, CSV` : "pin a cell or draw a region first")),
    h("div", { class: "acts" }, series.length > 0 && button("Series as CSV", csv)),
    h(
      "h3",
      {},
      "Values ",
      h("small", {}, `${look.variable}${unit ? `, ${prettyUnit(unit)}` : ""}, ${selection ? "of the selection" : "of the whole grid"}`),
    ),
    h("div", { class: "row" }, from.element, to.element),
    taken,
    refused,
    h(
      "div",
      { class: "acts" },
      button("NetCDF", () => void data("netcdf", "nc")),
      button("CSV", () => void data("csv", "csv")),
    ),
  ];
}
