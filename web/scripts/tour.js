// Goes through the traces of a running workbench as a reader would, and prints what it saw as JSON.
//
//   node scripts/tour.js BASE [--shots DIRECTORY] [--scheme light|dark]
//
// BASE has two traces, `before` and `after`, as tests/story_traces.py makes them. From the list of
// traces to the slow handler, to both time lines; then each view of the workspace, each link from a
// view to the time line, and the way back.

import { parseArgs } from "node:util";

import { launch, violationsInBoth, watch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { shots: { type: "string" }, scheme: { type: "string", default: "light" } },
});
const base = positionals[0];

const browser = await launch();
try {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 960 },
    colorScheme: values.scheme,
  });
  const { complaints, requests } = watch(page, (url) => url.startsWith(base));
  const faults = {};
  // With `part`, the picture is of what that selects only.
  const look = async (name, part = "") => {
    faults[name] = await violationsInBoth(page);
    const path = `${values.shots}/${name}-${values.scheme}.png`;
    if (values.shots) await (part ? page.locator(part) : page).screenshot({ path });
  };
  const words = () => Object.fromEntries(new URL(page.url()).searchParams);
  const settled = async () => {
    await page.waitForFunction(() => {
      const panel = document.querySelector("#ws-panel");
      return panel !== null && panel.childElementCount > 0 && !panel.querySelector("[aria-busy]");
    });
  };
  const view = async (name) => {
    await page.click(`#ws-tab-${name}`);
    await settled();
  };
  // What a link did: the words of the address that changed.
  const after = async (act, ...wanted) => {
    const before = words();
    await act();
    await page.waitForFunction(
      ([old, names]) => {
        const now = new URLSearchParams(location.search);
        return names.every((name) => (now.get(name) ?? "") !== (old[name] ?? ""));
      },
      [before, wanted],
    );
    return words();
  };

  // -- from the list to the slow handler, in three clicks ------------------------------------------
  await page.goto(`${base}/traces`, { waitUntil: "load" });
  await page.check('input[aria-label="Compare before"]');
  await page.check('input[aria-label="Compare after"]');
  await look("list", "main form[action='/traces/compare']");
  await page.click("text=Compare the two that are ticked");
  await page.waitForSelector(".compared");
  const top = await page.locator(".compared tbody tr").first().innerText();
  await look("compare");
  await page.locator(".compared tbody tr a").first().click();
  await page.waitForSelector('[data-figure="of-execution"] svg.chart');
  await look("handler");
  await page.click("text=See both at work");
  await page.waitForSelector("#ws-panel");
  await settled();
  const lines = await page.locator(".ws-trace canvas").count();
  const both = words();
  await page.waitForTimeout(700);
  await look("both");

  // -- each view of one trace ----------------------------------------------------------------------
  await page.goto(`${base}/traces`, { waitUntil: "load" });
  await page.click("tbody a >> text=after");
  await page.waitForSelector("#ws-panel");
  await settled();
  const links = {};

  await view("statistics");
  links.sorted = await after(() => page.click("text=Execution"), "statistics-sort");
  await settled();
  const slowest = await page.locator("table.statistics tbody th").first().innerText();
  links.worst = await after(
    () => page.locator("table.statistics tbody tr").first().locator("td button").click(),
    "at",
    "view",
    "actor",
  );
  const chosen = await page.locator("table.statistics tr.picked th").innerText();
  await look("statistics");

  await view("instances");
  links.instance = await after(async () => {
    await page.focus(".view-stage");
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
  }, "at");
  await page.keyboard.press("ArrowLeft");
  await look("instances");
  links.point = await after(async () => {
    const mark = await page.locator(".point-mark").boundingBox();
    await page.mouse.click(mark.x + mark.width / 2, mark.y + mark.height / 2);
  }, "at");
  links.range = await after(async () => {
    const stage = await page.locator(".view-stage").boundingBox();
    await page.mouse.move(stage.x + stage.width * 0.4, stage.y + 150);
    await page.mouse.down();
    await page.mouse.move(stage.x + stage.width * 0.6, stage.y + 150, { steps: 4 });
    await page.mouse.up();
  }, "range");

  // The range filters all views: each asks with its begin.
  const begin = links.range.range.split(",")[0];
  const filtered = {};
  page.on("request", (request) => {
    const url = new URL(request.url());
    const name = url.pathname.split("/").pop();
    if (url.pathname.startsWith("/api/") && url.searchParams.get("begin") === begin) {
      filtered[name] = true;
    }
  });
  for (const [name, bin] of [["load", 20], ["switches", 30]]) {
    await view(name);
    await look(name);
    links[name] = await after(async () => {
      await page.focus(".view-stage");
      await page.keyboard.press("Home");
      for (let press = 0; press < bin; press += 1) await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
    }, "at");
  }

  await view("statistics");
  await view("latency");
  await page.getByLabel("From", { exact: true }).fill("irq:sensor");
  await page.getByLabel("To", { exact: true }).fill("task:irq/43-sensor");
  await page.click("text=Measure");
  await page.waitForSelector("text=The longest");
  links.latency = await after(() => page.locator("#ws-panel tbody td button").first().click(), "at");
  await look("latency");

  await view("log");
  await page.getByLabel("Events", { exact: true }).fill("printk_console");
  await page.keyboard.press("Enter");
  await page.waitForSelector("td:has-text('sensor: status')");
  await settled();
  links.log = await after(() => page.locator("table.events tbody button").last().click(), "at");
  await look("log");

  await view("search");
  await page.getByLabel("Find").fill("sensor");
  await page.keyboard.press("Enter");
  await page.waitForSelector("text=2 actors");
  links.search = await after(() => page.locator(".view-hits button").last().click(), "at");
  await look("search");

  await view("sql");
  await page.click("text=The longest instances");
  await page.waitForSelector("text=20 rows");
  links.sql = await after(() => page.locator("#ws-panel tbody button").nth(7).click(), "at");
  await page.click("summary >> text=Tables");
  await page.waitForSelector("dt:has-text('selection')");
  await look("sql");

  // -- keyboard, and the way back ------------------------------------------------------------------
  await page.focus("#ws-tab-sql");
  await page.keyboard.press("ArrowRight");
  await settled();
  const turned = words().tab;
  await page.goBack();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("tab") === "sql");
  await settled();
  const back = await page.locator("#ws-panel textarea").count();
  const reloaded = words();
  await page.emulateMedia({ colorScheme: "dark" }); // a page that begins so
  await page.reload({ waitUntil: "load" });
  await page.waitForSelector("text=20 rows");

  console.log(
    JSON.stringify({
      top,
      lines,
      both,
      slowest,
      chosen,
      links,
      filtered: Object.keys(filtered).sort(),
      turned,
      back,
      same: JSON.stringify(reloaded) === JSON.stringify(words()),
      complaints,
      requests,
      violations: faults,
    }),
  );
} finally {
  await browser.close();
}
