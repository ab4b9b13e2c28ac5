import { expect, test } from "vitest";

import { decades, linear, logarithmic, logDomain, niceStep, timeTicks } from "./scales";

test("a place on an axis and its value are the same thing", () => {
  for (const scale of [linear(10, 1010, 40, 540, []), logarithmic(10, 1010, 540, 40, [])]) {
    for (const value of [10, 99, 1010]) {
      expect(scale.value(scale.at(value))).toBeCloseTo(value, 6);
    }
  }
});

test("an axis without any length still has a place for its value", () => {
  expect(linear(5, 5, 0, 100, []).at(5)).toBe(0);
  expect(logarithmic(5, 5, 0, 100, []).at(5)).toBe(0);
  expect(logDomain(7, 7)[1]).toBeGreaterThan(logDomain(7, 7)[0]);
});

test("steps are 1, 2 or 5 in a decade", () => {
  expect([niceStep(0, 1, 10), niceStep(0, 1.1, 10), niceStep(0, 100, 3)]).toEqual([0.1, 0.2, 50]);
});

test("ticks of time tell themselves apart, down to nanoseconds", () => {
  expect(timeTicks(0, 4e9, 4).map(({ text }) => text)).toEqual(["0 s", "1 s", "2 s", "3 s", "4 s"]);
  const close = timeTicks(1_000_000_000, 1_000_000_004, 4).map(({ text }) => text);
  expect(new Set(close).size).toBe(close.length);
  expect(close[1]).toBe("1.000\u2009000\u2009001 s");
});

test("decades are thinned out", () => {
  expect(decades(10, 1e9, 9).length).toBeLessThanOrEqual(9);
  expect(decades(3.2e6, 3.8e6, 6).length).toBeGreaterThan(2);
});
