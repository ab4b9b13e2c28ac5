// Moves about in the time line of a trace for ten seconds, as a hand with a mouse does, and prints
// how long each frame took, as JSON.
//
//   node scripts/panzoom.js ADDRESS [--seconds N] [--shot FILE]
//
// The input is the browser's own: pointer and wheel events that pass through its input queue. A
// frame is the time from one animation frame to the next. The trace is come to from the list of
// traces, as by a click there; its picture is there with the frame behind the one in which all of it
// was drawn.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { launch, watch } from "./browser.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: "string", default: "10" }, shot: { type: "string" } },
});
const seconds = Number(values.seconds);
const VIEWPORT = { width: 1920, height: 1080 };
const COMPLETE = '.tl[data-state="complete"]';

const browser = await launch();
try {
  const page = await browser.newPage({ viewport: VIEWPORT });
  const { complaints } = watch(page, () => true);
  await page.addInitScript(noteFirstPicture, COMPLETE);
  await page.goto(new URL("/traces", positionals[0]).href, { waitUntil: "networkidle" });
  await page.goto(positionals[0], { waitUntil: "commit" });
  await page.waitForFunction(() => globalThis.picture_);
  const first = await page.evaluate(() => {
    const asked = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/"));
    const info = asked.find(({ name }) => new URL(name).pathname.endsWith("/info"));
    const [since] = info.serverTiming;
    return {
      page: globalThis.picture_,
      question: globalThis.picture_ - Math.min(...asked.map(({ startTime }) => startTime)),
      decoded: globalThis.picture_ - (info.responseStart - since.duration),
    };
  });
  const pictureCpu = await cpuSeconds(browser);
  const box = await page.locator(".tl-stage").first().boundingBox();
  const memory = await page.context().newCDPSession(page);
  await memory.send("Performance.enable");
  await page.evaluate(() => {
    globalThis.frames_ = [];
    const note = (time) => {
      globalThis.frames_.push(time);
      requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  });
  let heap = 0;
  const sampling = setInterval(async () => {
    heap = Math.max(heap, await heapOf(memory));
  }, 250);
  const beforeCpu = await cpuSeconds(browser);
  await move(page, box);
  const moveCpu = (await cpuSeconds(browser)) - beforeCpu;
  clearInterval(sampling);
  heap = Math.max(heap, await heapOf(memory));
  const times = await page.evaluate(() => globalThis.frames_);
  await page.waitForSelector(COMPLETE);
  if (values.shot) await page.screenshot({ path: values.shot });
  const frames = times.slice(1).map((time, at) => time - times[at]).sort((a, b) => a - b);
  const share = (part) => frames[Math.min(frames.length - 1, Math.floor(frames.length * part))];
  console.log(
    JSON.stringify({
      page_ms: first.page,
      question_ms: first.question,
      decoded_ms: first.decoded,
      frames: frames.length,
      median_ms: share(0.5),
      p95_ms: share(0.95),
      p99_ms: share(0.99),
      longest_ms: frames[frames.length - 1],
      picture_cpu_s: pictureCpu,
      move_cpu_s: moveCpu,
      frame_cpu_ms: (moveCpu / frames.length) * 1000,
      heap_bytes: heap,
      renderer_bytes: await rendererMemory(browser),
      complaints,
    }),
  );
} finally {
  await browser.close();
}

/** In the page: notes when all of the time line has been painted. */
function noteFirstPicture(complete) {
  const observer = new globalThis.MutationObserver(() => {
    if (document.querySelector(complete) === null) return;
    observer.disconnect();
    requestAnimationFrame(() => {
      requestAnimationFrame((now) => {
        globalThis.picture_ = now;
      });
    });
  });
  const attributeFilter = ["data-state"];
  observer.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter });
}

/** Zooms in, drags, scrolls the rows, zooms out, pans by wheel, zooms in elsewhere. */
async function move(page, { x, y, width, height }) {
  const { mouse, keyboard } = page;
  const [middle, low] = [x + width * 0.62, y + height * 0.4];
  const part = async (share, step) => {
    const end = performance.now() + seconds * 1000 * share;
    for (let at = 0; performance.now() < end; at += 1) {
      const next = performance.now() + 1000 / 60;
      await step(at);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
    }
  };
  const wheel = (every, dx, dy) => async (at) => {
    if (at % every === 0) await mouse.wheel(dx, dy);
  };
  await mouse.move(middle, low);
  await keyboard.down("Control");
  await part(0.2, wheel(5, 0, -100)); // notches of a wheel
  await keyboard.up("Control");
  await mouse.down();
  await part(0.2, (at) => mouse.move(middle + Math.sin(at / 25) * width * 0.35, low + Math.sin(at / 40) * 60));
  await mouse.up();
  await part(0.05, wheel(2, 0, 60));
  await part(0.05, wheel(2, 0, -120)); // back to the rows in which the most happens
  await keyboard.down("Control");
  await part(0.15, wheel(1, 0, 14)); // a pinch
  await keyboard.up("Control");
  await part(0.15, wheel(1, 30, 0));
  await mouse.move(x + width * 0.3, low);
  await keyboard.down("Control");
  await part(0.2, wheel(1, 0, -16));
  await keyboard.up("Control");
}

async function heapOf(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "JSHeapTotalSize").value;
}

/** What all processes of the browser have used since they began, in seconds of CPU time. */
async function cpuSeconds(of) {
  const session = await of.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

/** Memory of the page's process that nobody else has, bytes: the heap, and what lies beside it. */
async function rendererMemory(of) {
  const session = await of.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const sizes = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8")))
    .map((found) => Number(found?.[1] ?? 0) * 1024);
  return Math.max(...sizes);
}
