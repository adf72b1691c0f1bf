/** A token comes in the fragment of an address (`#token=...`), is changed into a cookie that no script can read, and is erased from the address. */
import type { Api } from "./api";
import { Refused } from "./problem";

/** The fragment without the token, and the token. */
export function tokenIn(fragment: string): { token: string | null; rest: string } {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const token = words.get("token");
  words.delete("token");
  return { token, rest: words.toString() };
}

/** Who is signed in, for as long as the page is open. The token is kept in memory alone, for a server that was started anew and knows no cookie. */
export class SignIn {
  private token: string | null = null;

  /** Takes the token out of the address, whatever comes of it, and signs in unless that is `done`. Raises Refused when it is not known. */
  async fromAddress(api: Api, done = false): Promise<void> {
    const { token, rest } = tokenIn(location.hash);
    if (token === null) return;
    history.replaceState(null, "", rest ? `#${rest}` : location.pathname + location.search);
    if (done) this.token = token;
    else await this.with(api, token);
  }

  /** Raises Refused when the token is not known. */
  async with(api: Api, token: string): Promise<void> {
    await api.login(token);
    this.token = token;
  }

  /** Whether the server still knows who this is, if need be by the token once more. Raises Unreachable. */
  async again(api: Api): Promise<boolean> {
    try {
      await api.whoami();
      return true;
    } catch (error) {
      if (!(error instanceof Refused) || error.problem.status !== 401) throw error;
    }
    if (this.token === null) return false;
    try {
      await api.login(this.token);
      return true;
    } catch (error) {
      if (error instanceof Refused && error.problem.status === 401) return false;
      throw error;
    }
  }
}
