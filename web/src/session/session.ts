/** What the server tells goes into the store, what the viewer chooses to see goes to the server. */
import type { Frame } from "../decode/frame";
import { Latest } from "../decode/latest";
import type { Screen } from "../decode/screen";
import type { Api } from "../fetch/api";
import type { Hearers, Stream, Wire } from "../fetch/live";
import { isFailure } from "../fetch/problem";
import { activeOf, gridOf } from "../state/grid";
import { mapName, named } from "../state/levels";
import { paced } from "../state/pace";
import { besides, mapsOf, onView, scenarioNow, steeredIn, toldOf } from "../state/scenario";
import type { Connection, Shown, Store } from "../state/store";
import type { Hello, Info, Message, Scenario } from "../state/told";
import { fetchPlaces, fetchRules } from "./asked";
import { ARROWS, arrowStreams, arrowsOf, firstMap, fits, hasMap, streamsOf } from "./streams";

const KEPT_HAPPENINGS = 100;
const POINTINGS = 7; // [1/s] that the pointer is told of, for each of two streams; the server hears 20 messages a second
const PATIENCE = 600; // [ms] that what was shown stays while something else is to come

/** When what people wait for began, by the clock here [ms since 1970]. */
function sinceOf({ waited }: Info): number | null {
  return typeof waited === "number" ? Date.now() - 1000 * waited : null;
}

