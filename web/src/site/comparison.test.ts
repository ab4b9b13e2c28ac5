import { describe, expect, it } from "vitest";

import { compareBoards, compareValues, differingFacts } from "./comparison";
import type { SiteBoard, SiteDocument, SiteMetric, SiteValue } from "./document";

const BANDWIDTH: SiteMetric = { id: "m0", key: "copy", unit: "B/s", better: "higher" };
const LATENCY: SiteMetric = { id: "m1", key: "latency", unit: "ns", better: "lower" };

function value(median: number, more: Partial<SiteValue> = {}): SiteValue {
  const width = median * 0.004;
  return {
    metric: "m0", median, low: median - width, high: median + width, stable: true, noise_floor: 0.01,
    ...more,
  };
}

describe("two values of a metric", () => {
  it.each([
    ["faster", BANDWIDTH, value(100), value(110)],
    ["slower", BANDWIDTH, value(110), value(100)],
    ["slower", LATENCY, value(100), value(110)],
    ["no difference shown", BANDWIDTH, value(100), value(100.5)],
    ["no difference shown", BANDWIDTH, value(100), value(110, { noise_floor: 0.2 })],
    ["no difference shown", BANDWIDTH, value(100), value(110, { noise_floor: null })],
    ["no difference shown", BANDWIDTH, value(100, { low: 80, high: 120 }), value(110)],
    ["unstable", BANDWIDTH, value(100), value(300, { stable: false })],
    [undefined, BANDWIDTH, value(100), undefined],
    [undefined, BANDWIDTH, value(0), value(100)],
  ] as const)("are %s", (verdict, metric, base, other) => {
    expect(compareValues(metric, base, other).verdict).toBe(verdict);
  });

  it("have the least favourable bounds", () => {
    const { ratio, low, high } = compareValues(BANDWIDTH, value(100), value(200));
    expect(ratio).toBe(2);
    expect(low).toBeCloseTo(199.2 / 100.4, 9);
    expect(high).toBeCloseTo(200.8 / 99.6, 9);
  });

  it("swap their verdicts when the boards are swapped", () => {
    for (const other of [101, 110, 90, 250]) {
      const there = compareValues(BANDWIDTH, value(100), value(other));
      const back = compareValues(BANDWIDTH, value(other), value(100));
      const swapped = new Map([["faster", "slower"], ["slower", "faster"]]);
      const opposite = swapped.get(there.verdict ?? "") ?? there.verdict;
      expect(back.verdict).toBe(opposite);
      expect(back.ratio).toBeCloseTo(1 / there.ratio, 12);
    }
  });
});

function board(id: string, values: readonly SiteValue[]): SiteBoard {
  return {
    id, name: id, simulated: false, facts: [{ name: "Kernel", text: id }, { name: "CPU", text: "A76" }],
    values, gaps: [{ metric: "m1", na: "no such call" }],
  };
}

it("lists what differs first and says why something cannot be compared", () => {
  const site: SiteDocument = { format: 1, title: "", metrics: [BANDWIDTH, LATENCY], boards: [] };
  const base = board("a", [value(100), value(5, { metric: "m1" })]);
  const other = board("b", [value(200)]);
  const found = compareBoards(site, base, other);
  expect(found.map((change) => change.metric.id)).toEqual(["m0", "m1"]);
  expect(found[1]?.reason).toBe("not available on b: no such call");
  expect(differingFacts(base, other)).toEqual([["Kernel", "a", "b"]]);
});
