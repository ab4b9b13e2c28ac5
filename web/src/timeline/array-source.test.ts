import { expect, it } from "vitest";

import { rowItems, source } from "./fixtures";
import { thinned } from "./array-source";

it("gives of each bucket the first, the longest and the last item, and tells how many they stand for", () => {
  const held = rowItems(3, 1e6, 5000);
  const found = thinned(held, { begin: 0, end: 1e6 }, 100, 3);
  expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(5000);
  for (let bucket = 0; bucket < 100; bucket += 1) {
    const here = <T extends { begin: number }>(all: readonly T[]): T[] =>
      all.filter(({ begin }) => Math.floor(begin / 1e4) === bucket);
    const kept = here(found);
    const own = here(Array.from(held.begin, (begin, at) => ({ begin, end: held.end[at] ?? 0 })));
    expect(kept.length).toBeLessThanOrEqual(3);
    expect([kept[0]?.begin, kept.at(-1)?.begin]).toEqual([own[0]?.begin, own.at(-1)?.begin]);
    const length = ({ begin, end }: { begin: number; end: number }): number => end - begin;
    expect(Math.max(...kept.map(length))).toBe(Math.max(...own.map(length)));
  }
});

it("gives what reaches into the span, and every item where each has a bucket", () => {
  const held = { begin: Float64Array.of(0, 50), end: Float64Array.of(40, 60), actor: 0, state: 0 };
  expect(thinned(held, { begin: 30, end: 70 }, 40, 1).map(({ begin, count }) => [begin, count])).toEqual([[0, 1], [50, 1]]);
  expect(thinned(held, { begin: 61, end: 70 }, 40, 1)).toEqual([]);
});

it("gives rows in the order asked for, with their events", async () => {
  const from = source(4, 1e6, 100);
  const found = await from.items({ begin: 0, end: 1e6 }, 50, [2, 0]);
  expect([...new Set(found.row)]).toEqual([2, 0]);
  const marks = await from.marks({ begin: 0, end: 1e6 }, 100, [0, 1]);
  expect([[...marks.time], [...marks.count]]).toEqual([[0, 5e5], [2, 1]]);
  const overview = await from.overview(10);
  expect(overview.events.reduce((a, b) => a + b, 0)).toBe(400);
});
