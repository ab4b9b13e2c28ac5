// Uses the time lines of a running workbench as a reader would, with the mouse and with keys alone,
// and prints what came of it as JSON.
//
//   node scripts/lines.js BASE [--shots DIRECTORY] [--scheme light|dark]
//
// BASE has two traces, `before` and `after`, as tests/story_traces.py makes them.

import { parseArgs } from "node:util";

import { comesToRest, launch, violationsInBoth, watch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { shots: { type: "string" }, scheme: { type: "string", default: "light" } },
});
const base = positionals[0];
const COMPLETE = '.tl[data-state="complete"]';

/** The pixels of a part of a canvas: of a copy, as browsers complain of one that is read twice. */
const pixels = (canvas, x, y, width, height) => {
  const copy = Object.assign(document.createElement("canvas"), { width, height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, x, y, width, height, 0, 0, width, height);
  return context.getImageData(0, 0, width, height).data;
};

/** What `measure` says of the page as it is printed from each scheme: before it is a screen again. */
const printed = async (page, measure) => {
  const seen = [];
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)));
    await page.evaluate(`addEventListener("afterprint", () => { globalThis.onPaper = (${measure})(${pixels}); }, { once: true })`);
    await page.pdf();
    seen.push(await page.evaluate(() => globalThis.onPaper));
  }
  return seen;
};

const browser = await launch();
try {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 900 },
    colorScheme: values.scheme,
  });
  const { complaints, requests } = watch(page, (url) => url.startsWith(base));
  const faults = {};
  const look = async (name) => {
    await page.waitForSelector(COMPLETE);
    // What a view is about to replace is faint on purpose.
    await page.waitForSelector("#ws-panel:not(:has([aria-busy])) > *");
    faults[name] = await violationsInBoth(page);
    if (values.shots) {
      await page.screenshot({ path: `${values.shots}/${name}-${values.scheme}.png` });
    }
  };
  const words = () => Object.fromEntries(new URL(page.url()).searchParams);
  // The address follows a little later than the picture: where one looks is no step of history. On
  // a busy machine it follows parts of a movement, so it has to have come to rest.
  const until = async (name, old) => {
    await page.waitForFunction(
      ([word, before]) => {
        const now = new URLSearchParams(location.search).get(word) ?? "";
        const last = globalThis.lastSeen;
        if (last?.word !== word || last.now !== now) {
          globalThis.lastSeen = { word, now, since: performance.now() };
          return false;
        }
        return now !== before && performance.now() - last.since > 500;
      },
      [name, old ?? ""],
    );
    return words()[name] ?? "";
  };
  const length = (span) => {
    const [begin, end] = span.split(",").map(Number);
    return end - begin;
  };
  const details = () => page.locator(".ws-details").innerText();

  // -- with the mouse ------------------------------------------------------------------------------
  await page.goto(`${base}/traces`, { waitUntil: "load" });
  await page.click("tbody a >> text=after");
  await look("whole");
  const overall = await details();
  const stage = await page.locator(".tl-stage").boundingBox();
  const [x, y] = [stage.x + stage.width * 0.5, stage.y + 40];
  await page.mouse.move(x, y);
  await page.keyboard.down("Control");
  for (let turn = 0; turn < 6; turn += 1) await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
  const zoomed = await until("view");
  await page.mouse.down();
  await page.mouse.move(x - 200, y, { steps: 5 });
  await page.mouse.up();
  const panned = await until("view", zoomed);
  await page.waitForSelector(COMPLETE);
  await page.mouse.click(x - 100, y);
  const at = await until("at");
  await page.waitForSelector(".ws-details dl");
  const axis = await page.locator(".tl-axis").boundingBox();
  await page.mouse.move(axis.x + 100, axis.y + 10);
  await page.mouse.down();
  await page.mouse.move(axis.x + 300, axis.y + 10, { steps: 4 });
  await page.mouse.up();
  const range = await until("range");
  await look("range");
  await page.goBack();
  const withoutRange = words();
  await page.goBack();
  const withoutPlace = words();

  // -- with keys alone -----------------------------------------------------------------------------
  await page.goto(`${base}${new URL(page.url()).pathname}`, { waitUntil: "load" });
  await page.waitForSelector(COMPLETE);
  await page.fill('input[type="search"]', "sensor");
  await until("show");
  // Up to here from the field, by Tab alone, in how many steps.
  let steps = 0;
  const arrived = () => page.evaluate(() => document.activeElement?.className === "tl-stage");
  while (!(await arrived()) && steps < 40) {
    await page.keyboard.press("Tab");
    steps += 1;
  }
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press(".");
  await page.waitForSelector(".ws-details h3");
  const byKeys = await details();
  const said = await page.locator(".tl [role=status]").innerText();
  const wide = words().view;
  await page.keyboard.press("Enter");
  const close = await until("view", wide);
  await page.keyboard.press("m");
  const marked = await until("range");
  await page.keyboard.press("e");
  await page.keyboard.press("e");
  await look("close");
  await page.keyboard.press("v");
  await until("time");
  await look("down");
  const kept = words();
  // How light the least light of a stage's corners is, on paper: 255 is white.
  const paper = await printed(page, (pixels) => {
    const canvas = document.querySelector(".tl-stage canvas");
    const data = pixels(canvas, canvas.width - 2, canvas.height - 2, 1, 1);
    return Math.min(data[0], data[1], data[2]);
  });
  await page.reload({ waitUntil: "load" });
  await page.waitForSelector('.tl[data-orientation="vertical"][data-state="complete"]');
  const again = words();
  // How light the labels of the chart of instances are, on paper: 0 is black.
  await page.goto(`${base}${new URL(page.url()).pathname}?tab=instances`, { waitUntil: "load" });
  await look("instances");
  const paperInk = await printed(page, (pixels) => {
    const canvas = document.querySelector(".view-stage.instances canvas");
    const data = pixels(canvas, 0, 0, 60, canvas.height);
    const solid = [...data.keys()].filter((at) => at % 4 === 0 && data[at + 3] > 200);
    return solid.reduce((sum, at) => sum + data[at], 0) / solid.length;
  });

  // -- two traces, on pages that begin dark --------------------------------------------------------
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${base}/traces`, { waitUntil: "load" });
  await page.click("tbody a >> text=before");
  await page.click("text=Show both");
  await page.waitForSelector(".ws-trace:nth-child(2) .tl");
  await look("two");
  const lines = await page.locator(".tl-stage").all();
  await lines[0].hover();
  await page.keyboard.down("Control");
  for (let turn = 0; turn < 8; turn += 1) await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
  await until("view2");
  await comesToRest(page);
  const together = words();
  await page.click("text=apart");
  await lines[1].hover();
  await page.mouse.wheel(200, 0);
  await until("view2", together.view2);
  const apart = words();

  console.log(
    JSON.stringify({
      overall,
      zoomed: length(zoomed),
      panned: length(panned),
      moved: zoomed !== panned,
      at,
      range: length(range),
      back: [withoutRange.range ?? null, withoutRange.at ?? null, withoutPlace.at ?? null],
      steps,
      byKeys,
      said,
      close: length(close),
      marked: length(marked),
      paper,
      paperInk,
      same: JSON.stringify(kept) === JSON.stringify(again),
      together: together.view === together.view2,
      apart: apart.view === together.view && apart.view2 !== apart.view,
      complaints,
      requests,
      violations: faults,
    }),
  );
} finally {
  await browser.close();
}
