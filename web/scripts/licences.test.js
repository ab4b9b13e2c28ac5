import { describe, expect, it } from "vitest";

import { banner } from "./licences.js";

describe("the licences of a bundle", () => {
  it("share terms and keep every holder", () => {
    const text = banner([
      { name: "a 1", licence: "Copyright 2020 Ann\n\nDo what you like." },
      { name: "b 2", licence: "Copyright 2021 Bob\n\nDo what you like.\n" },
      { name: "c 3", licence: "Be nice." },
    ]);
    expect(text).toBe(
      "/*!\na 1, b 2\n\nCopyright 2020 Ann\nCopyright 2021 Bob\n\nDo what you like." +
        "\n\n---\n\nc 3\n\nBe nice.\n*/\n",
    );
  });

  it("cannot end the comment", () => {
    expect(banner([{ name: "a", licence: "*/ alert(1) /*" }]).match(/\*\//g)).toHaveLength(1);
  });
});
