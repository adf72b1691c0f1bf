/** Puts the page together. */
import { Api } from "./fetch/api";
import { Store } from "./state/store";
import { byId } from "./ui/dom";
import { mount as mountTabs } from "./ui/tabs";

const store = new Store();
const words = new URLSearchParams(location.hash.slice(1));
const api = new Api(new URL(".", document.baseURI), words.get("run") ?? "");
mountTabs(byId("tabs"), store);

export { api };
