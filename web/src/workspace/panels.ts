import type { Panel } from "./panel";
import { area } from "./views/area";
import { counters } from "./views/counters";
import { delays } from "./views/delays";
import { flame } from "./views/flame";
import { functions } from "./views/functions";
import { instances } from "./views/instances";
import { latency } from "./views/latency";
import { log } from "./views/log";
import { modes } from "./views/modes";
import { load, switches } from "./views/overtime";
import { noise } from "./views/noise";
import { notes } from "./views/notes";
import { search } from "./views/search";
import { sql } from "./views/sql";
import { statistics } from "./views/statistics";

/** The views beneath the timeline, in the order of their tabs. */
export const PANELS: readonly Panel[] = [
  statistics,
  area,
  instances,
  load,
  switches,
  counters,
  delays,
  latency,
  modes,
  noise,
  functions,
  flame,
  log,
  notes,
  search,
  sql,
];
