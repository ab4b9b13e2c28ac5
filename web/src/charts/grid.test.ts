import { describe, expect, it } from "vitest";

import { gridFigure } from "./fixtures";
import { between, cacheLines, grid } from "./grid";

describe("the grid of context switches", () => {
  it("draws a cell for each place, marks what is unstable, and names steps in bytes", () => {
    const drawn = grid(gridFigure(), 700);
    expect(drawn.querySelectorAll("rect").length).toBe(20);
    expect(drawn.textContent).toContain("~2.00");
    expect(drawn.textContent).toContain("32 KiB–64 KiB");
    expect(drawn.textContent).toContain("L1d 32 KiB");
  });

  it("leaves the numbers out where cells are narrow", () => {
    expect(grid(gridFigure(), 200).textContent).not.toContain("11.0");
  });

  it("draws the line of a cache only where the grid reaches it", () => {
    const [line, ...others] = cacheLines(gridFigure());
    expect(others).toEqual([]);
    expect(line?.points).toEqual([
      { x: 3, y: 1 },
      { x: 1, y: 2 },
    ]);
  });

  it("does without caches and steps", () => {
    expect(grid(gridFigure({ caches: [], steps: [] }), 500).querySelectorAll("rect").length).toBe(20);
  });
});

describe("the place among steps", () => {
  it("is logarithmic, and none beyond the ends", () => {
    expect(between([2, 4, 8], 4)).toBe(1);
    expect(between([2, 8], 4)).toBeCloseTo(0.5);
    expect(between([2, 4], 5)).toBeNull();
    expect(between([2, 4], 1)).toBeNull();
  });
});
