import { expect, it } from "vitest";

import { lineColour, lineSymbol } from "./palette";

it("gives each of thirty-six lines a pair of colour and marker of its own", () => {
  const pairs = Array.from({ length: 36 }, (_, style) => lineColour(style) + lineSymbol(style));
  expect(new Set(pairs).size).toBe(36);
});
