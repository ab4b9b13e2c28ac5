// Puts the licence texts of all that is bundled in front of the bundle: a page that is mailed is a
// copy of these packages, and their licences ask to come along.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const HOLDER = /^Copyright .*\d{4}/;
const PACKAGE = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//;

/** The Vite plugin. */
export function licences() {
  return {
    name: "licences",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type === "chunk") chunk.code = banner(packagesOf(chunk)) + chunk.code;
      }
    },
  };
}

/** Name, version and licence of each package whose code is in the chunk. */
function packagesOf(chunk) {
  const directories = new Map();
  for (const [id, { renderedLength }] of Object.entries(chunk.modules)) {
    // A module in the format of Node has a NUL before its name.
    const found = PACKAGE.exec(id.replace(/^\0/, ""));
    if (found !== null && renderedLength > 0) directories.set(found[2], found[1]);
  }
  return [...directories].sort().map(([name, directory]) => {
    const path = join(directory, "LICENSE");
    if (!existsSync(path)) throw new Error(`${name} is bundled and has no LICENSE`);
    const { version } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
    return { name: `${name} ${version}`, licence: readFileSync(path, "utf8") };
  });
}

/** One comment; packages of the same licence share its text, as their copyright lines differ. */
export function banner(packages) {
  const byTerms = new Map();
  for (const { name, licence } of packages) {
    const lines = licence.trim().split(/\r?\n/).map((line) => line.trim());
    // Only at the beginning: further down, a holder belongs to the part that follows.
    const start = lines.findIndex((line) => line !== "" && !HOLDER.test(line));
    const terms = lines.slice(start).join("\n");
    const holders = lines.slice(0, start).filter(Boolean);
    const group = byTerms.get(terms) ?? { names: [], holders: new Set() };
    group.names.push(name);
    for (const holder of holders) group.holders.add(holder);
    byTerms.set(terms, group);
  }
  const texts = [...byTerms].map(([terms, { names, holders }]) =>
    [names.join(", "), [...holders].join("\n"), terms].filter(Boolean).join("\n\n"),
  );
  return `/*!\n${texts.join("\n\n---\n\n").replaceAll("*/", "* /")}\n*/\n`;
}
