// Types on a board's console in its page, has the board say what may do harm, and prints what the
// page made of it as JSON.
//
//   node scripts/terminal.js PAGE [--reader] [--shots DIRECTORY]
//
// PAGE is the page of a board with a shell. With --reader it must be one that may only look: then
// keys are pressed, and nothing else is done.

import { join } from "node:path";
import { parseArgs } from "node:util";

import { launch, violationsInBoth, watch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { reader: { type: "boolean", default: false }, shots: { type: "string" } },
});
const address = positionals[0];
const { origin } = new URL(address);

const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const { complaints, requests } = watch(page, (url) => url.startsWith(`${origin}/`));
  const posted = [];
  const dialogs = [];
  page.on("request", (request) => { if (request.method() === "POST") posted.push(request.postData()); });
  page.on("dialog", (dialog) => { dialogs.push(dialog.message()); void dialog.dismiss(); });
  await page.goto(address);
  const title = await page.title();
  await page.waitForSelector(".xterm-rows");
  const shows = (text) =>
    page.waitForFunction(
      (wanted) => document.querySelector(".xterm-rows").innerText.replaceAll("\u00a0", " ").includes(wanted),
      text,
    );
  const shot = async (name, width = 1280, colorScheme = "light") => {
    if (!values.shots) return;
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(values.shots, `${name}-${width}-${colorScheme}.png`) });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: "light" });
  };
  const seen = { buttons: await page.locator("button:visible").allInnerTexts() };
  if (values.reader) {
    await page.locator(".xterm").click();
    await page.keyboard.type("echo a reader types\n");
    await page.keyboard.press("Tab");
    seen.trapped = await page.evaluate(() => document.activeElement.closest(".console-terminal") !== null);
  } else {
    await page.getByRole("button", { name: "Type on the console" }).click();
    await page.waitForSelector(".typing-keys:visible");
    seen.begin = await page.getByRole("button", { name: "Type on the console" }).isVisible();
    const run = async (command, answer) => {
      await page.keyboard.type(`${command}\n`);
      await shows(answer);
    };
    await run("echo hello-$((6 * 7))", "hello-42");
    // The shell of a stand-in echoes what is typed: what is looked for is only in the output.
    await run(String.raw`printf '\033[?1049h\033[2J\033[5;10Hfull%s\033[31;1m red\033[m' -screen`, "full-screen");
    const row = await page.locator(".xterm-rows > div").nth(4).textContent();
    seen.fullScreen = row.replaceAll("\u00a0", " ");
    seen.red = await page.locator(".xterm-rows span", { hasText: /^\s*red$/ }).last().evaluate((span) => getComputedStyle(span).color);
    await shot("full-screen");
    await run(String.raw`printf '\033[?1049l'; echo back-$((1 + 1))`, "back-2");
    const link = "javascript:document.body.dataset.attacked=1";
    await run(
      String.raw`printf '\033]2;evil\007\033]52;c;ZXZpbA==\007\033]52;c;?\007\033[21t\033]8;;${link}\007link\033]8;;\007<img src=x onerror=document.body.dataset.attacked=1>'; echo said-$((2 + 1))`,
      "said-3",
    );
    const place = page.locator(".xterm-rows span", { hasText: /^link$/ }).last();
    if (await place.count()) await place.click({ force: true });
    await run("yes 0123456789 | head -c 600000; echo over-$((4 + 1))", "over-5");
    seen.violations = await violationsInBoth(page);
    for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
      await shot("typing", width, scheme);
    }
    await page.setViewportSize({ width: 390, height: 900 });
    seen.overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    await page.locator(".xterm-helper-textarea").focus();
    await page.keyboard.press("Control+]");
    await page.waitForSelector(".typing-keys", { state: "hidden" });
    seen.focus = await page.evaluate(() => document.activeElement.textContent);
  }
  console.log(JSON.stringify({
    ...seen,
    complaints,
    requests,
    dialogs,
    posted: posted.length,
    titleKept: (await page.title()) === title,
    attacked: await page.evaluate(() => document.body.dataset.attacked ?? ""),
    pages: page.context().pages().length,
  }));
} finally {
  await browser.close();
}
