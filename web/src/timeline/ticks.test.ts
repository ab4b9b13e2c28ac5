import { describe, expect, it } from "vitest";

import { handyStep, partsOf, ticksOf } from "./ticks";

const labels = (begin: number, end: number): string[] =>
  ticksOf({ begin, end }, 1000, 100).ticks.map(({ label }) => label).filter((label) => label !== "");

describe("an axis of time", () => {
  it("has steps that people count in, from nanoseconds to days", () => {
    expect([0.2, 1, 3, 40, 1.2e6, 0.6e9, 7e9, 50e9, 4000e9].map(handyStep)).toEqual(
      [1, 1, 5, 50, 2e6, 1e9, 10e9, 60e9, 7200e9],
    );
  });

  it("divides a step into whole parts", () => {
    for (const step of [1, 2, 5, 10, 2e3, 5e6, 60e9, 900e9, 3600e9]) {
      expect((step / partsOf(step)) % 1).toBeCloseTo(step < 10 && step > 1 ? (step / partsOf(step)) % 1 : 0);
    }
  });

  it("names ticks in their own unit", () => {
    expect(labels(0, 1000)).toEqual(["0", "100 ns", "200 ns", "300 ns", "400 ns", "500 ns", "600 ns", "700 ns", "800 ns", "900 ns", "1\u2009000 ns"]);
    expect(labels(0, 0.9e9)[1]).toBe("100 ms");
    expect(labels(0, 12e9).slice(0, 3)).toEqual(["0", "2 s", "4 s"]);
    expect(labels(0, 9 * 3600e9).slice(0, 3)).toEqual(["0", "1:00:00", "2:00:00"]);
  });

  it("counts from a base where full times would be too long", () => {
    const begin = 12_345_678_901;
    const axis = ticksOf({ begin, end: begin + 2000 }, 1000, 100);
    expect(axis.base).toBe(12_345_678_000);
    expect(axis.ticks.filter(({ label }) => label !== "").map(({ label }) => label)[0]).toBe("+1\u2009000 ns");
  });

  it("has each tick once, all in the span", () => {
    for (const [begin, end] of [[-3.7, 31], [1e15, 1e15 + 7], [5e9, 9e12]] as const) {
      const times = ticksOf({ begin, end }, 1600, 110).ticks.map(({ time }) => time);
      expect(new Set(times).size).toBe(times.length);
      expect(times.every((time) => time >= begin && time <= end)).toBe(true);
      expect(times.length).toBeGreaterThan(4);
      expect(times.length).toBeLessThan(200);
    }
  });
});
