// Goes through a static site as a reader would: searches, sorts, ticks two boards, compares them,
// opens a board's page. Prints what it saw as JSON.
//
//   node scripts/site.js DIRECTORY [--scheme light|dark] [--width N] [--boards WORDS] [--metrics WORDS]

import { join } from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";

import { launch, violations, watch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scheme: { type: "string", default: "light" },
    width: { type: "string", default: "1280" },
    boards: { type: "string", default: "" },
    metrics: { type: "string", default: "" },
  },
});
const home = pathToFileURL(join(positionals[0], "/")).href;

/** The texts of the cells of each row that is shown. */
const cells = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("tbody tr")]
      .filter((row) => !row.hidden)
      .map((row) => [...row.cells].filter((cell) => !cell.hidden).map((cell) => cell.textContent.trim())),
  );
const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

const browser = await launch();
try {
  const page = await browser.newPage({
    viewport: { width: Number(values.width), height: 900 },
    colorScheme: values.scheme,
  });
  const { complaints, requests } = watch(page, (url) => url.startsWith(home));
  const faults = [];
  const seen = {};
  await page.goto(`${home}index.html`, { waitUntil: "load" });
  seen.rows = await cells(page);
  seen.overflow = [await overflow(page)];
  faults.push(...(await violations(page)));

  await page.fill("[data-site=boards]", values.boards);
  await page.fill("[data-site=metrics]", values.metrics);
  seen.filtered = await cells(page);
  await page.click("thead th:not([hidden]):nth-child(n+2) button");
  seen.sorted = await cells(page);
  await page.fill("[data-site=boards]", "");
  const ticks = page.locator("tbody tr input");
  await ticks.nth(0).check();
  await ticks.nth(1).check();
  await page.click("[data-site=compare]");
  await page.waitForSelector("svg.chart");
  seen.chosen = await page.evaluate(() => [...document.querySelectorAll("select")].map((s) => s.selectedOptions[0].text));
  seen.changes = await cells(page);
  seen.overflow.push(await overflow(page));
  faults.push(...(await violations(page)));

  await page.goto(`${home}index.html`);
  await page.locator("tbody tr a").first().click();
  await page.waitForSelector("svg.chart");
  seen.board = await page.evaluate(() => document.querySelector("h1").textContent);
  seen.attacked = await page.evaluate(() => document.body.dataset.attacked ?? "");
  seen.overflow.push(await overflow(page));
  await page.click("a.brand");
  seen.back = page.url().endsWith("/index.html");
  console.log(JSON.stringify({ ...seen, complaints, requests, violations: faults }));
} finally {
  await browser.close();
}
