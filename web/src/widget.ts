/**
 * The map in a notebook (anywidget): the page's own parts, whose requests and live messages the kernel passes on, so that the browser needs no way to
 * the server and no token.
 *
 *     here -> kernel   {ask: n, method, path, body}   {watch: [...]}   {cursor: {...}}
 *     kernel -> here   {answer: n, status} + [body]   {live: text}   {} + [frame]   {link}
 */
import type { Topology } from "topojson-specification";
import { assemble } from "./assemble";
import { coastOf, ringsOf } from "./draw/coast";
import { Api } from "./fetch/api";
import { type Hearers, heardBinary, type Stream, type Wire } from "./fetch/live";
import { parted } from "./state/levels";
import { FIRST, Store } from "./state/store";
import type { Message } from "./state/told";
import { choice } from "./ui/choice";
import { suit } from "./ui/colouring";
import { h } from "./ui/dom";
import { globeSwitch } from "./ui/globe";
import { levelChoice, mapNamed, variableOptions } from "./ui/header";

declare const STYLE: string; // the page's, put in by the build

/** What anywidget gives. */
interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: "msg:custom", heard: (content: Told, buffers: DataView[]) => void): void;
  off(event: "msg:custom", heard: (content: Told, buffers: DataView[]) => void): void;
}
interface Told {
  answer?: number;
  status?: number;
  live?: string;
  link?: "lost";
}

/** A copy of a buffer that begins where it does. */
function bytes(view: DataView): ArrayBuffer {
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) as ArrayBuffer;
}

/** Requests and live messages by way of the kernel. */
class Kernel {
  private asked = 0;
  private readonly open = new Map<number, (answer: Response) => void>();
  private hearers: Hearers | null = null;

  constructor(private readonly model: Model) {
    model.on("msg:custom", this.hear);
  }

  readonly request: typeof fetch = (input, how = {}) => {
    this.asked += 1;
    const number = this.asked;
    const headers = Object.fromEntries(new Headers(how.headers).entries());
    const { pathname, search } = new URL(String(input));
    this.model.send({ ask: number, method: how.method ?? "GET", path: pathname + search, headers, body: how.body ?? null });
    return new Promise((answered) => this.open.set(number, answered));
  };

  wire(hearers: Hearers): Wire {
    this.hearers = hearers;
    this.model.send({ watch: [] }); // the kernel opens the socket with the first word
    return {
      watch: (streams: readonly Stream[]) => this.model.send({ watch: streams }),
      follow: (lines) => this.model.send({ follow: lines }),
      cursor: (stream, cell) => this.model.send({ cursor: { stream, cell } }),
      close: () => this.model.send({ leave: true }),
    };
  }

  close(): void {
    this.model.off("msg:custom", this.hear);
    this.model.send({ leave: true });
  }

  private readonly hear = (told: Told, buffers: DataView[]): void => {
    const [first] = buffers;
    if (told.answer !== undefined) {
      const status = told.status ?? 500;
      const body = status === 204 || status === 304 || !first ? null : bytes(first);
      this.open.get(told.answer)?.(new Response(body, { status }));
      this.open.delete(told.answer);
    } else if (told.live !== undefined) this.hearers?.message(JSON.parse(told.live) as Message);
    else if (told.link === "lost") this.hearers?.link("lost", null);
    else if (first && this.hearers) heardBinary(this.hearers, bytes(first));
  };
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const part = (name: string) => h("section", { class: name });
  const map = h("section", { class: "map", tabindex: 0, role: "application", "aria-label": "Map" });
  const [legend, difference, readout, series] = [part("card"), part("card"), part("card"), part("card tall")] as const;
  const chart = h("section", { class: "chart", "aria-label": "Chart" });
  const timeline = h("footer", { class: "timeline", "aria-label": "Time" });
  const choices = h("div", { class: "tabs" });
  const side = h("div", { class: "side" }, choices, h("div", { class: "pane" }, legend, difference, readout, series));
  const root = h("div", { class: "widget", style: null }, h("div", { class: "parts" }, map, side), chart, timeline);
  const shadow = el.attachShadow({ mode: "open" });
  const style = new CSSStyleSheet();
  style.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [style];
  shadow.append(root);

  const kernel = new Kernel(model);
  const store = new Store({
    letter_keys: false,
    frame_rate: 30, // each goes by way of the kernel
    look: { ...FIRST.look, variable: String(model.get("variable") ?? ""), scenarios: [String(model.get("scenario") ?? "main")] },
  });
  const api = new Api(new URL("http://kernel/"), String(model.get("run")), kernel.request);
  const places = { map, legend, difference, readout, series, chart, timeline };
  const { actions, map: view, watch } = assemble(store, api, places, root);
  const variable = choice(
    "variable",
    "Variable",
    () => variableOptions(store),
    (name) => store.look({ variable: mapNamed(store, name), range: null }),
  );
  choices.append(variable.element, levelChoice(store), globeSwitch(view, store, actions));
  store.follow(["look.variable", "run"], ({ look }) => variable.show(parted(look.variable)[0]));
  suit(store);
  const session = watch(
    (hearers) => kernel.wire(hearers),
    () => Promise.resolve(""),
  );
  kernel
    .request("http://kernel/coast")
    .then((answer) => answer.json())
    .then((atlas: Topology) => view.putCoast(coastOf(ringsOf(atlas))))
    .catch(() => undefined); // the map does without it
  return () => {
    session.close();
    kernel.close();
  };
}

export default { render };
