/** The form that makes a scenario. */
import type { Api } from "../fetch/api";
import type { Refused } from "../fetch/problem";
import { onView } from "../state/scenario";
import type { Store } from "../state/store";
import { bar, fill, h } from "./dom";
import { barred, ordered, send } from "./orders";
import { stepWords } from "./wording";

/** Asks for a name and branches off where the steered scenario stands, or its past that is looked at. back: where the focus goes. */
export function askBranch(form: HTMLElement, store: Store, api: Api, back: () => void): void {
  const { preview, run, look } = store.now;
  const from = ordered(store);
  if (!from || !run) return;
  const step = (onView(look).includes(from.name) ? preview : null) ?? from.step; // else the past in view is another's
  const name = h("input", {
    id: "branch-name",
    autocomplete: "off",
    required: true,
    "aria-describedby": "branch-wrong",
    placeholder: "dry",
  });
  const wrong = h("p", { class: "wrong", role: "alert", id: "branch-wrong" });
  const refused = (error: Refused) => {
    wrong.textContent = error.problem.detail || error.problem.title;
    name.setAttribute("aria-invalid", "true");
    return true;
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const wanted = name.value.trim();
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(wanted)) {
      wrong.textContent = "A name has 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit.";
      name.setAttribute("aria-invalid", "true");
      return;
    }
    const made = await send(store, () => api.branch({ name: wanted, from: { scenario: from.name, step } }, { wait: 2 }), refused);
    if (!made) return;
    fill(form);
    store.change({ steered: wanted, preview: null, playing: false });
    store.look({ scenarios: [from.name, wanted], maps: 3 });
    back();
  };
  const cancel = () => {
    fill(form);
    back();
  };
  const button = h("button", { type: "submit", class: "main" }, "Branch");
  bar(button, barred(store));
  fill(
    form,
    h(
      "form",
      {
        class: "change",
        "aria-label": "New scenario",
        novalidate: true,
        onsubmit: (event) => void submit(event),
        onkeydown: (event: KeyboardEvent) => event.key === "Escape" && cancel(),
      },
      h("label", { for: name.id }, "Name"),
      name,
      h("span", {}, "From"),
      h("span", {}, `${from.name}, ${stepWords(store.now, step)}`),
      wrong,
      h("div", { class: "acts" }, button, h("button", { type: "button", onclick: cancel }, "Cancel")),
    ),
  );
  name.focus();
}
