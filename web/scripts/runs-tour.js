// Looks at the pages about runs as a reader would: each in a browser, for what is empty, too wide,
// or complained of; and goes from the list of runs to a series by the keyboard alone.
//
//   node scripts/runs-tour.js http://127.0.0.1:PORT SCHEME WIDTH PATH...

import { launch, violations, watch } from "./browser.js";

const [origin, scheme, width, ...paths] = process.argv.slice(2);
const browser = await launch();
try {
  const viewport = { width: Number(width), height: 900 };
  const page = await browser.newPage({ viewport, colorScheme: scheme });
  const { complaints, requests } = watch(page, (url) => url.startsWith(origin));
  const seen = [];
  for (const path of paths) {
    await page.goto(origin + path, { waitUntil: "networkidle" });
    const found = await page.evaluate(() => ({
      slots: document.querySelectorAll("[data-figure]").length,
      empty: [...document.querySelectorAll("[data-figure]")]
        .filter((slot) => !slot.querySelector("svg.chart"))
        .map((slot) => slot.dataset.figure),
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      attacked: document.querySelectorAll("main img").length,
    }));
    seen.push({ path, ...found, violations: await violations(page) });
  }
  console.log(JSON.stringify({ seen, keys: await byKeys(page), complaints, requests }));
} finally {
  await browser.close();
}

/** From the list of runs to a series of two of them and back, without a pointer. */
async function byKeys(page) {
  await page.goto(`${origin}/runs?suite=standard`, { waitUntil: "networkidle" });
  for (const box of (await page.locator(".choice input").all()).slice(-2)) {
    await box.focus();
    await page.keyboard.press("Space");
  }
  await press(page, page.getByRole("button", { name: "Compare the chosen" }));
  const compared = new URL(page.url());
  await press(page, page.locator("table.matrix th a").first());
  const series = new URL(page.url()).searchParams.get("series");
  await page.goBack({ waitUntil: "networkidle" });
  return {
    runs: compared.searchParams.getAll("run").length,
    view: compared.pathname,
    series,
    back: page.url() === compared.href,
  };
}

async function press(page, target) {
  await target.focus();
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
}
