import { describe, expect, it } from "vitest";

import type { ChangeFigure, ChangeRow } from "../base/document";
import { changeDomain, changes, ratioTicks } from "./changes";
import { changeRow, HOSTILE } from "./fixtures";

const figure = (rows: ChangeRow[]): ChangeFigure => ({ id: "c", base: "a", other: "b", rows });

const texts = (svg: SVGSVGElement): string[] =>
  [...svg.querySelectorAll("text")].map((text) => text.textContent);

describe("changes between runs", () => {
  it("shows a row with name and change for each series", () => {
    const rows = [changeRow(), changeRow({ name: "cpu.clock", ratio: 1.001, low: 1, high: 1.002 })];
    const shown = texts(changes(figure(rows), rows, 900));
    expect(shown).toContain("memory.copy:size=64M");
    expect(shown).toContain("-52.0 %");
    expect(shown).toContain("+0.1 %");
  });

  it("tells verdicts apart by colour, and by filled and hollow", () => {
    const rows = (["faster", "slower", "no difference shown", "unstable"] as const).map((verdict) =>
      changeRow({ verdict }),
    );
    const svg = changes(figure(rows), rows, 900);
    expect(svg.querySelectorAll('g[fill="var(--faster)"]').length).toBe(1);
    expect(svg.querySelectorAll('g[fill="var(--slower)"]').length).toBe(1);
    expect(svg.querySelectorAll('g[fill="var(--surface)"][stroke="var(--same)"]').length).toBe(2);
  });

  it("marks what is better when less, and what has a caveat", () => {
    const rows = [changeRow({ name: "x", better: "lower", caveat: true })];
    expect(texts(changes(figure(rows), rows, 900))).toContain("x † ↓");
  });

  it("shows hostile names as text", () => {
    const rows = [changeRow({ name: HOSTILE })];
    expect(changes(figure(rows), rows, 900).querySelectorAll("img").length).toBe(0);
  });
});

it("names every tick", () => {
  const rows = [changeRow({ ratio: 0.9, low: 0.72, high: 1.38 })];
  const shown = texts(changes(figure(rows), rows, 900)).filter((text) => text.endsWith("x"));
  expect(shown).toEqual(["0.71x", "0.83x", "0.91x", "1x", "1.1x", "1.2x", "1.4x"]);
});

describe("the axis of ratios", () => {
  it("always holds one", () => {
    const [low, high] = changeDomain([changeRow()]);
    expect(low).toBeLessThan(0.47);
    expect(high).toBeGreaterThan(1.05);
  });

  it("is not stretched by the interval of an unstable series", () => {
    const wild = changeRow({ verdict: "unstable", ratio: 1, low: 0.01, high: 100 });
    expect(changeDomain([wild])[1]).toBeLessThan(1.2);
  });

  it.each([
    [0.98, 1.03],
    [0.4, 1.1],
    [0.2, 6],
    [0.001, 2000],
  ])("has ticks within %d and %d, one among them", (low, high) => {
    const ticks = ratioTicks([low, high], 8);
    expect(ticks).toContain(1);
    expect(ticks.every((tick) => tick >= low && tick <= high)).toBe(true);
    expect(ticks.length).toBeLessThanOrEqual(8);
  });

  it("has few ticks where there is little room", () => {
    expect(ratioTicks([0.1, 10], 3).length).toBeLessThanOrEqual(3);
  });
});
