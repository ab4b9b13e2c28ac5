// What every page of the workbench loads: its style, and what starts the page's islands.

import { addCopyButtons } from "../copying";
import { watchTicks } from "../ticking";
import { startIslands } from "./islands";

import "../workbench.css";

addCopyButtons(document);
watchTicks(document);
startIslands(document);
