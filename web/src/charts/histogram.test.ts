import { describe, expect, it } from "vitest";

import { HOSTILE, latencyFigure, latencyLine } from "./fixtures";
import { histogram } from "./histogram";

/** The corners of a path of straight lines. */
function points(path: Element | null): { x: number; y: number }[] {
  return [...(path?.getAttribute("d") ?? "").matchAll(/([-\d.]+),([-\d.]+)/g)].map(
    ([, x, y]) => ({ x: Number(x), y: Number(y) }),
  );
}

const lines = (svg: Element): Element[] => [...svg.querySelectorAll("g[stroke-linejoin] path")];

describe("a histogram of latencies", () => {
  it("draws a step for each range, and falls to the floor in between", () => {
    const svg = histogram(latencyFigure(), 600);
    const [drawn] = lines(svg);
    const corners = points(drawn ?? null);
    // Two steps side by side, a fall, and one by itself: 2 + 4 + 2 + 2.
    expect(corners.length).toBe(10);
    const floor = Math.max(...corners.map(({ y }) => y));
    expect(corners.filter(({ y }) => y === floor).length).toBe(4);
    expect([corners[0]?.y, corners[9]?.y]).toEqual([floor, floor]);
    const across = corners.map(({ x }) => x);
    expect(across).toEqual([...across].sort((a, b) => a - b));
  });

  it("has logarithmic axes: a tenth is as far from a hundredth as all from a tenth", () => {
    const texts = [...histogram(latencyFigure(), 600).querySelectorAll("text")];
    const height = (label: string): number => {
      const found = texts.find((text) => text.textContent === label);
      return Number(/translate\([^,]+,([\d.]+)\)/.exec(found?.getAttribute("transform") ?? "")?.[1]);
    };
    expect(height("10 %") - height("100 %")).toBeCloseTo(height("1 %") - height("10 %"), 3);
    expect(texts.map((text) => text.textContent)).toContain("10 µs");
  });

  it("marks the longest latency of each line", () => {
    const figure = latencyFigure({ lines: [latencyLine(), latencyLine({ name: "b", style: 1 })] });
    const svg = histogram(figure, 600);
    expect(lines(svg).length).toBe(2);
    expect(svg.querySelectorAll('g[stroke-width="1.75"]').length).toBe(2);
  });

  it("takes a single latency, even of no time at all", () => {
    const latencies = {
      count: 1,
      minimum: 0,
      maximum: 0,
      steps: [{ low: 0, high: 1, share: 1 }],
    };
    const svg = histogram(latencyFigure({ lines: [latencyLine({ latencies })] }), 320);
    const corners = points(lines(svg)[0] ?? null);
    expect(corners.length).toBe(4);
    expect(corners.every(({ x, y }) => isFinite(x) && isFinite(y))).toBe(true);
  });

  it("is a named picture, whatever the name", () => {
    const svg = histogram(latencyFigure({ title: HOSTILE, lines: [latencyLine()] }), 320);
    expect(svg.getAttribute("aria-label")).toContain("<img");
    expect(svg.querySelectorAll("img, style").length).toBe(0);
  });
});
