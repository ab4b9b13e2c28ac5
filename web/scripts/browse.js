// Opens a page in a real browser, looks at it as a reader would, and prints what it saw as JSON.
//
//   node scripts/browse.js PAGE.html [--scheme light|dark] [--width N] [--shot FILE] [--pdf FILE]
//                          [--axe]
//
// The browser is Debian's chromium or what BENCHVISE_CHROMIUM names; none is downloaded.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scheme: { type: "string", default: "light" },
    width: { type: "string", default: "1280" },
    shot: { type: "string" },
    pdf: { type: "string" },
    axe: { type: "boolean", default: false },
  },
});
const address = pathToFileURL(positionals[0]).href;

const browser = await chromium.launch({
  executablePath: process.env.BENCHVISE_CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  const page = await browser.newPage({
    viewport: { width: Number(values.width), height: 900 },
    colorScheme: values.scheme,
    // The page's own content policy must hold while it is looked at.
    bypassCSP: false,
  });
  const complaints = [];
  const requests = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== address && !request.url().startsWith("data:")) {
      requests.push(request.url());
    }
  });
  await page.goto(address, { waitUntil: "load" });
  const seen = await page.evaluate(() => {
    const slots = [...document.querySelectorAll("[data-figure]")];
    const style = getComputedStyle(document.body);
    return {
      slots: slots.length,
      empty: slots.filter((slot) => !slot.querySelector("svg.chart")).map((s) => s.dataset.figure),
      charts: document.querySelectorAll("svg.chart").length,
      dialogs: document.body.dataset.attacked ?? "",
      scripts: document.scripts.length,
      images: document.images.length,
      background: style.backgroundColor,
      colour: style.color,
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      text: document.querySelector("main").innerText,
    };
  });
  let violations = [];
  if (values.axe) {
    // Evaluated by the debugger, which the page's policy does not bind.
    await page.evaluate(
      readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"),
    );
    // A chart is one picture to assistive technology; thousands of dots inside would be looked at
    // for nothing.
    const result = await page.evaluate(
      "axe.run({ exclude: ['svg.chart > *'] }, { resultTypes: ['violations'] })",
    );
    violations = result.violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      where: nodes.map(({ target }) => target.join(" ")).slice(0, 5),
    }));
  }
  if (values.shot) await page.screenshot({ path: values.shot, fullPage: true });
  if (values.pdf) await page.pdf({ path: values.pdf, format: "A4", printBackground: true });
  console.log(JSON.stringify({ ...seen, complaints, requests, violations }));
} finally {
  await browser.close();
}
