// A browser that the other scripts use in turn, each with pages of its own, as starting one takes
// longer than most pages do: prints the address that they find in BENCHVISE_BROWSER, and ends when
// its standard input does.

import { chromium } from "playwright-core";

import { OPTIONS } from "./browser.js";

const server = await chromium.launchServer(OPTIONS);
server.on("close", () => process.exit());
process.stdin.resume().on("end", () => server.close());
console.log(server.wsEndpoint());
