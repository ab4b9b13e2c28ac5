// Runs scripts that look at pages one after another, with one browser: to load playwright and to
// start a browser takes longer than most of them take. Ends with its standard input.
//
//   node scripts/in-turn.js
//
// Each line of standard input is a script and its words, as JSON: {"script": "browse.js", "words":
// [...], "login": ADDRESS or ""}. The answer is a line: {"output": what it printed, "error": ""}.

import { createInterface } from "node:readline";

import { share } from "./browser.js";

const stop = await share();
let number = 0;
for await (const line of createInterface({ input: process.stdin })) {
  console.info(JSON.stringify(await run(JSON.parse(line))));
}
await stop();

async function run({ script, words, login }) {
  const printed = [];
  const { log } = console;
  console.log = (...parts) => printed.push(parts.join(" "));
  process.argv = [process.argv[0], script, ...words];
  process.env.BENCHVISE_LOGIN = login;
  let error = "";
  try {
    await import(`./${script}?${(number += 1)}`); // else it would be run only once
  } catch (reason) {
    error = String(reason.stack ?? reason) || "failed";
  } finally {
    console.log = log;
  }
  return { output: printed.join("\n"), error };
}
