import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { replaceFiles } from "./replace.js";

it("puts a build in the place of another", () => {
  const root = mkdtempSync(join(tmpdir(), "replace-"));
  const [from, to] = [join(root, "assets.new"), join(root, "assets")];
  for (const [directory, name] of [[to, "old.js"], [from, "new.js"]]) {
    mkdirSync(directory);
    writeFileSync(join(directory, name), "");
    writeFileSync(join(directory, "manifest.json"), name);
  }
  replaceFiles(from, to, "manifest.json");
  expect(readdirSync(to).sort()).toEqual(["manifest.json", "new.js"]);
  expect(readFileSync(join(to, "manifest.json"), "utf8")).toBe("new.js");
  expect(existsSync(from)).toBe(false);
});
