import { describe, expect, it } from "vitest";

import cases from "./units.cases.json";
import { formatChange, formatRatio, formatSize, formatValue, handyUnit } from "./units";

const micro = (text: string): string => text.replace(/ us$/, " µs");

describe("numbers as people read them", () => {
  it.each(cases.value as [number, string, string][])("writes %d %s as %s", (value, unit, text) => {
    expect(formatValue(value, unit)).toBe(micro(text));
  });

  it.each(cases.size as [number, string][])("writes %d bytes as %s", (size, text) => {
    expect(formatSize(size)).toBe(text);
  });

  it.each(cases.ratio as [number, string][])("writes the ratio %d as %s", (ratio, text) => {
    expect(formatRatio(ratio)).toBe(text);
  });

  it.each(cases.change as [number, string][])("writes the change %d as %s", (ratio, text) => {
    expect(formatChange(ratio)).toBe(text);
  });

  it("keeps the largest step for what is larger still", () => {
    expect(handyUnit(5e15, "ns")).toEqual([1e9, "s"]);
  });
});
