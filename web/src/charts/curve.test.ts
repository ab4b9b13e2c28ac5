import { describe, expect, it } from "vitest";

import { curve } from "./curve";
import { curveFigure, HOSTILE, line } from "./fixtures";

const texts = (svg: SVGSVGElement): string[] =>
  [...svg.querySelectorAll("text")].map((text) => text.textContent);

const marks = (svg: SVGSVGElement, fill: string): number =>
  svg.querySelectorAll(`path[fill="${fill}"], circle[fill="${fill}"]`).length;

describe("a curve", () => {
  it("is one named picture without inline style", () => {
    const svg = curve(curveFigure(), 800);
    expect(svg.getAttribute("role")).toBe("img");
    expect(svg.getAttribute("aria-label")).toContain("Memory bandwidth over buffer size");
    expect(svg.querySelectorAll("style, [style], [aria-label]").length).toBe(0);
  });

  it("scales the axis and names the line", () => {
    const shown = texts(curve(curveFigure(), 800)).join(" ");
    expect(shown).toContain("GB/s");
    expect(shown).toContain("buffer size");
    expect(shown).toContain("copy");
  });

  it("marks the caches within its range only", () => {
    const shown = texts(curve(curveFigure(), 800)).join(" ");
    expect(shown).toContain("L1d 32 KiB");
    expect(shown).not.toContain("L3");
  });

  it("draws unstable points hollow", () => {
    const points = line().points.map((point, index) => ({ ...point, stable: index !== 1 }));
    const svg = curve(curveFigure({ lines: [line({ points })] }), 800);
    expect(marks(svg, "var(--surface)")).toBe(1);
    expect(marks(svg, "var(--line-1)")).toBe(2);
  });

  it("dashes and marks a line with a caveat", () => {
    const svg = curve(curveFigure({ lines: [line(), line({ style: 1, caveat: true })] }), 800);
    expect(svg.querySelectorAll('[stroke-dasharray="2 5"]').length).toBe(1);
    expect(texts(svg).join(" ")).toContain("copy †");
  });

  it("leaves names to the legend when told so", () => {
    expect(texts(curve(curveFigure({ name_lines: false }), 800))).not.toContain("copy");
  });

  it("draws times on a logarithmic axis", () => {
    const points = [1.5, 12, 130].map((median, index) => ({
      x: 4096 * 16 ** index,
      median,
      low: median,
      high: median,
      stable: true,
      n: 63,
    }));
    const figure = curveFigure({ unit: "ns", y_scale: "log", lines: [line({ points })] });
    expect(texts(curve(figure, 800)).join(" ")).toContain("100 ns");
  });

  it("writes counts as numbers", () => {
    const points = [2, 8, 32].map((x) => ({ x, median: x, low: x, high: x, stable: true, n: 9 }));
    const figure = curveFigure({ x_name: "processes", x_kind: "count", lines: [line({ points })] });
    expect(texts(curve(figure, 800))).toEqual(expect.arrayContaining(["2", "8", "32", "processes"]));
  });

  it("shows hostile names as text", () => {
    const figure = curveFigure({ title: HOSTILE, lines: [line({ name: HOSTILE })] });
    const svg = curve(figure, 800);
    expect(svg.querySelectorAll("img, script").length).toBe(0);
    expect(svg.getAttribute("aria-label")).toContain("<img");
  });

  it.each([320, 500, 1100])("fits %d pixels", (width) => {
    expect(curve(curveFigure(), width).getAttribute("width")).toBe(String(width));
  });
});
