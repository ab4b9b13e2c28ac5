import { defineConfig } from "vitest/config";

import { licences } from "./scripts/licences.js";
import { replace } from "./scripts/replace.js";

// One script and one style sheet with fixed names: the page takes both in whole, so nothing may be
// split off, hashed by name or fetched later.
export default defineConfig({
  plugins: [licences(), replace("../src/benchvise/report/assets", "report.js")],
  build: {
    target: "es2020",
    copyPublicDir: false,
    lib: {
      entry: "src/main.ts",
      name: "benchvise",
      formats: ["iife"],
      fileName: () => "report.js",
      cssFileName: "report",
    },
  },
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.ts", "scripts/**/*.test.js"],
    // Each file has a window of its own, but loading jsdom and our modules anew for each would take
    // six times as long as the tests.
    pool: "threads",
    isolate: false,
    // These run where other tests leave the machine room, and no test is of its speed.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
