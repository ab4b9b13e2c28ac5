import { describe, expect, it } from "vitest";

import { bars } from "./bars";
import { barFigure, HOSTILE } from "./fixtures";

describe("bars", () => {
  it("draws a bar for each run of each series, and says what is unstable", () => {
    const drawn = bars(barFigure(), 700);
    expect(drawn.querySelectorAll("rect").length).toBe(4);
    expect(drawn.textContent).toContain("2.00 GB/s");
    expect(drawn.textContent).toContain("unstable");
    expect(drawn.getAttribute("aria-label")).toContain("storage.read: medians of 2 series");
  });

  it("shows names as text, shortened", () => {
    const row = barFigure().rows[0];
    const rows = row === undefined ? [] : [{ ...row, name: HOSTILE.repeat(20) }];
    const drawn = bars(barFigure({ rows }), 500);
    expect(drawn.querySelector("img")).toBeNull();
    expect(drawn.textContent).toContain("<img");
    expect(drawn.textContent.length).toBeLessThan(400);
  });

  it("begins at zero", () => {
    const drawn = bars(barFigure(), 700);
    const starts = [...drawn.querySelectorAll("rect")].map((bar) => bar.getAttribute("x"));
    expect(new Set(starts).size).toBe(1);
  });
});
