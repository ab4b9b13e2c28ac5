// Opens pages of a running workbench one after another, looks at each as a reader would, and prints
// what it saw as JSON, a list.
//
//   node scripts/browse-pages.js http://127.0.0.1:PORT PATH… [--scheme light|dark] [--width N]
//                                [--shots DIRECTORY] [--axe] [--settle MS]
//                                [--shows PATH=TEXT]…
//
// A page with parts that a script makes is looked at MS after they have started, once none is busy
// and it shows the texts that are given for it.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { launch, violations, watch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scheme: { type: "string", default: "light" },
    width: { type: "string", default: "1280" },
    shots: { type: "string" },
    axe: { type: "boolean", default: false },
    settle: { type: "string", default: "0" },
    shows: { type: "string", multiple: true, default: [] },
  },
});
const [origin, ...paths] = positionals;
if (values.shots) mkdirSync(values.shots, { recursive: true });

async function look(page, heard, path) {
  const answer = await page.goto(origin + path, { waitUntil: "load" });
  const gone = (selector) =>
    page.waitForFunction((each) => document.querySelector(each) === null, selector);
  await gone("[data-island]:not([data-started])");
  for (const wanted of values.shows.filter((each) => each.startsWith(`${path}=`))) {
    await page.waitForFunction((text) => document.body.innerText.includes(text), wanted.slice(path.length + 1));
  }
  await page.waitForTimeout(Number(values.settle));
  await gone("[aria-busy]");
  const seen = await page.evaluate(() => ({
    title: document.title,
    text: document.querySelector("main").innerText,
    links: [...document.links].map((link) => link.getAttribute("href")),
    failures: [...document.querySelectorAll(".state-error")].map((note) => note.textContent),
    attacked: document.body.dataset.attacked ?? "",
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }));
  const faults = values.axe ? await violations(page) : [];
  if (values.shots) {
    const name = `${path.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "") || "home"}-${values.scheme}.png`;
    await page.screenshot({ path: join(values.shots, name), fullPage: true });
  }
  const complaints = heard.complaints.splice(0);
  const requests = heard.requests.splice(0);
  return { path, status: answer.status(), ...seen, complaints, requests, violations: faults };
}

const browser = await launch();
try {
  // One after another in the same window: for each a process would be started, and scripts compiled.
  const page = await browser.newPage({
    viewport: { width: Number(values.width), height: 900 },
    colorScheme: values.scheme,
    bypassCSP: false,
  });
  const heard = watch(page, (url) => url.startsWith(`${origin}/`));
  const seen = [];
  for (const path of paths) seen.push(await look(page, heard, path));
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
