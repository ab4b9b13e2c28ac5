// A browser that is logged in at a workbench opens pages of attackers, who try to read it and to act
// in its name; prints what they got as JSON.
//
//   node scripts/hostile.js http://127.0.0.1:PORT http://127.0.0.1:ATTACKER TARGETS
//
// BENCHVISE_LOGIN has the address with the token. Pages come from another port of the same machine,
// which browsers take for the same site; from another site; and from another name that was made to
// mean the workbench (DNS rebinding). TARGETS is JSON: `questions`, paths that are read; `actions`,
// those that are posted to; and of these one `action` that is tried in every way there is.

import { chromium } from "playwright-core";

const [workbench, attacker, targets] = process.argv.slice(2);
const { questions, actions, action } = JSON.parse(targets);
const port = new URL(workbench).port;
const foreign = attacker.replace("127.0.0.1", "attacker.example");
const rebound = `http://rebound.example:${port}`;

/** Runs in the page of an attacker: what it can read of the workbench, and what it tries to do. */
async function attack({ target, path, questions, actions }) {
  const read = [];
  let tried = 0;
  const attempt = async (name, work) => {
    const limit = new Promise((resolve) => setTimeout(resolve, 3000));
    tried += 1;
    try {
      const got = await Promise.race([work(), limit]);
      if (got) read.push(`${name}: ${String(got).slice(0, 200)}`);
    } catch {
      // Kept from it: as it should be.
    }
  };
  const text = (url, options) => async () => {
    const answer = await fetch(url, options);
    return answer.type === "opaque" || !answer.ok ? "" : answer.text();
  };
  const element = (name, attribute, path = "/index.json") => () =>
    new Promise((resolve) => {
      const made = document.createElement(name);
      made.onload = () => resolve(`${name} loaded`);
      made.onerror = () => resolve("");
      made[attribute] = target + path;
      document.body.append(made);
    });
  const form = (fields, enctype) => () =>
    new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.name = `frame${Math.random()}`;
      const made = document.createElement("form");
      Object.assign(made, { method: "post", action: target + path, enctype, target: frame.name });
      for (const [name, value] of fields) {
        const input = document.createElement("input");
        Object.assign(input, { type: "hidden", name, value });
        made.append(input);
      }
      frame.onload = () => {
        try {
          const said = frame.contentDocument?.body.innerText ?? "";
          if (said !== "") resolve(said);
        } catch {
          resolve("");
        }
      };
      document.body.append(frame, made);
      made.submit();
    });
  await attempt("fetch", text(`${target}/index.json`, { credentials: "include" }));
  await attempt("fetch no-cors", text(`${target}/index.json`, { credentials: "include", mode: "no-cors" }));
  await attempt("img", element("img", "src"));
  await attempt("script", element("script", "src"));
  await attempt("object", element("object", "data"));
  await attempt("frame", async () => {
    const frame = document.createElement("iframe");
    frame.src = `${target}/`;
    document.body.append(frame);
    await new Promise((resolve) => { frame.onload = resolve; });
    return frame.contentDocument?.body.innerText;
  });
  await attempt("window", async () => {
    const opened = open(`${target}/`);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const said = opened?.document.body.innerText ?? "";
    return said.includes("This name does not stand for the workbench") ? "" : said;
  });
  await attempt("events", () => new Promise((resolve) => {
    const source = new EventSource(`${target}/live/rig`, { withCredentials: true });
    source.onopen = () => resolve("an open stream");
    source.onerror = () => resolve("");
  }));
  await attempt("socket", () => new Promise((resolve) => {
    const socket = new WebSocket(`${target.replace("http", "ws")}/live/rig`);
    socket.onopen = () => resolve("an open socket");
    socket.onerror = () => resolve("");
  }));
  const posted = { method: "POST", credentials: "include" };
  const json = { "Content-Type": "application/json" };
  const fields = "application/x-www-form-urlencoded";
  await attempt("post", text(target + path, posted));
  await attempt("post text", text(target + path, { ...posted, mode: "no-cors", body: "{}" }));
  await attempt("post json", text(target + path, { ...posted, headers: json, body: "{}" }));
  await attempt("post token", text(target + path, { ...posted, headers: { "X-CSRF-Token": "0" } }));
  await attempt("beacon", () => { navigator.sendBeacon(target + path, "{}"); });
  // Nothing is ever said of what they did, so all wait their time, at once.
  await Promise.all([
    attempt("form", form([], fields)),
    attempt("form with token", form([["csrf", "0".repeat(64)]], fields)),
    attempt("form as text", form([['{"x":"', '"}']], "text/plain")),
  ]);
  for (const each of questions) {
    await attempt(`fetch ${each}`, text(target + each, { credentials: "include" }));
    await attempt(`fetch no-cors ${each}`, text(target + each, { credentials: "include", mode: "no-cors" }));
    await attempt(`script ${each}`, element("script", "src", each));
  }
  for (const each of actions) {
    await attempt(`post ${each}`, text(target + each, posted));
    await attempt(`post json ${each}`, text(target + each, { ...posted, headers: json, body: "{}" }));
    await attempt(`post form ${each}`, text(target + each, { ...posted, mode: "no-cors", body: new URLSearchParams({ csrf: "0" }) }));
  }
  return { read, tried };
}

const browser = await chromium.launch({
  executablePath: process.env.BENCHVISE_CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--host-resolver-rules=MAP attacker.example 127.0.0.1, MAP rebound.example 127.0.0.1",
    "--disable-popup-blocking",
  ],
});
try {
  const context = await browser.newContext();
  const own = await context.newPage();
  await own.goto(process.env.BENCHVISE_LOGIN);
  const seen = { home: await own.locator("main").innerText(), address: own.url(), read: {}, tried: 0 };
  const attacked = async (page, target) => {
    const { read, tried } = await page.evaluate(attack, { target, path: action, questions, actions });
    seen.tried += tried;
    return read;
  };
  for (const origin of [attacker, foreign]) {
    const page = await context.newPage();
    await page.goto(`${origin}/page`);
    seen.read[origin] = await attacked(page, workbench);
    await page.close();
  }
  const page = await context.newPage();
  const answer = await page.goto(`${rebound}/`);
  seen.rebound = answer.status();
  seen.read.rebound = await attacked(page, rebound);
  // What a page of the workbench may do: the attacks above are not refused for another reason.
  seen.own = await own.evaluate(async (path) => {
    const token = document.querySelector('meta[name="csrf-token"]').content;
    const headers = { Accept: "application/json" };
    const options = { method: "POST", headers };
    const without = await fetch(path, options);
    const withToken = await fetch(path, { ...options, headers: { ...headers, "X-CSRF-Token": token } });
    return [without.status, withToken.status];
  }, action);
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
