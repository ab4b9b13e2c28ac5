// Puts a build in the place of the one before while pages are served from there. Vite would empty
// the directory first, and for some seconds every page would say that its scripts are not built.

import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/** The Vite plugin: `directory` gets what was built, `last` is the file that names the others. */
export function replace(directory, last) {
  return {
    name: "replace",
    apply: "build",
    config: () => ({ build: { outDir: `${directory}.new`, emptyOutDir: true } }),
    writeBundle: {
      order: "post",
      handler: ({ dir }) => {
        replaceFiles(dir, dir.replace(/\.new$/, ""), last);
      },
    },
  };
}

/** Moves the files of one directory to another: `last` after all others, then what is old goes. */
export function replaceFiles(from, to, last) {
  mkdirSync(to, { recursive: true });
  const files = readdirSync(from).sort((a, b) => Number(a === last) - Number(b === last));
  for (const file of files) renameSync(join(from, file), join(to, file));
  for (const file of readdirSync(to)) {
    if (!files.includes(file)) rmSync(join(to, file), { recursive: true });
  }
  rmSync(from, { recursive: true });
}
