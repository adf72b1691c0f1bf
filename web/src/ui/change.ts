/** The form that changes one variable: what is typed is a draft until it was looked at (first Enter) and sent (second Enter). */
import { isDay, isShort } from "../decode/calendar";
import { prettyUnit, typedNumber } from "../decode/units";
import type { Api, SetOrder } from "../fetch/api";
import { isFailure, Refused } from "../fetch/problem";
import { labelOf, mapName, parted } from "../state/levels";
import type { Store } from "../state/store";
import type { Ordered, Scenario, Variable } from "../state/told";
import { fill, h, say } from "./dom";
import { barred, barredForm, ordered, send } from "./orders";
import { type Changed, isHarmless, staleNote } from "./stale";
import { atText, changedName, dateFault, dateText, exampleDate, nameOf, previewText } from "./wording";

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻−";
type When = "after" | "now" | "date" | "yearly";
const PARTS: Record<string, string> = { value: "value", units: "units", region: "where", when: "when" };

/** A typed unit as the server takes it: with plain digits in place of the superscripts that the page shows. */
export function plainUnit(text: string): string {
  return [...text.trim()].map((letter) => "0123456789--"[RAISED.indexOf(letter)] ?? letter).join("");
}

/** Chooses an option, also for when the form is emptied. */
function choose(select: HTMLSelectElement, value: string): void {
  for (const option of select.options) option.defaultSelected = option.value === value;
  select.value = value;
}

export class ChangeForm {
  readonly element: HTMLFormElement;
  private readonly value: HTMLInputElement;
  private readonly units: HTMLInputElement;
  private readonly operation: HTMLSelectElement;
  /** "[3]" for a level of the variable; "" for all, and where it has none. */
  private readonly level: HTMLSelectElement;
  private readonly where: HTMLSelectElement;
  private readonly region: HTMLInputElement;
  private readonly when: HTMLSelectElement;
  private readonly date: HTMLInputElement;
  private readonly wrong = h("p", { class: "wrong", role: "alert" });
  private readonly said = h("p", { class: "preview", "aria-live": "polite" });
  private readonly stale = h("div", { class: "stale-note", role: "alert", hidden: true });
  private readonly button = h("button", { type: "submit", class: "main" }, "Preview");
  private readonly drop = h("button", { type: "button", hidden: true, onclick: () => this.clear() }, "Drop");
  private readonly ends: (() => void)[] = [];
  /** The version that the draft was begun on; "" while there is none. */
  private match = "";
  private busy = false;
  /** What was previewed, as it would be sent. */
  private ready: string | null = null;

