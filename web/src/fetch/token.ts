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

  /** Raises Refused when the token is not known, or when the browser keeps no cookie. */
  async with(api: Api, token: string): Promise<void> {
    await api.login(token);
    this.token = token;
    await api.whoami().catch((error) => {
      if (isUnknown(error)) error.message = "This browser keeps no cookie of this page. Allow cookies for its address.";
      throw error;
    });
  }

  /** Why the server does not know who this is, if need be after the token once more; "" where it does. Raises Unreachable. */
  async again(api: Api): Promise<string> {
    const reason = (error: unknown) => {
      if (isUnknown(error)) return error.message;
      throw error;
    };
    const refused = await api.whoami().then(() => "", reason);
    return refused && this.token !== null ? this.with(api, this.token).then(() => "", reason) : refused;
  }
}

function isUnknown(error: unknown): error is Refused {
  return error instanceof Refused && error.problem.status === 401;
}
