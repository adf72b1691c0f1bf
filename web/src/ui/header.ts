/** The header: whose run, who steers, what is shown and how. */
import { prettyUnit } from "../decode/units";
import { PALETTES, type PaletteName, paletteOf } from "../draw/palette";
import { labelOf, mapName, parted } from "../state/levels";
import { LEFT, onView } from "../state/scenario";
import type { Look, Maps, Store, Theme } from "../state/store";
import type { Actions } from "./actions";
import { choice, type Option } from "./choice";
import { bar, byId, fill, h, say } from "./dom";

const MAPS: readonly [Maps, string, string][] = [
  [1, "1", "One map (1)"],
  [2, "2", "Two maps (2)"],
  [3, "B − A", "Two maps and their difference (3)"],
  [4, "A | B", "Two scenarios over each other, with a line to swipe (4)"],
];

export function mount(store: Store, actions: Actions): void {
  const variable = choice(
    "variable",
    "Variable (V)",
    () => variableOptions(store),
    (name) => chosen({ variable: mapNamed(store, name), range: null }),
  );
  const palette = choice("palette", "Colours (C)", palettes, (name) => chosen({ palette: name }));
  function chosen(parts: Partial<Look>): void {
    store.look(parts);
    byId("map").focus({ preventScroll: true }); // whose keys come next
  }
  const maps = h("span", { role: "radiogroup", "aria-label": "Maps", class: "joined" });
  const buttons = MAPS.map(([count, text, title]) =>
    h("button", { type: "button", role: "radio", title, "aria-label": title, onclick: () => show(count) }, text),
  );
  maps.append(...buttons);
  maps.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.stopPropagation();
    const next = (((Math.min(store.now.look.maps, 4) - 1 + step + 4) % 4) + 1) as Maps;
    show(next);
    buttons[store.now.look.maps - 1]?.focus();
  });
  const scenarios = [0, 1].map((which) =>
    h("select", {
      "aria-label": which ? "Scenario B" : "Scenario A",
      onchange: (event) => compare(which, (event.target as HTMLSelectElement).value),
    }),
  );
  const steered = h("select", { "aria-label": "Orders go to", onchange: () => store.change({ steered: steered.value }) });
  const steers = h("label", { class: "orders" }, "Steer", steered);
  const smooth = h(
    "button",
    { type: "button", title: "Smooth between cells (E)", role: "switch", onclick: () => actions.do("smooth") },
    "Smooth",
  );
  fill(byId("choices"), steers, variable.element, levelChoice(store), maps, ...scenarios, palette.element, smooth);

  const theme = h("button", { type: "button", title: "Light or dark (D)", onclick: () => actions.do("theme") });
  const tools: [string, string, Parameters<Actions["do"]>[0]][] = [
    ["Share", "Share a link (Y)", "share"],
    ["Save", "Save a picture or numbers (X)", "save"],
    ["?", "Help: keys and words (?)", "help"],
  ];
  const [share, save, help] = tools.map(([text, title, action]) =>
    h("button", { type: "button", title, "aria-label": title, onclick: () => actions.do(action) }, text),
  );
  fill(byId("tools"), share, save, theme, help);
  const menu = byId("menu"); // on a narrow page it unfolds what is seldom wanted
  menu.addEventListener("click", () => {
    const open = menu.getAttribute("aria-expanded") !== "true";
    menu.setAttribute("aria-expanded", String(open));
    byId("header").classList.toggle("open", open);
  });

  function palettes() {
    return PALETTES.filter(({ kind }) => kind !== "diverging").map(({ name, for: purpose }) => ({
      value: name,
      label: name.replace("_r", ""),
      detail: purpose,
      words: purpose,
      picture: () => strip(name),
    }));
  }
  let turned = false; // whether the steered scenario, the second of two, was made the first to be seen alone
  function show(count: Maps): void {
    const { info, look, steered } = store.now;
    const other = info?.scenarios.find((each) => each.name !== look.scenarios[0] && !LEFT.test(each.name));
    if (count > 1 && look.scenarios.length < 2) {
      if (!other) {
        store.notify({ weight: "warn", text: "A second map needs a second scenario. Branch one off first (R).", lasts: 6000 });
        return;
      }
      store.look({ maps: count, scenarios: [look.scenarios[0] ?? "main", other.name] });
    } else {
      const turns = count === 1 ? onView(look)[1] === steered : turned && onView(look).length === 1;
      turned = turns && count === 1;
      store.look({ maps: count, ...(turns ? { scenarios: look.scenarios.toReversed() } : {}) });
    }
  }
  function compare(which: number, name: string): void {
    turned = false;
    const names = [...store.now.look.scenarios];
    const other = names[1 - which];
    if (other === name) names.reverse();
    else names[which] = name;
    store.look({ scenarios: names });
  }
  MAPS.forEach(([count], index) => {
    actions.on((["one-map", "two-maps", "difference", "swipe"] as const)[index] ?? "one-map", () => show(count));
  });
  actions.on("variable", () => variable.open());
  actions.on("palette", () => palette.open());
  actions.on("smooth", () => store.look({ smooth: !store.now.look.smooth }));
  actions.on("theme", () => {
    const dark = document.documentElement.dataset.theme === "dark";
    store.look({ theme: (dark ? "light" : "dark") satisfies Theme });
  });

  store.follow(["look", "run"], ({ look, run }) => {
    variable.show(parted(look.variable)[0]);
    palette.show(look.palette);
    smooth.setAttribute("aria-checked", String(look.smooth));
    buttons.forEach((button, index) => {
      button.setAttribute("aria-checked", String(look.maps === index + 1));
      button.tabIndex = look.maps === index + 1 || (look.maps === 5 && index === 0) ? 0 : -1;
    });
    say(byId("run-name"), run?.name ?? "");
    document.title = run ? `${run.name} – Steppe` : "Steppe";
    say(theme, document.documentElement.dataset.theme === "dark" ? "Light" : "Dark");
  });
  store.subscribe(
    (state) => [
      state.look.scenarios,
      state.look.maps,
      state.steered,
      state.viewer?.may_steer,
      state.info?.scenarios.map((each) => each.name).join("\n"),
    ],
    (_, { look, info, steered: to, viewer }) => {
      const open = (info?.scenarios ?? []).map((each) => each.name).filter((name) => !LEFT.test(name));
      fill(steered, ...open.map((name) => h("option", { value: name, selected: name === to }, name)));
      steers.hidden = open.length < 2 || !viewer?.may_steer;
      const names = (info?.scenarios ?? []).map((each) => each.name).filter((name) => !LEFT.test(name) || look.scenarios.includes(name));
      scenarios.forEach((select, which) => {
        select.hidden = names.length < 2 || (which === 1 && onView(look).length < 2);
        fill(select, ...names.map((name) => h("option", { value: name, selected: name === look.scenarios[which] }, name)));
        select.value = look.scenarios[which] ?? "";
      });
      for (const button of buttons.slice(1)) bar(button, names.length < 2 ? "needs a second scenario" : null);
    },
  );
  store.follow(["steers", "viewer", "viewers"], ({ steers, viewer, viewers }) => {
    const who = steers && (steers.who === viewer?.name ? `You steer (${steers.who})` : `${steers.who} steers`);
    const words = [viewer && !viewer.may_steer && "Viewing", who, viewers > 1 && `${viewers} viewers`];
    say(byId("steers"), words.filter(Boolean).join("; "));
  });
}

