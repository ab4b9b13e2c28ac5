// Opens a page in a real browser, looks at it as a reader would, and prints what it saw as JSON.
//
//   node scripts/browse.js PAGE.html [--scheme light|dark] [--width N] [--shot FILE] [--pdf FILE]
//                          [--axe | --axe-in-both]
//
// With --axe-in-both, colours are judged in the other scheme too.

import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";

import { launch, violations, violationsInBoth, watch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scheme: { type: "string", default: "light" },
    width: { type: "string", default: "1280" },
    shot: { type: "string" },
    pdf: { type: "string" },
    axe: { type: "boolean", default: false },
    "axe-in-both": { type: "boolean", default: false },
  },
});
const address = pathToFileURL(positionals[0]).href;

const browser = await launch();
try {
  const page = await browser.newPage({
    viewport: { width: Number(values.width), height: 900 },
    colorScheme: values.scheme,
    // The page's own content policy must hold while it is looked at.
    bypassCSP: false,
  });
  const { complaints, requests } = watch(page, (url) => url === address);
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
  const judge = values["axe-in-both"] ? violationsInBoth : values.axe ? violations : () => [];
  const faults = await judge(page);
  if (values.shot) await page.screenshot({ path: values.shot, fullPage: true });
  if (values.pdf) await page.pdf({ path: values.pdf, format: "A4", printBackground: true });
  console.log(JSON.stringify({ ...seen, complaints, requests, violations: faults }));
} finally {
  await browser.close();
}
