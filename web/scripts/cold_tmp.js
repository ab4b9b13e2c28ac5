import { launch } from "./browser.js";
const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1920, height: 1080 } });
  await page.addInitScript(() => {
    globalThis.seen_ = {};
    const look = () => {
      const at = document.querySelector('.tl[data-state="complete"]');
      const tl = document.querySelector('.tl');
      const now = performance.timeOrigin + performance.now();
      if (tl && !seen_.tl) seen_.tl = now;
      if (at && !seen_.complete) { seen_.complete = now; requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => { seen_.painted = performance.timeOrigin + performance.now(); }; c.port2.postMessage(0); }); }
    };
    new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-state"] });
  });
  await page.goto(process.argv[2], { waitUntil: "commit" });
  await page.waitForFunction(() => globalThis.seen_.painted, null, { timeout: 90000 });
  const out = await page.evaluate(() => ({ ...seen_, origin: performance.timeOrigin, marks: performance.getEntriesByType("resource").map(({ name, startTime, responseStart, responseEnd, serverTiming }) => [name.split("/").slice(3).join("/").slice(0, 60), startTime, responseStart, responseEnd, serverTiming?.[0]?.duration ?? null]) }));
  console.log(JSON.stringify(out));
} finally { await browser.close(); }
