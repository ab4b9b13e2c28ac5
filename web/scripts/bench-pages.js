// Looks at the pages of diagnoses, health and captures of a running workbench as a reader would, and
// prints what it saw as JSON.
//
//   node scripts/bench-pages.js BASE GOING-ON [--shots DIRECTORY] [--scheme light|dark] [--width N]
//
// BASE has what tests/test_web_bench_pages.py puts there; GOING-ON is the name of a diagnosis that
// somebody is telling. It goes on when this has written the line `watching`, and comes to its end
// after the line `watched`.

import { parseArgs } from "node:util";

import { comesToRest, launch, violations, watch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    shots: { type: "string" },
    scheme: { type: "string", default: "light" },
    width: { type: "string", default: "1280" },
  },
});
const [base, goingOn] = positionals;

const browser = await launch();
try {
  const page = await browser.newPage({
    viewport: { width: Number(values.width), height: 900 },
    colorScheme: values.scheme,
  });
  const { complaints, requests } = watch(page, (url) => url.startsWith(base));
  const pages = {};
  const look = async (name) => {
    await page.waitForFunction(() =>
      [...document.querySelectorAll("[data-figure]")].every((slot) => slot.querySelector("svg.chart")));
    pages[name] = {
      charts: await page.locator("svg.chart").count(),
      attacked: await page.evaluate(() => document.body.dataset.attacked ?? ""),
      overflow: await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      ),
      violations: await violations(page),
    };
    if (values.shots) {
      const path = `${values.shots}/${name}-${values.scheme}.png`;
      await page.screenshot({ path, fullPage: true });
    }
  };
  const open = (path) => page.goto(`${base}${path}`, { waitUntil: "load" });
  const address = () => new URL(page.url());

  // -- a diagnosis that goes on, to its end --------------------------------------------------------
  await open("/diagnoses");
  await look("diagnoses");
  await page.click(`a[href="/diagnoses/${goingOn}"]`);
  await page.waitForSelector("#evidence details");
  const trials = () => page.locator(".tiles div", { hasText: "trials" }).locator("dd").innerText();
  const early = Number(await trials());
  await page.click("#evidence summary");
  console.log("watching");
  await page.waitForFunction(
    (before) => [...document.querySelectorAll(".tiles div")].some((tile) =>
      tile.textContent.includes("trials") && Number(tile.querySelector("dd").textContent) > before),
    early,
  );
  const stayedOpen = await page.locator("#evidence details").evaluate((details) => details.open);
  // Told faster than it is looked at: what is shown must not change under the eyes of axe.
  await page.waitForTimeout(2500);
  await look("live");
  console.log("watched");
  await page.waitForURL(/\/diagnoses\/[0-9a-f]{12}$/);
  await page.waitForSelector("#cause-1");
  await look("diagnosis");

  // -- health --------------------------------------------------------------------------------------
  await open("/health");
  await look("health");
  await page.click("text=ssh://played");
  await look("board");
  await page.click("text=By day");
  await page.waitForURL(/by=day/);
  await look("board-by-day");

  // -- response times ------------------------------------------------------------------------------
  await open("/captures");
  await look("captures");
  await page.click("text=Side by side");
  await page.waitForSelector('[data-figure="responses"] svg.chart');
  await look("responses");

  // -- a capture, by keys alone --------------------------------------------------------------------
  await open("/captures");
  await page.click("text=shots.sr");
  await page.waitForSelector(".tl-stage");
  await page.fill('input[name="from"]', "IN:rising");
  await page.fill('input[name="to"]', "OUT:rising");
  await page.fill('input[name="window"]', "0.0005");
  await page.press('input[name="window"]', "Enter");
  await page.waitForSelector('[data-figure="responses"] svg.chart');
  await page.waitForSelector(".island-capture[data-started] canvas");
  const stage = page.locator(".island-capture .tl-stage");
  await stage.focus();
  for (const key of ["w", "w", "w", "ArrowDown", "ArrowDown", ".", ".", "Enter", "s"]) await page.keyboard.press(key);
  await page.waitForFunction(() => new URLSearchParams(location.search).has("view"));
  await comesToRest(page);
  const details = await page.locator(".ws-details").innerText();
  const painted = await page.evaluate(() => {
    const [canvas] = [...document.querySelectorAll(".island-capture canvas")]
      .sort((a, b) => b.width * b.height - a.width * a.height);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  await look("capture");
  const words = Object.fromEntries(address().searchParams);
  // Turned by a key, and back by the browser's button.
  const turned = [];
  const direction = () => page.locator(".island-capture .tl").getAttribute("data-orientation");
  for (const turn of [() => page.keyboard.press("v"), () => page.goBack()]) {
    const before = await direction();
    await stage.focus();
    await turn();
    await page.waitForFunction(
      (old) => document.querySelector(".island-capture .tl").dataset.orientation !== old, before);
    turned.push([address().searchParams.get("time"), await direction()]);
  }

  console.log(JSON.stringify({
    pages, complaints, requests, early, stayedOpen, details, painted, words, turned,
  }));
} finally {
  await browser.close();
}
