import { defineConfig } from "vite";

import { licences } from "./scripts/licences.js";
import { replace } from "./scripts/replace.js";

// The scripts of the workbench: one that all pages load, and what it loads when a page needs it.
// Names have a hash, so that a browser may keep them for ever; the server reads the manifest.
export default defineConfig({
  base: "/assets/",
  plugins: [licences(), replace("../src/benchvise/web/assets", "manifest.json")],
  build: {
    target: "es2022",
    assetsDir: "",
    copyPublicDir: false,
    manifest: "manifest.json",
    modulePreload: { polyfill: false },
    rollupOptions: { input: "src/pages/main.ts" },
  },
});
