/** What keys do. One table: the page listens by it and its help lists it. */

const TABLE = [
  { keys: [" "], action: "play", says: "Play or pause; at a past date, play the past" },
  { keys: ["."], action: "step-day", says: "One step on" },
  { keys: [">"], action: "step-month", says: "One month on" },
  { keys: ["n"], action: "step-number", says: "A number of steps on, or until a date" },
  { keys: [","], action: "back-day", says: "Look one step back" },
  { keys: ["<"], action: "back-checkpoint", says: "Look at the previous checkpoint" },
  { keys: ["["], action: "slower", says: "Run slower" },
  { keys: ["]"], action: "faster", says: "Run faster" },
  { keys: ["v"], action: "variable", says: "Choose the variable", looks: true },
  { keys: ["1"], action: "one-map", says: "One map", looks: true },
  { keys: ["2"], action: "two-maps", says: "Two maps", looks: true },
  { keys: ["3"], action: "difference", says: "Two maps and their difference", looks: true },
  { keys: ["4"], action: "swipe", says: "Two scenarios over each other, with a line to swipe", looks: true },
  { keys: ["m"], action: "globe", says: "Globe or flat map, of a grid of the whole Earth", looks: true },
  { keys: ["e"], action: "smooth", says: "Exact cells or smooth", looks: true },
  { keys: ["l"], action: "range", says: "Fixed range of the colours, or the run's", looks: true },
  { keys: ["c"], action: "palette", says: "Choose the colours", looks: true },
  { keys: ["+", "="], action: "zoom-in", says: "Nearer", looks: true },
  { keys: ["-"], action: "zoom-out", says: "Farther", looks: true },
  { keys: ["0"], action: "fit", says: "The whole grid", looks: true },
  { keys: ["b"], action: "box", says: "Draw a box", looks: true },
  { keys: ["p"], action: "polygon", says: "Draw a polygon", looks: true },
  { keys: ["s"], action: "set", says: "Set a parameter or the state" },
  { keys: ["r"], action: "branch", says: "Branch off a scenario" },
  { keys: ["F2"], action: "rename", says: "Rename the scenario" },
  { keys: ["k"], action: "compare", says: "Compare scenarios", looks: true },
  { keys: ["g"], action: "log", says: "The log", looks: true },
  { keys: ["y"], action: "share", says: "Share a link", looks: true },
  { keys: ["x"], action: "save", says: "Save a picture or numbers", looks: true },
  { keys: ["d"], action: "theme", says: "Light or dark", looks: true },
  { keys: ["?"], action: "help", says: "This help", looks: true },
] as const;

export type Action = (typeof TABLE)[number]["action"];

export interface Key {
  /** As `KeyboardEvent.key`; letters in lower case. */
  keys: readonly string[];
  action: Action;
  says: string;
  /** Who may only look has it, too. */
  looks?: boolean;
}

export const KEYS: readonly Key[] = TABLE;

/** What somebody pressed; the members of a KeyboardEvent that count. */
export interface Pressed {
  key: string;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}

/** The action of a key; null when it has none, or when keys of one character are not heard. */
export function actionOf({ key, ctrlKey, altKey, metaKey }: Pressed, letters: boolean): Action | null {
  const typed = "[]".includes(key); // with Option, on the keyboards of a Mac in most languages
  if (ctrlKey || (altKey && !typed) || metaKey || (key.length === 1 && !letters)) return null;
  const wanted = key.length === 1 ? key.toLowerCase() : key;
  return KEYS.find(({ keys }) => keys.includes(wanted))?.action ?? null;
}
