/** Light or dark: as the computer says, or the notebook, or as somebody chose. Drawing gets its colours from here. */
import type { Colours } from "../draw/lines";
import type { Store } from "../state/store";

const NAMES = ["sea", "land", "coast", "graticule", "ink", "muted", "halo", "line", "card", "accent", "hatch"] as const;

export class Theme {
  colours!: Colours;
  /** Red, green, blue of the hatch from 0 to 1. */
  hatch!: [number, number, number];
  private readonly followers = new Set<() => void>();

  /** root: the element whose theme it is, and all in it. */
  constructor(
    private readonly store: Store,
    private readonly root: HTMLElement = document.documentElement,
  ) {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const apply = () => {
      const { jpThemeLight } = document.body.dataset; // JupyterLab's
      this.apply(jpThemeLight === undefined ? dark.matches : jpThemeLight === "false");
    };
    for (const query of [dark, matchMedia("(forced-colors: active)")]) query.addEventListener("change", apply);
    if (!root.isConnected) {
      const placed = new ResizeObserver(() => {
        if (!root.isConnected) return;
        placed.disconnect();
        apply(); // before that it has no colours
      });
      placed.observe(root);
    }
    // in the next picture: while JupyterLab changes its theme nothing has a size
    new MutationObserver(() => requestAnimationFrame(apply)).observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
    store.follow(["look.theme"], apply);
  }

  /** The colour of a pin. */
  pin(colour: number): string {
    return getComputedStyle(this.root).getPropertyValue(`--pin-${colour}`).trim();
  }

  follow(heard: () => void): void {
    this.followers.add(heard);
  }

  /** The colours of the light page, whatever it is now. */
  light(): { colours: Colours; hatch: [number, number, number] } {
    const light = document.createElement("i");
    light.dataset.theme = "light";
    (this.root === document.documentElement ? document.body : this.root).append(light);
    const found = coloursOf(light);
    light.remove();
    return found;
  }

  private apply(dark: boolean): void {
    const { theme } = this.store.now.look;
    this.root.dataset.theme = theme === "auto" ? (dark ? "dark" : "light") : theme;
    Object.assign(this, coloursOf(this.root));
    for (const follower of this.followers) follower();
  }
}

function coloursOf(element: Element): { colours: Colours; hatch: [number, number, number] } {
  const style = getComputedStyle(element);
  const colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Colours;
  const hatch = [1, 3, 5].map((at) => Number.parseInt(colours.hatch.slice(at, at + 2), 16) / 255) as [number, number, number];
  return { colours, hatch };
}
