// All boards of the rig, live.

import { followRig } from "./rig-state";

/** Keeps the boards' cards up to date. */
export function start(element: HTMLElement): void {
  followRig(element);
}