export class Session {
  private readonly latest = new Latest();
  private readonly live: Wire;
  private wanted: Stream[] = [];
  private arrows: Frame[] = []; // the newest of each component
  private answered = false;
  private opened = ""; // the variable that the page opened on, while the viewer chose none
  private drawing = 0;
  private following = 0; // answers that are awaited
  private asked = 0; // how often for rules
  private numbered = 0; // how often for the number of a variable without a map
  private clearing: ReturnType<typeof setTimeout> | undefined;
  private parting: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    private readonly screen: Screen,
    private readonly api: Api,
    /** How the live messages come. */
    wire: (hearers: Hearers) => Wire,
    /** Why the server does not know who this is, asked when the connection was lost; "" where it does. */
    private readonly unknown: () => Promise<string>,
    /** Device pixels across the page. */
    private readonly width: () => number,
  ) {
    this.live = wire({
      message: (message) => this.hear(message),
      frame: (frame) => this.take(frame),
      drops: ({ dropped }) => this.connection({ skipped: dropped }),
      link: (link, retry) => this.linked(link, retry),
      unreadable: (error) =>
        store.notify({ weight: "bad", text: "A message of the server cannot be read", detail: error.message, lasts: 10_000 }),
    });
    store.subscribe(
      ({ look }) => [look.arrows, JSON.stringify(mapsOf(look))],
      () => {
        this.screen.arrows = [];
      },
    );
    store.subscribe(
      ({ look, run, frame_rate }) => [run, frame_rate, look.arrows, JSON.stringify(mapsOf(look))],
      () => this.watch(),
    );
    store.follow(
      ["cursor.cell", "watching"],
      paced(POINTINGS, () => this.point()),
    );
    store.subscribe(
      (state) => scenarioNow(state, state.look.scenarios[0])?.step ?? 0,
      (step, { look, run }) => {
        const first = run && look.variable === this.opened ? firstMap(run.variables, run.outputs, step) : look.variable;
        if (first !== look.variable) store.look({ variable: first });
      },
    );
    store.follow(["followed"], () => this.store.now.run && this.follow());
    store.follow(["preview"], ({ preview }) => preview === null && this.present());
  }

  close(): void {
    this.live.close();
  }

  private connection(parts: Partial<Connection>): void {
    this.store.change({ connection: { ...this.store.now.connection, ...parts } });
  }

  private linked(link: Parameters<Hearers["link"]>[0], retry: number | null): void {
    if (link === "open") return; // hello says that all is well
    this.answered = false;
    this.following = 0;
    if (link === "connecting") return;
    this.latest.clear();
    if (link === "ended") return this.connection({ link, retry_at: null });
    void this.signInAgain();
    this.connection({ link: "lost", retry_at: Date.now() + (retry ?? 0) });
  }

  /** A server that was started anew knows no cookie of the one before it. Who cannot sign in again is told so, and not kept trying for ever. */
  private async signInAgain(): Promise<void> {
    try {
      const reason = await this.unknown();
      if (!reason) return;
      this.live.close();
      this.connection({ link: "refused", retry_at: null, reason: `Not signed in: ${reason}` });
    } catch (error) {
      if (!isFailure(error)) throw error; // the server is not there yet
    }
  }

  // ---- what the server tells ----
  private hear(message: Message): void {
    const { store } = this;
    switch (message.type) {
      case "hello":
        return this.greet(message);
      case "info":
        return this.inform(message);
      case "progress": {
        const { info } = store.now;
        if (!info) return;
        const told = new Map(message.scenarios.map((each) => [each.branch, each]));
        const scenarios = info.scenarios.map((each) => ({ ...each, ...(told.get(each.branch) ?? {}) }));
        return store.change({ info: { ...info, scenarios }, reached: {} });
      }
      case "event": {
        const whose = store.now.info?.scenarios.find((each) => each.branch === message.branch)?.name;
        store.change({ happenings: [...store.now.happenings, message].slice(-KEPT_HAPPENINGS) });
        if (message.kind === "failed" && whose && whose === toldOf(store.now)?.name) return; // the map says it
        store.notify({
          weight: message.kind === "failed" || message.kind === "warning" ? "warn" : "good",
          text: `${whose ? `${whose}: ` : ""}${message.text || message.kind}`,
          lasts: 12_000,
        });
        void this.number(); // a planned change may have come
        this.rules(); // a trigger has fired, or was switched off
        return;
      }
      case "ordered":
        if (/event|trigger|set/.test(message.kind)) this.rules(); // it may be for a later date
        store.change({ steers: { who: message.who, kind: message.kind, id: message.id, at: Date.now() / 1000 } });
        return;
      case "command":
        if (/set|rewind|restart/.test(message.kind)) void this.number();
        if (/event|trigger|set|remove|branch|rewind|restart|skip|cancel/.test(message.kind)) this.rules();
        return;
      case "checkpoints":
        return store.change({ checkpoints: message.checkpoints });
      case "viewers":
        return store.change({ viewers: message.viewers });
      case "kept":
        return store.change({ kept: { ...store.now.kept, ...message.kept } });
      case "ranges":
        return store.change({ ranges: { ...store.now.ranges, ...message.ranges } });
      case "following":
        this.following = Math.max(0, this.following - 1);
        return;
      case "series":
        return this.following === 0 ? store.change({ stepped: message }) : undefined; // else still of what was followed before
      case "watching":
        this.answered = this.wanted.every((stream) => message.streams.some((each) => fits(each, stream)));
        // what a stream told of a cell may be of the map that it showed before
        return store.change({ watching: message.streams, cursor: { ...store.now.cursor, readings: {} } });
      case "cursor": {
        const { cursor } = store.now;
        if (cursor.cell === null || cursor.cell !== message.cell) return;
        const reading = { cell: message.cell, step: message.step, value: message.value, text: message.text };
        return store.change({ cursor: { ...cursor, readings: { ...cursor.readings, [message.stream]: reading } } });
      }
      case "problem":
        if (/region|cell|polygon/.test(message.problem.code)) {
          this.following = Math.max(0, this.following - 1); // what was to be followed; the request for its series tells why it cannot
          return;
        }
        store.notify({ weight: "warn", text: message.problem.title, detail: message.problem.detail, lasts: 12_000 });
        return;
      case "pong":
        return;
    }
  }

  /** Asks for events and triggers. Only the newest answer counts: an order and its end are told one soon after the other. */
  private rules(): void {
    const number = ++this.asked;
    void fetchRules(this.store, this.api, () => number === this.asked);
  }

  private greet(hello: Hello): void {
    const { store } = this;
    const { look } = store.now;
    const names = hello.info.scenarios.map((each) => each.name);
    const known = look.scenarios.filter((name) => names.includes(name));
    const scenarios = known.length ? known : names.slice(0, 1);
    const step = hello.info.scenarios.find((each) => each.name === scenarios[0])?.step ?? 0;
    const wanted = named(hello.variables, look.variable);
    const variable = wanted ? mapName(wanted, look.variable) : firstMap(hello.variables, hello.outputs ?? [], step);
    if (variable !== look.variable) this.opened = variable;
    const other = named(hello.variables, look.other) ? look.other : "";
    const same = store.now.grid?.digest === hello.grid.digest ? store.now.grid : null;
    const grid = same ?? gridOf(hello.grid);
    const { type: _, info, grid: __, variables, parameters, clock, forcing, title, model, steps } = hello;
    store.change({
      connection: { link: "live", retry_at: null, skipped: 0, reason: "" },
      viewer: { name: hello.name, role: hello.role, may_steer: hello.role !== "view" && !hello.read_only },
      run: {
        ...{ name: hello.run, title, model, steps, clock, forcing, variables, parameters },
        ...{ outputs: hello.outputs ?? [], given: hello.given ?? [], planned: hello.planned ?? [] },
      },
      ...{ steers: hello.steers, info, reached: {}, since: sinceOf(info), grid },
      ...{ kept: hello.kept ?? {}, ranges: hello.ranges ?? {}, checkpoints: hello.checkpoints ?? [], viewers: hello.viewers ?? 1 },
      steered: this.steered(info),
      look: { ...look, variable, other, scenarios, maps: scenarios.length > 1 || besides({ ...look, other }) ? look.maps : 1 },
    });
    if (!same) {
      void activeOf(hello.grid).then((active) => {
        const now = store.now.grid;
        if (now && active && now.digest === hello.grid.digest) store.change({ grid: { ...now, active } });
      });
    }
    if (!same && hello.grid.kind === "projected") void fetchPlaces(this.store, this.api, hello.grid.digest);
    this.rules();
    if (store.now.followed.length > 0) this.follow();
  }

  private follow(): void {
    this.following += 1;
    this.live.follow(this.store.now.followed);
  }

  private inform({ type: _, ...info }: { type: "info" } & Info): void {
    const { look, preview, info: before } = this.store.now;
    const steps = new Map(before?.scenarios.map((each) => [each.branch, each.step]));
    const names = info.scenarios.map((each) => each.name);
    const known = look.scenarios.filter((name) => names.includes(name));
    const gone = known.length < look.scenarios.length;
    const scenarios = info.scenarios.map((each) => ({ ...each, step: Math.max(each.step, steps.get(each.branch) ?? 0) }));
    const branchOf = (name: string, of: readonly Scenario[] = []) => of.find((each) => each.name === name)?.branch;
    if (before && onView(look).some((name) => branchOf(name, before.scenarios) !== branchOf(name, scenarios))) {
      this.arrows = []; // of what a rewind has left
      this.screen.arrows = [];
    }
    const stands = Math.max(...onView(look).map((name) => scenarios.find((each) => each.name === name)?.step ?? 0));
    if (preview !== null && preview > stands) this.store.change({ preview: null, playing: false }); // the past that was in view is another scenario's now
    this.store.change({ info: { ...info, scenarios }, reached: {}, since: sinceOf(info), steered: this.steered(info) });
    if (gone)
      this.store.look({ scenarios: known.length ? known : names.slice(0, 1), maps: known.length > 1 || besides(look) ? look.maps : 1 });
  }

  /** Where orders go in a tree that has changed. The viewer hears of it when it is another scenario. */
  private steered({ scenarios }: Pick<Info, "scenarios">): string {
    const { now } = this.store;
    const [before, steered] = [now.info?.scenarios.find((each) => each.name === now.steered), steeredIn(now, scenarios)];
    if (before && scenarios.find((each) => each.name === steered)?.branch !== before.branch && steered !== now.steered) {
      this.store.notify({ weight: "warn", text: `There is no ${now.steered} any more: orders go to ${steered}`, lasts: 12_000 });
    }
    return steered;
  }

  // ---- what is watched ----
  private watch(): void {
    const { look, run } = this.store.now;
    if (!run || !look.variable || look.scenarios.length === 0) return;
    if (look.variable !== this.opened) this.opened = "";
    this.wanted = hasMap(this.store.now) ? streamsOf(this.store.now, this.width()) : [];
    this.arrows = [];
    if (this.store.now.preview === null) this.screen.arrows = []; // those of a past date stay when the connection comes back
    this.store.change({ numbers: {} }); // those of another variable
    void this.number();
    this.answered = false;
    this.latest.clear();
    this.live.watch(this.wanted);
    clearTimeout(this.parting);
    if (onView(look).length > 1) this.parting = setTimeout(() => this.part(), 2 * PATIENCE);
    clearTimeout(this.clearing);
    this.clearing = setTimeout(() => this.clear(), PATIENCE);
  }

  /** Asks for the value of a variable that is one number of the whole grid. */
  private async number(): Promise<void> {
    const { look, run } = this.store.now;
    const asked = ++this.numbered;
    if (!run || !look.variable || hasMap(this.store.now)) return;
    try {
      const told = await Promise.all(look.scenarios.map((scenario) => this.api.data(look.variable, { scenario, packed: true })));
      const numbers = Object.fromEntries(told.map(({ values }, index) => [look.scenarios[index], values[0]]));
      if (asked === this.numbered) this.store.change({ numbers });
    } catch (error) {
      if (!isFailure(error)) throw error; // it is asked for again with the next order or connection
    }
  }

  /** A pair is sent together, and so not at all while one of it has no value. Then each is watched for itself: streams of other bits are no pair. */
  private part(): void {
    if (!this.answered || this.latest.any) return;
    this.wanted = this.wanted.map((stream) => (stream.stream === 2 ? { ...stream, bits: 8 } : stream));
    this.answered = false;
    this.live.watch(this.wanted);
  }

  /** Shows nothing where what is shown is still of something else: what is wanted has no value yet. */
  private clear(): void {
    const { look, shown } = this.store.now;
    const maps = mapsOf(look);
    if (shown.every(({ variable, scenario }, index) => variable === maps[index]?.variable && scenario === maps[index]?.scenario)) return;
    this.store.change({ shown: [] });
    this.screen.show([]);
  }

  private point(): void {
    const { cursor, watching, grid } = this.store.now;
    const cell = cursor.cell !== null && grid?.active?.[cursor.cell] !== 0 ? cursor.cell : null; // where no cell takes part there is no value
    const maps = watching.filter((each) => each.stream < ARROWS[0] && this.wanted.some((stream) => fits(each, stream)));
    for (const { stream } of maps) this.live.cursor(stream, cell);
  }

  private take(frame: Frame): void {
    if (!this.answered) return; // still of what was watched before
    const { watching, reached } = this.store.now;
    const facts = watching.find((each) => each.stream === frame.stream);
    if (facts) this.store.change({ reached: { ...reached, [facts.scenario]: frame.step } });
    if (facts && facts.stride > 1) frame.stride = facts.stride;
    if (frame.stream < ARROWS[0]) this.latest.put(frame, performance.now());
    const component = arrowStreams(this.wanted, arrowsOf(this.store.now)).indexOf(frame.stream);
    if (component >= 0) this.arrows[component] = frame;
    this.drawing ||= requestAnimationFrame(() => {
      this.drawing = 0;
      this.present();
    });
  }

  /** Shows the newest frames, unless a past date is looked at. */
  private present(): void {
    const { preview, watching } = this.store.now;
    if (preview !== null || !this.answered) return;
    const maps = this.wanted.map((each) => each.stream).filter((stream) => stream < ARROWS[0]);
    const frames = this.latest.take(maps, performance.now());
    if (!frames) {
      if (maps.length > 1) setTimeout(() => this.present(), 160); // the other one of the pair is late
      return;
    }
    const shown = frames.map((frame): Shown => {
      const facts = watching.find((each) => each.stream === frame.stream);
      const [scenario, variable, units] = [facts?.scenario ?? "", facts?.variable ?? "", facts?.units ?? ""];
      return { stream: frame.stream, scenario, variable, units, step: frame.step, live: true };
    });
    clearTimeout(this.clearing);
    this.store.change({ shown });
    const [x, y] = this.arrows;
    this.screen.show(frames, x && y && x.step === y.step ? [x, y] : this.screen.arrows);
  }
}