  constructor(
    private readonly store: Store,
    private readonly api: Api,
    private readonly variable: Variable,
  ) {
    const id = (part: string) => `change-${variable.name}-${part}`;
    const select = (part: string, choices: Record<string, string>) =>
      h("select", { id: id(part) }, ...Object.entries(choices).map(([value, text]) => h("option", { value }, text)));
    this.wrong.id = id("wrong");
    this.value = h("input", {
      id: id("value"),
      inputmode: "decimal",
      autocomplete: "off",
      "aria-describedby": this.wrong.id,
      required: true,
    });
    this.units = h("input", { id: id("units"), value: variable.units, "aria-label": "Unit of the value", autocomplete: "off" });
    this.operation = select("operation", { set: "Set to", scale: "Times", add: "Plus" });
    this.operation.setAttribute("aria-label", "Operation");
    const { levels } = variable;
    const named = (levels?.values ?? []).map((_, level) => [`[${level}]`, levels ? labelOf(levels, level, prettyUnit) : ""]);
    this.level = select("level", { "": "All levels", ...Object.fromEntries(named) });
    this.where = select("where", { all: "Everywhere", selection: "The selection on the map", name: "A region by name" });
    this.region = h("input", {
      id: id("region"),
      "aria-label": "Name of the region",
      placeholder: "west",
      autocomplete: "off",
      hidden: true,
    });
    this.when = select("when", {
      now: "The next step",
      after: "After all other orders",
      date: "A date",
      yearly: "A day of every year",
    });
    this.date = h("input", { id: id("date"), "aria-label": "Date", autocomplete: "off", hidden: true });
    const label = (part: string, text: string) => h("label", { for: id(part) }, text);
    const { sentence, end } = barredForm(store, this.button);
    this.element = h(
      "form",
      { class: "change", "aria-label": `Change ${nameOf([variable], variable.name)}`, novalidate: true },
      sentence,
      label("value", "Value"),
      h("div", { class: "row" }, this.operation, this.value, this.units),
      ...(levels ? [label("level", "Levels"), h("div", { class: "row" }, this.level)] : []),
      label("where", "Where"),
      h("div", { class: "row" }, this.where, this.region),
      label("when", "From"),
      h("div", { class: "row" }, this.when, this.date),
      this.wrong,
      this.said,
      this.stale,
      h("div", { class: "acts" }, this.button, this.drop),
    );
    this.element.addEventListener("input", () => this.edited());
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.busy) return;
      this.busy = true; // a second Enter would be a conflict with the first
      void (this.ready === null ? this.preview() : this.send()).finally(() => {
        this.busy = false;
      });
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.clear();
    });
    this.ends.push(
      end,
      store.follow(["selection"], ({ selection }) =>
        this.where.querySelector("[value=selection]")?.toggleAttribute("disabled", !selection),
      ),
      store.follow(["look.variable"], ({ look: { variable: shown } }) => this.drop.hidden && this.atLevel(shown)),
      store.follow(["steered"], () => {
        this.match = ""; // the draft is one for another scenario now
        this.unready();
      }),
    );
  }

  focus(): void {
    this.value.focus();
  }

  /** The change is to be made in the selection on the map, at its level. */
  inSelection(): void {
    choose(this.where, "selection");
    this.atLevel(this.store.now.look.variable);
  }

  /** The change is to be made at the level of a map; at all levels where that has none. */
  atLevel(map: string): void {
    const { variable } = this;
    choose(this.level, parted(map)[1] === null ? "" : mapName(variable, map).slice(variable.name.length));
    this.unready();
  }

  /** " at 850 hPa", " at all levels"; "" of a variable without levels. */
  private get at(): string {
    return atText([this.variable], this.variable.name + this.level.value);
  }

  /** The form is not seen any more. */
  end(): void {
    for (const end of this.ends) end();
  }

  private edited(): void {
    this.region.hidden = this.where.value !== "name";
    this.date.hidden = this.when.value !== "date" && this.when.value !== "yearly";
    this.date.placeholder = this.example;
    this.units.hidden = this.operation.value === "scale";
    this.match ||= ordered(this.store)?.version ?? "";
    this.drop.hidden = false;
    this.unready();
    this.blame(null, "");
  }

  /** A date that may be typed: the next of the run, or its month and day. */
  private get example(): string {
    const { run } = this.store.now;
    const date = run ? exampleDate(run, (ordered(this.store)?.step ?? 0) + 1) : "";
    return this.when.value === "yearly" ? date.slice(5, 10) : date;
  }

  private unready(): void {
    this.ready = null;
    say(this.button, `Preview${this.at} in ${this.store.now.steered}`);
    say(this.said, "");
  }

  clear(): void {
    this.element.reset();
    this.edited();
    this.match = "";
    this.drop.hidden = true;
    this.stale.hidden = true;
    fill(this.stale);
    this.atLevel(this.store.now.look.variable);
  }

  /** What is typed, as an order; null and words beside the field when it is none. */
  private order(): SetOrder | null {
    const value = typedNumber(this.value.value);
    const scenario = ordered(this.store);
    const { selection } = this.store.now;
    if (value === null) return this.blame("value", "Give a number, such as 1000.5.");
    if (this.where.value === "selection" && !selection)
      return this.blame("where", "Nothing is selected: draw a box or polygon on the map.");
    if (this.where.value === "name" && !this.region.value.trim()) return this.blame("where", "Give the name of a region, such as west.");
    if (!scenario) return null;
    const wrong = this.wrongTime(scenario);
    if (wrong) return this.blame("when", wrong);
    const region = { all: "all", selection: selection ?? "all", name: this.region.value.trim() }[this.where.value] ?? "all";
    const when = this.when.value as When;
    const units = plainUnit(this.units.value);
    return {
      scenario: scenario.name,
      variable: this.variable.name + this.level.value,
      operation: this.operation.value as "add" | "scale" | "set",
      value,
      region,
      ...(units && units !== this.variable.units && this.operation.value !== "scale" ? { units } : {}),
      when: when === "date" ? { date: this.date.value.trim() } : when === "yearly" ? "after" : when,
    };
  }

  /** Why there is no such time to come in a scenario; "" where there is. */
  private wrongTime({ name, step }: Scenario): string {
    const { run } = this.store.now;
    const text = this.date.value.trim();
    if (!run) return "";
    if (run.steps !== null && step >= run.steps) return "The run ends here: go back, or branch off an earlier date.";
    if (this.when.value !== "date" && this.when.value !== "yearly") return "";
    if (this.when.value === "yearly")
      return isDay(`2000-${text}`, run.clock.calendar) ? "" : `Give a month and a day, such as ${this.example}.`;
    const within = isShort(run.clock) ? 1 : 0; // an instant is the beginning of the step after it
    return dateFault(run, text, name, step, step + 1 - within, (run.steps ?? Number.POSITIVE_INFINITY) - within);
  }

  /** Marks the field that is wrong and says why. */
  private blame(part: string | null, text: string): null {
    const fields: Record<string, HTMLElement> = { value: this.value, units: this.units, where: this.where, when: this.date };
    for (const [name, field] of Object.entries(fields)) {
      if (name === part) {
        field.setAttribute("aria-invalid", "true");
        field.setAttribute("aria-describedby", this.wrong.id);
      } else field.removeAttribute("aria-invalid");
    }
    say(this.wrong, text);
    return null;
  }

  private refused(error: Refused): boolean {
    const { position, allowed, nearest, detail, title, code } = error.problem;
    if (code === "version-stale") {
      void this.tellStale((error.document.changed ?? []) as Changed[], String(error.document.version ?? ""));
      return true;
    }
    const part = /\$\.(\w+)/.exec(String(position ?? ""))?.[1] ?? String(position ?? "");
    const more = nearest ? ` Did you mean "${nearest}"?` : typeof allowed === "string" ? ` Allowed: ${allowed}.` : "";
    this.blame(PARTS[part] ?? "value", `${detail || title}${more}`);
    return true;
  }

  private async preview(): Promise<void> {
    const order = this.order();
    const reason = barred(this.store);
    if (reason) say(this.wrong, `This cannot be done: ${reason}.`);
    if (!order || reason) return;
    this.match ||= ordered(this.store)?.version ?? "";
    try {
      const told = await this.api.preview(order);
      say(this.said, previewText(told, this.at));
      if (told.outside && order.when === "now") {
        this.blame("value", "This would be refused: give a value that keeps all cells within the range below.");
        return;
      }
      this.ready = JSON.stringify(order);
      say(this.button, `Set${this.at} in ${order.scenario}${told.outside ? ", which may be refused" : ""}`);
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (error instanceof Refused) this.refused(error);
      else say(this.wrong, error.message);
    }
  }

  private async send(match = this.match): Promise<void> {
    const order = this.order();
    if (!order) return;
    if (JSON.stringify(order) !== this.ready) return this.unready(); // the selection is another one
    const sent = this.ready;
    const detail = this.said.textContent ?? "";
    const { when, ...change } = order;
    const date = this.date.value.trim();
    const every = this.when.value === "yearly";
    const on = every ? ` for ${date} of every year` : typeof when === "object" ? ` for ${dateText(this.store.now, date)}` : "";
    const made: Ordered | null = await send(
      this.store,
      () =>
        every
          ? this.api.addEvent({ ...change, when: { yearly: date } }, { match, wait: 2 })
          : this.api.set(order, { match, wait: on ? 0 : 2 }),
      (error) => this.refused(error),
    );
    if (!made) return;
    const problem = made.problem as { text?: string } | null;
    if (made.state === "failed") {
      this.match = made.version; // which the order that failed has moved
      this.blame("value", problem?.text ?? "The change could not be made.");
      this.unready();
      return;
    }
    const text = `${changedName(this.store.now.run?.variables ?? [], change.variable)}: ${on ? "planned" : "set"} in ${change.scenario}${on}`;
    this.store.notify({ weight: "good", text, detail, lasts: 5000 });
    if (this.ready === sent) this.clear();
    else this.match = made.version; // what was typed meanwhile is another draft
  }

  /** Somebody has ordered since the draft was begun. It is kept. */
  private async tellStale(changed: Changed[], version: string): Promise<void> {
    const rows = await this.api.log(Math.min(...changed.map(({ seq }) => seq)) - 1).catch(() => []); // then it is told in fewer words
    if (changed.length > 0 && changed.every((each) => isHarmless(each, rows))) {
      this.match = version;
      return this.send(version);
    }
    const acts = { apply: () => this.applyAnyway(version), drop: () => this.clear() };
    fill(this.stale, ...staleNote(this.store.now, changed, rows, this.value.value, acts));
    this.stale.hidden = false;
    this.stale.querySelector("button")?.focus();
  }

  private applyAnyway(version: string): void {
    this.stale.hidden = true;
    this.match = version;
    void this.send(version);
  }
}
