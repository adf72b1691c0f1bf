/**
 * Runs while the script of the page is still on its way: signs in, asks for the runs and opens the live socket. On a slow line each of these
 * round trips would otherwise wait for the one before it. main.ts takes over what is here; of what fails here it makes its own attempt.
 */
import { Api } from "./fetch/api";
import { chosenRun, PROTOCOLS, type Started } from "./fetch/started";
import { tokenIn } from "./fetch/token";

async function start(): Promise<Started | null> {
  const api = new Api(new URL(".", document.baseURI), "");
  const { token, rest } = tokenIn(location.hash);
  const bearer: RequestInit = token ? { headers: { Authorization: `Bearer ${token}` } } : {};
  const named = new Api(api.page, "", (input, init) => fetch(input, { ...init, ...bearer }));
  try {
    const [viewer, runs] = await Promise.all([named.whoami(), named.runs(), token && api.login(token)]);
    const run = chosenRun(runs, new URLSearchParams(rest).get("run"));
    if (!run) return { viewer, runs, run: "", socket: null, heard: [] };
    api.run = run.run;
    const socket = new WebSocket(api.liveAddress(), PROTOCOLS);
    socket.binaryType = "arraybuffer";
    const heard: MessageEvent[] = [];
    socket.onmessage = (message) => heard.push(message);
    return { viewer, runs, run: run.run, socket, heard };
  } catch {
    return null;
  }
}

if (!("steppeStarted" in globalThis)) Object.assign(globalThis, { steppeStarted: start() }); // else the page's script was there before
