import { describe, expect, it } from "vitest";

import { parseDocument } from "./document";

describe("the data of a page", () => {
  it("is read", () => {
    const parsed = parseDocument('{"format":1,"curves":[],"samples":[],"changes":[]}');
    expect(parsed.ok && parsed.value.curves).toEqual([]);
  });

  it.each([
    ["", "cannot be read"],
    ["null", "not a report"],
    ["[1]", "not a report"],
    ['{"format":2}', "format 2, expected 1"],
  ])("is refused: %s", (text, reason) => {
    const parsed = parseDocument(text);
    expect(parsed.ok ? "" : parsed.error).toContain(reason);
  });
});
