import type { Panel } from "./panel";

/** The views beneath the time line, in the order of their tabs. */
export const PANELS: readonly Panel[] = [];
