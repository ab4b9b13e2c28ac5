import { expect, it } from "vitest";

import { BUCKETS, levelOf, numberRuns, rootLevel, tileRange, tileSpan } from "./tiles";

it("gives neighbouring zooms the same level", () => {
  expect([0.01, 1, 1.9, 2, 3.99, 4].map(levelOf)).toEqual([0, 0, 0, 1, 1, 2]);
});

it("covers a span with tiles, and nothing beside the trace", () => {
  const length = BUCKETS * 8;
  expect(tileSpan(3, 2)).toEqual({ begin: 2 * length, end: 3 * length });
  expect(tileRange(3, { begin: -5, end: 1 }, 1e6)).toEqual([0, 0]);
  expect(tileRange(3, { begin: length - 1, end: 2 * length }, 1e6)).toEqual([0, 1]);
  expect(tileRange(3, { begin: 0, end: 1e9 }, 2.5 * length)).toEqual([0, 2]);
  const [first, last] = tileRange(3, { begin: 1e9, end: 2e9 }, 1e6);
  expect(last).toBeLessThan(first);
});

it("has one tile for everything at the root", () => {
  for (const duration of [1, 2048, 2049, 1e9, 2 ** 52]) {
    const root = rootLevel(duration);
    expect(tileRange(root, { begin: 0, end: duration }, duration)[1]).toBeLessThanOrEqual(
      Number.isInteger(Math.log2(duration / BUCKETS)) ? 1 : 0,
    );
  }
});

it("writes numbers as runs", () => {
  expect(numberRuns([1, 2, 5, 6, 7, 9])).toBe("1-2,5-7,9");
  expect(numberRuns([])).toBe("");
});
