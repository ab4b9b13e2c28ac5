import { describe, expect, it } from "vitest";

import { assertExists } from "../base/assert";
import type { ResponseFigure, ResponseLine } from "../base/responses";
import { HOSTILE } from "./fixtures";
import { labelSide, placed, responses } from "./responses";

function line(changes: Partial<ResponseLine> = {}): ResponseLine {
  return {
    name: "kernel module/idle",
    condition: "idle",
    style: 0,
    count: 500,
    missed: 0,
    median: 13_000,
    low: 12_200,
    high: 13_200,
    p05: 9_000,
    p95: 18_200,
    minimum: 6_040,
    maximum: 43_800,
    ratio: null,
    steps: [
      { low: 9_000, high: 9_600, share: 0.25 },
      { low: 13_000, high: 13_800, share: 0.5 },
    ],
    far: [6_040, 43_800],
    ...changes,
  };
}

const BUSY = line({ name: "kernel module/busy", condition: "busy", style: 1, median: 7_820 });

const FIGURE: ResponseFigure = {
  id: "responses",
  conditions: ["idle", "busy"],
  rows: [
    { name: "kernel module", lines: [line(), BUSY] },
    { name: HOSTILE, lines: [line({ name: HOSTILE, median: 9_050 })] },
  ],
};

describe("response times side by side", () => {
  it("tell the median of each, and names as text", () => {
    const drawn = responses(FIGURE, 900);
    expect(drawn.textContent).toContain("13.0 µs");
    expect(drawn.textContent).toContain("7.82 µs");
    expect(drawn.querySelector("img")).toBeNull();
    expect(drawn.getAttribute("aria-label")).toContain("kernel module/busy 7.82 µs");
  });

  it("give the highest step of each row the same height", () => {
    const steps = placed(assertExists(FIGURE.rows[0], "a row"), 1.14);
    const tops = steps.map(({ top }) => top);
    expect(Math.max(...tops)).toBeCloseTo(1.14 + 0.58);
    expect(Math.min(...tops)).toBeCloseTo(1.14 + 0.29);
  });

  it("write two medians away from each other", () => {
    const row = { name: "kernel module", lines: [line(), BUSY] };
    expect(labelSide(BUSY, row)).toBe(-1);
    expect(labelSide(line(), row)).toBe(1);
    expect(labelSide(line(), { name: "one", lines: [line()] })).toBe(0);
  });

  it("are drawn of one time only", () => {
    const one = line({ minimum: 100, maximum: 100, median: 100, steps: [{ low: 99, high: 101, share: 1 }] });
    expect(responses({ id: "r", conditions: ["idle"], rows: [{ name: "a", lines: [one] }] }, 300)
      .querySelectorAll("rect").length).toBe(1);
  });
});
