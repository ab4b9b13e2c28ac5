// Takes the pictures of the documentation, and prints the outline of each page that they show as
// JSON: its headings, columns and tabs, by which a test finds that a picture is out of date.
//
//   node scripts/pictures.js BASE REPORT.html [--shots DIRECTORY] [--boot]
//
// BASE has two traces, `before` and `after`, as tests/story_traces.py makes them, and a board
// `rig:arm64-1`, and the nights of tests/lab_nights.py; with --boot that boots, and is shown when its kernel has started init. Without, or
// when that takes too long, its picture is not taken.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";

import { launch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { shots: { type: "string" }, boot: { type: "boolean" } },
});
const [base, report] = positionals;
const outlines = {};
const BOOT_MS = 180_000; // on a machine that emulates

const browser = await launch();
try {
  const open = async (address, width, scheme) => {
    const page = await browser.newPage({
      viewport: { width, height: 960 },
      colorScheme: scheme,
    });
    await page.goto(address, { waitUntil: "load" });
    return page;
  };
  // Numbers differ from recording to recording, so they do not count.
  const look = async (page, name, part, shot = true) => {
    const parts = await page.$$eval(
      "main :is(h1, h2, thead th, legend, figcaption, [role=tab])",
      (found) => found.map((one) => one.textContent.replace(/\d+/g, "0").replace(/\s+/g, " ").trim()),
    );
    outlines[name] = [...new Set(parts.filter(Boolean))];
    if (values.shots && shot) {
      await (part ?? page).screenshot({ path: join(values.shots, `${name}.png`) });
    }
  };

  for (const scheme of ["light", "dark"]) {
    const page = await open(pathToFileURL(report).href, 960, scheme);
    await page.waitForSelector("[data-figure] svg.chart");
    await look(page, `report-${scheme}`, page.locator("[data-figure]").first());
    await page.close();
  }

  const page = await open(`${base}/traces`, 1280, "light");
  await page.check('input[aria-label="Compare before"]');
  await page.check('input[aria-label="Compare after"]');
  await look(page, "trace-list", page.locator("main form[action='/traces/compare']"));
  await page.click("text=Compare the two that are ticked");
  await page.waitForSelector(".compared");
  await look(page, "trace-compare");
  await page.locator(".compared tbody tr a").first().click();
  await page.waitForSelector('[data-figure="of-execution"] svg.chart');
  await look(page, "trace-handler");
  await page.click("text=See both at work");
  await page.waitForSelector("#ws-panel > *");
  await page.waitForFunction(() => document.querySelector("#ws-panel [aria-busy]") === null);
  await page.waitForTimeout(1000);
  await look(page, "trace-both");

  const lab = await open(`${base}/lab`, 1280, "light");
  await lab.waitForFunction(() => !/…/.test(document.querySelector("main tbody")?.textContent ?? "…"));
  await look(lab, "workbench-lab", lab.locator("main table").first());
  const changes = await open(`${base}/history/changes?tag=nightly`, 1280, "light");
  await changes.waitForSelector("main tbody tr");
  await look(changes, "workbench-changes", changes.locator("main"));

  // The last one: a boot may take longer than anybody waits.
  const board = await open(`${base}/boards/rig:arm64-1`, 1280, "dark");
  let booted = false;
  if (values.boot) {
    await board.click("button:text-is('Boot')");
    booted = await board.waitForSelector("text=/booting: (init|login) at/", { timeout: BOOT_MS }).then(() => true, () => false);
  }
  await look(board, "workbench-board", undefined, booted);
  console.log(JSON.stringify(outlines));
} finally {
  await browser.close();
}
