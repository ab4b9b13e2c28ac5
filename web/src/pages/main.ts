// What every page of the workbench loads: its style, and what starts the page's islands.

import { addCopyButtons } from "../copying";
import { startIslands } from "./islands";

import "../workbench.css";

addCopyButtons(document);
startIslands(document);
