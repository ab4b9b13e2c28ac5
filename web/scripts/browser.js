// What the scripts that look at pages share: the browser, what a page complains of, accessibility.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { chromium } from "playwright-core";

/** After which something is given up that comes at once where nothing else runs. */
export const PATIENCE_MS = 180_000;

let shared = null;

/** Debian's chromium or what BENCHVISE_CHROMIUM names; none is downloaded. */
const start = () =>
  chromium.launch({
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

/** Has all that launch one from here on use the same; returns what ends it. */
export async function share() {
  shared = await start();
  return () => shared.close();
}

/** A part of the shared browser that shares nothing with those before. */
function session() {
  const contexts = [];
  return {
    async newPage(options) {
      const context = await shared.newContext(options);
      contexts.push(context);
      return context.newPage();
    },
    close: () => Promise.all(contexts.map((context) => context.close())),
  };
}

/**
 * A browser whose pages are logged in at the workbench whose address, with its token,
 * BENCHVISE_LOGIN has.
 */
export async function launch() {
  const browser = shared ? session() : await start();
  const login = process.env.BENCHVISE_LOGIN;
  const newPage = browser.newPage.bind(browser);
  browser.newPage = async (options) => {
    const page = await newPage(options);
    page.setDefaultTimeout(PATIENCE_MS);
    if (login) await page.request.get(login, { maxRedirects: 0 });
    return page;
  };
  return browser;
}

/** Waits for what a page does a little later: by its own clock, which stands still where it has no CPU. */
export const comesToRest = (page) => page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 600); }));

/** Collects errors and warnings of the console, and what was asked for that `own` does not know. */
export function watch(page, own) {
  const seen = { complaints: [], requests: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) seen.complaints.push(message.text());
  });
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (!own(url) && !url.startsWith("data:")) seen.requests.push(url);
  });
  return seen;
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds wrong with the page as it is now; by its usual rules, or by these. */
export async function violations(page, rules = []) {
  // Evaluated by the debugger, which the page's policy does not bind.
  await page.evaluate(axe);
  // A chart is one picture to assistive technology; thousands of dots inside would be looked at
  // for nothing.
  // It would ask for the style sheet again, which the policy of a page may refuse.
  const options = { preload: false, resultTypes: ["violations"], ...(rules.length ? { runOnly: rules } : {}) };
  const result = await page.evaluate(
    `axe.run({ exclude: ['svg.chart > *'] }, ${JSON.stringify(options)})`,
  );
  return result.violations.map(({ id, impact, nodes }) => ({
    id,
    impact,
    where: nodes.map(({ target }) => target.join(" ")).slice(0, 5),
  }));
}

const COLOURS = ["color-contrast", "link-in-text-block"];

/** The same in both colour schemes: in the other one, by the rules about colours. */
export async function violationsInBoth(page) {
  const isDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  const [ours, other] = isDark ? ["dark", "light"] : ["light", "dark"];
  const found = await violations(page);
  await page.emulateMedia({ colorScheme: other });
  found.push(...(await violations(page, COLOURS)));
  await page.emulateMedia({ colorScheme: ours });
  return found;
}