/** What the map of a variable is called that was chosen from a list, or is shown, at the level of `like`. */
export function mapNamed({ now: { run, look } }: Store, name: string, like = look.variable): string {
  const variable = run?.variables.find((each) => each.name === parted(name)[0]);
  return variable ? mapName(variable, like) : name;
}

/** The level that is looked at; hidden where the variable has none. */
export function levelChoice(store: Store): HTMLElement {
  const level = h("select", {
    "aria-label": "Level",
    title: "Level",
    onchange: () => {
      const { other, variable } = store.now.look;
      const beside = parted(other)[0] === parted(variable)[0] ? other : mapNamed(store, other, level.value);
      store.look({ variable: level.value, other: beside, range: null });
    },
  });
  store.follow(["look.variable", "run"], ({ look, run }) => {
    const { name, levels } = run?.variables.find((each) => each.name === parted(look.variable)[0]) ?? { name: "", levels: null };
    level.hidden = !levels;
    const each = (levels?.values ?? []).map(
      (_, number) => [`${name}[${number}]`, levels ? labelOf(levels, number, prettyUnit) : ""] as const,
    );
    fill(level, ...each.map(([value, text]) => h("option", { value, selected: value === look.variable }, text)));
  });
  return level;
}

/** The variables of the run to choose from: first what the model computes, then what goes into it. */
export function variableOptions(store: Store): Option[] {
  const roles = ["state", "diagnostic", "forcing", "parameter", "derived"];
  const known = [...(store.now.run?.variables ?? [])].sort((one, other) => roles.indexOf(one.role) - roles.indexOf(other.role));
  return known.map((each) => ({
    value: each.name,
    label: each.long_name || each.name,
    detail: [each.name, prettyUnit(each.units), each.map ? each.role : "one number"].filter(Boolean).join(", "),
    words: `${each.name} ${each.standard_name}`,
  }));
}

/** The colours of a palette as a strip. */
function strip(name: PaletteName): HTMLCanvasElement {
  const canvas = h("canvas", { width: 256, height: 1, class: "strip", "aria-hidden": "true" });
  const pixels = new ImageData(256, 1);
  const table = paletteOf(name);
  for (let k = 0; k < 256; k++) pixels.data.set([...table.subarray(3 * k, 3 * k + 3), 255], 4 * k);
  canvas.getContext("2d")?.putImageData(pixels, 0, 0);
  return canvas;
}
