import { assertExists } from "./base/assert";
import { parseDocument } from "./base/document";
import { addCopyButtons } from "./copying";
import { fill } from "./filling";
import { startSite } from "./site/site";

import "./report.css";

addCopyButtons(document);
startSite(document);
const data = document.getElementById("report-data");
if (data !== null) {
  const parsed = parseDocument(assertExists(data.textContent, "the data of the page"));
  if (parsed.ok) {
    fill(document, parsed.value);
  } else {
    // The tables stand without any script; only the charts are missing.
    document.body.dataset["charts"] = "failed";
    console.error(parsed.error);
  }
}
