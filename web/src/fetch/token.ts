/** A token comes in the fragment of an address (`#token=...`), is changed into a cookie that no script can read, and is erased from the address. */
import type { Api } from "./api";

/** The fragment without the token, and the token. */
export function tokenIn(fragment: string): { token: string | null; rest: string } {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const token = words.get("token");
  words.delete("token");
  return { token, rest: words.toString() };
}

/** Raises Refused when the token is not known. The address is cleaned first, whatever comes of it. */
export async function exchangeToken(api: Api): Promise<void> {
  const { token, rest } = tokenIn(location.hash);
  if (token === null) return;
  history.replaceState(null, "", rest ? `#${rest}` : location.pathname + location.search);
  await api.login(token);
}
