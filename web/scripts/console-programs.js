// Uses full-screen programs on a board's console in its page as a person does, and prints what the
// screen showed as JSON: a menu of U-Boot, then `vi` and `top` of the booted system.
//
//   node scripts/console-programs.js PAGE [--shots DIRECTORY]
//
// PAGE is the page of a board that U-Boot of 2024 or newer boots, held at its prompt by a fault of
// the virtual bench.

import { join } from "node:path";
import { parseArgs } from "node:util";

import { launch, PATIENCE_MS, watch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { shots: { type: "string" } },
});
const address = positionals[0];
const { origin } = new URL(address);
// U-Boot takes an Esc for the key that quits a menu if nothing follows within 10 ms. On a busy
// machine QEMU gives the bytes of an arrow key to the board with longer gaps, and the arrow after
// that one fetches the command line from the history: then the menu is opened once more.
const MENU = [
  ["", "Add Boot Option"],
  ["ArrowDown", "Edit Boot Option"],
  ["ArrowDown", "Change Boot Order"],
  ["ArrowUp", "Edit Boot Option"],
];

const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const { complaints } = watch(page, (url) => url.startsWith(`${origin}/`));
  await page.goto(address);
  const screen = () =>
    page.evaluate(() =>
      [...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent.replaceAll("\u00a0", " ").trimEnd()),
    );
  const shows = async (what, timeout = PATIENCE_MS) => {
    try {
      await page.waitForFunction(
        ([source, flags]) => {
          const rows = [...document.querySelectorAll(".xterm-rows > div")];
          const text = rows.map((row) => row.textContent.replaceAll("\u00a0", " ").trimEnd()).join("\n");
          return new RegExp(source, flags).test(text.trimEnd());
        },
        [what.source, what.flags],
        { timeout },
      );
    } catch {
      throw new Error(`no ${what} on the screen:\n${(await screen()).join("\n")}`);
    }
    return screen();
  };
  const shot = async (name) => {
    if (values.shots) await page.screenshot({ path: join(values.shots, `${name}.png`) });
  };
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const enter = (text) => page.keyboard.type(`${text}\n`);
  /** The row of the menu that is drawn in reverse. */
  const chosen = () =>
    page.evaluate(() =>
      [...document.querySelectorAll(".xterm-rows span")]
        .filter((span) => /xterm-bg-|inverse/.test(span.className))
        .map((span) => span.textContent.replaceAll("\u00a0", " ").trim())
        .filter((text) => text.length > 1)
        .join(" "),
    );
  const hasQuit = async () => (await screen()).join("\n").trimEnd().endsWith("=>");
  const chooses = async (name) => {
    for (let tries = 0; tries < 600 && (await chosen()) !== name && !(await hasQuit()); tries += 1) await page.waitForTimeout(50);
    return chosen();
  };

  /** The entries that keys choose in U-Boot's menu, one after the other, until one is not. */
  const throughMenu = async () => {
    await enter("eficonfig");
    await shows(/UEFI Maintenance Menu[^]*Quit/, 60_000).catch(() => "");
    const entries = [];
    for (const [key, name] of MENU) {
      if (key) await press(key);
      entries.push(await chooses(name));
      if (entries.at(-1) !== name) break;
    }
    return entries;
  };

  const seen = {};
  await page.getByRole("button", { name: "Type on the console" }).click();
  await page.waitForSelector(".typing-keys:visible");
  await page.locator(".typing-keys").getByRole("button", { name: "Power cycle" }).click();
  await shows(/Hit any key[^]*=>$/);
  // What is typed while U-Boot still takes keys for a wish to stop is gone.
  await enter("echo ready-$board");
  await shows(/^ready-\S+\n=>$/m, 20_000).catch(() => enter("echo ready-$board"));
  await shows(/^ready-\S+\n=>$/m);
  seen.menu = await throughMenu();
  for (seen.again = 0; seen.again < 20 && seen.menu.at(-1) !== MENU.at(-1)[1]; seen.again += 1) {
    await press("Control+c");
    await shows(/=>$/);
    seen.menu = await throughMenu();
  }
  await shot("u-boot-menu");
  await press("Escape");
  await shows(/^=>$/);
  await enter("echo left-$board");
  seen.left = await shows(/^left-\S+\n=>$/m);

  await enter("boot");
  await shows(/ login:$/);
  await enter("root");
  await shows(/# *$/);
  await enter("vi /tmp/file");
  await shows(/^~[^]*\/tmp\/file/m);
  // The emulated UART takes 16 bytes at once: what is typed faster than it is shown may be lost.
  await page.keyboard.type("ione\ntwo");
  await shows(/^one\ntwo\n~/);
  await press("Escape");
  await shows(/^- \/tmp\/file/m);
  await press("ArrowUp");
  await shows(/^- \/tmp\/file .* 1\/2/m);
  await page.keyboard.type("Ozero");
  await shows(/^zero\none\ntwo\n~/);
  await press("Escape");
  seen.vi = await shows(/^- \/tmp\/file .* 1\/3/m);
  await shot("vi");
  await enter(":wq");
  await shows(/# *$/);
  await enter("cat /tmp/file");
  seen.written = await shows(/^zero\none\ntwo\n\S+# *$/m);
  await enter("top -d 1");
  seen.top = await shows(/^Mem:[^]*Load average[^]* PID /);
  await shot("top");
  await page.setViewportSize({ width: 390, height: 900 });
  await shows(/^Mem:[^]*Load average[^]* PID /);
  seen.overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await shot("top-narrow");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.keyboard.type("q");
  seen.shell = await shows(/# *$/);
  await press("Control+]");
  await page.waitForSelector(".typing-keys", { state: "hidden" });
  console.log(JSON.stringify({ ...seen, complaints }));
} finally {
  await browser.close();
}
