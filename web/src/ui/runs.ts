/** Which run is looked at, where the server has none or several; and a new one, where people may begin them. */
import type { Api } from "../fetch/api";
import { isFailure, Refused } from "../fetch/problem";
import type { Store } from "../state/store";
import { dialog } from "./dialog";
import { h, say } from "./dom";

export function mount(place: HTMLElement, store: Store, api: Api): void {
  dialog(place, store, "runs", "Runs", () => [list(store), begin(store, api)]);
  store.subscribe(
    (state) => state.runs?.length === 0 && !state.run,
    (none) => {
      if (none && store.now.connection.link !== "refused") store.change({ dialog: "runs" });
    },
  );
  const name = document.getElementById("run-name");
  store.subscribe(
    (state) => state.runs?.length ?? 0,
    (count) => {
      if (!name) return;
      name.classList.toggle("several", count > 1);
      name.onclick = count > 1 ? () => store.change({ dialog: "runs" }) : null;
    },
  );
}

function list(store: Store): HTMLElement {
  const runs = store.now.runs ?? [];
  if (!runs.length) return h("p", {}, "This server has no run yet.");
  const go = (run: string) => {
    location.hash = `run=${encodeURIComponent(run)}`;
    location.reload();
  };
  return h(
    "ul",
    { class: "runs" },
    ...runs.map((run) =>
      h(
        "li",
        {},
        h(
          "button",
          { type: "button", "aria-current": run.run === store.now.run?.name ? "true" : null, onclick: () => go(run.run) },
          run.run,
        ),
        h("small", {}, [run.model ?? "", run.state, run.scenarios[0]?.date ?? ""].filter(Boolean).join(", ")),
      ),
    ),
  );
}

function begin(store: Store, api: Api): HTMLElement {
  const name = h("input", {
    id: "run-new",
    autocomplete: "off",
    required: true,
    placeholder: "dry",
    "aria-describedby": "run-wrong",
  });
  const toml = h("textarea", {
    id: "run-toml",
    rows: 10,
    spellcheck: "false",
    required: true,
    placeholder: 'model = "pasture"\n\n[time]\nstart = 1990-01-01\n...',
  });
  const launcher = h("input", { id: "run-launcher", autocomplete: "off", placeholder: "none" });
  const wrong = h("p", { class: "wrong", role: "alert", id: "run-wrong" });
  const button = h("button", { type: "submit", class: "main" }, "Begin the run");
  const submit = async (event: Event) => {
    event.preventDefault();
    say(wrong, "");
    button.setAttribute("aria-busy", "true");
    try {
      const named = launcher.value.trim();
      const made = await api.beginRun({ name: name.value.trim(), toml: toml.value, ...(named ? { launcher: named } : {}) });
      location.hash = `run=${encodeURIComponent(made.run)}`;
      location.reload();
    } catch (error) {
      if (!isFailure(error)) throw error;
      const closed = error instanceof Refused && error.problem.code === "runs-closed";
      say(wrong, closed ? "This server takes no new runs. Start it with: steppe serve --runs runs --data weather" : error.message);
    } finally {
      button.removeAttribute("aria-busy");
    }
  };
  return h(
    "details",
    { class: "more", open: store.now.runs?.length === 0 },
    h("summary", {}, "Begin a run"),
    h(
      "form",
      { class: "change", "aria-label": "New run", onsubmit: (event) => void submit(event) },
      h("label", { for: name.id }, "Name"),
      name,
      h("label", { for: toml.id }, "Run file"),
      toml,
      h("label", { for: launcher.id }, "Launcher"),
      launcher,
      wrong,
      h("div", { class: "acts" }, button),
      h("p", { class: "none" }, "The same from a shell: ", h("code", {}, "steppe serve run.toml")),
    ),
  );
}
