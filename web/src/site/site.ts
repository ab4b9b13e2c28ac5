import { assertExists } from "../base/assert";
import { startComparison } from "./compare-page";
import { parseSite } from "./document";
import { startMatrix } from "./matrix";

/** Starts what pages of a static site have; other pages have none of it. */
export function startSite(page: Document): void {
  const matrix = page.querySelector<HTMLTableElement>("table.matrix");
  if (matrix !== null) startMatrix(page, matrix);
  const text = page.getElementById("site-data");
  if (text === null) return;
  const site = parseSite(assertExists(text.textContent, "the data of the site"));
  if (site.ok) startComparison(page, site.value);
  else console.error(site.error);
}
