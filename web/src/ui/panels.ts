/** Mounts all that stands beside and over the map. */
import type { Api } from "../fetch/api";
import type { Store } from "../state/store";
import type { Actions } from "./actions";
import { mount as mountChip } from "./chip";
import { byId } from "./dom";
import { follow } from "./follow";
import { mount as mountHelp } from "./help";
import { mount as mountLog } from "./log";
import { mount as mountNotices } from "./notice";
import { mount as mountPanes } from "./panes";
import { mount as mountParameters } from "./parameters";
import { mount as mountRules } from "./rules";
import { mount as mountRuns } from "./runs";
import { mount as mountScenarios } from "./scenarios";
import { mount as mountShare, type Picture } from "./share";

/** picture: what draws a PNG; null while nothing does. */
export function mountPanels(store: Store, api: () => Api, actions: Actions, picture: Picture | null): void {
  mountChip(store, api, { chip: byId("chip"), over: byId("map-notice"), map: byId("map") });
  mountNotices(byId("notices"), store);
  mountParameters(byId("parameters"), store, api);
  mountRules(byId("rules"), store, api);
  mountScenarios(byId("pane-scenarios"), store, api);
  mountLog(byId("pane-log"), store, api);
  mountPanes(store, actions);
  const dialogs = byId("dialogs");
  mountHelp(dialogs, store, actions);
  mountShare(dialogs, store, api, actions, picture);
  mountRuns(dialogs, store, api);
  follow(store, api);
}
