import { expect, it } from "vitest";

import { shorten } from "./shorten";

it("leaves out the middle and keeps both ends", () => {
  expect(shorten("memory.copy:size=64M,source=untouched", 16)).toBe("memory.c…touched");
});

it("leaves short texts alone", () => {
  expect(shorten("copy", 4)).toBe("copy");
});

it("never cuts a character in two", () => {
  expect(shorten("🦀🦀🦀🦀🦀", 3)).toBe("🦀…🦀");
});
