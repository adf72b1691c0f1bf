/** Where somebody who is not signed in does so: with a token of the server. */
import { isFailure } from "../fetch/problem";
import type { Store } from "../state/store";
import { h, say } from "./dom";

/** enter: signs in with a token; raises Refused when it is not known. */
export function mount(place: HTMLElement, store: Store, enter: (token: string) => Promise<void>): void {
  const field = h("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "token-wrong",
  });
  const wrong = h("p", { id: "token-wrong", class: "wrong", role: "alert" });
  const why = h("b");
  const form = h(
    ...(["form", { class: "signin", hidden: true, "aria-label": "Sign in" }] as const),
    why,
    h("p", {}, "Paste a token of the server, or an address with one."),
    h("label", { for: "token" }, "Token"),
    field,
    h("button", { class: "main" }, "Sign in"),
    wrong,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await enter(tokenOf(field.value));
    } catch (error) {
      if (!isFailure(error)) throw error;
      say(wrong, error.message);
      field.select();
    }
  });
  place.append(form);
  store.subscribe(
    ({ connection }) => (connection.link === "refused" ? connection.reason : ""),
    (refused) => {
      form.hidden = !refused;
      say(why, refused);
      if (refused) field.focus();
    },
  );
}

/** The token in what somebody pasted: itself, or an address that holds it. */
export function tokenOf(text: string): string {
  return /[#&]token=([^&\s]+)/.exec(text)?.[1] ?? text.trim();
}
