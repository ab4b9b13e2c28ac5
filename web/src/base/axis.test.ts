import { describe, expect, it } from "vitest";

import { decadeTicks, sizeTicks, valueDomain } from "./axis";

const KIB = 1024;
const MIB = KIB * KIB;

describe("ticks of sizes", () => {
  it("shows each power of two where there is room", () => {
    expect(sizeTicks(KIB, 8 * KIB, 9)).toEqual([KIB, 2 * KIB, 4 * KIB, 8 * KIB]);
  });

  it("has none outside of what is shown, wherever it ends", () => {
    expect(sizeTicks(3 * KIB, 9 * KIB, 9)).toEqual([4 * KIB, 8 * KIB]);
    expect(sizeTicks(KIB + 1, 8 * KIB - 1, 9)).toEqual([2 * KIB, 4 * KIB]);
    for (const high of [5, 100, 1000, 5000].map((n) => n * KIB)) {
      const ticks = sizeTicks(1500, high, 5);
      expect(Math.min(...ticks)).toBeGreaterThanOrEqual(1500);
      expect(Math.max(...ticks)).toBeLessThanOrEqual(high);
    }
  });

  it("thins out evenly where there is not", () => {
    const ticks = sizeTicks(4 * KIB, 1024 * MIB, 7);
    expect(ticks.length).toBeLessThanOrEqual(7);
    expect(new Set(ticks.slice(1).map((tick, index) => tick / (ticks[index] ?? 1))).size).toBe(1);
  });
});

describe("ticks of decades", () => {
  it("counts 1, 2, 5", () => {
    expect(decadeTicks(1.5, 60, 8)).toEqual([2, 5, 10, 20, 50]);
  });

  it("keeps the decades when there are many", () => {
    expect(decadeTicks(0.1, 1e6, 8)).toEqual([0.1, 1, 10, 100, 1000, 1e4, 1e5, 1e6]);
  });
});

describe("the range of samples", () => {
  it("does not blow up tiny noise", () => {
    const [low, high] = valueDomain([99.9, 100, 100.1], 100);
    expect(low).toBeLessThan(98);
    expect(high).toBeGreaterThan(102);
  });

  it("shows all samples", () => {
    const [low, high] = valueDomain([50, 100, 300], 100);
    expect(low).toBeLessThan(50);
    expect(high).toBeGreaterThan(300);
  });
});
