import { expect, it } from "vitest";

import { row } from "./fixtures";
import { bandsOf, boxAt, boxesBetween, layoutOf } from "./layout";

const ROWS = [row(0, "cpu"), row(1, "cpu"), row(2, "irq"), row(3), row(4)];

it("puts rows one behind the other, under a heading for each kind", () => {
  const layout = layoutOf(ROWS, [0, 1, 2, 3, 4], "normal", "horizontal");
  expect(layout.headings.map(({ text }) => text)).toEqual(["CPUs", "Interrupts", "Threads"]);
  let last = 0;
  for (const { from, bar, lane } of layout.boxes) {
    expect(from).toBeGreaterThanOrEqual(last);
    last = from + bar + lane;
  }
  expect(layout.size).toBeGreaterThan(last);
});

it("keeps the order of the source when rows are left out", () => {
  const layout = layoutOf(ROWS, [1, 4], "events", "vertical");
  expect(layout.boxes.map(({ order, row: { id } }) => [order, id])).toEqual([[1, 1], [4, 4]]);
  expect(layout.boxes[0]?.lane).toBeGreaterThan(0);
});

it("finds rows by their place", () => {
  const layout = layoutOf(ROWS, [0, 1, 2, 3, 4], "normal", "horizontal");
  for (const box of layout.boxes) {
    expect(boxAt(layout, box.from)).toBe(box);
    expect(boxAt(layout, box.from + box.bar - 1)).toBe(box);
  }
  expect(boxAt(layout, 3)).toBeNull();
  expect(boxAt(layout, layout.size + 50)).toBeNull();
  const [, second, third] = layout.boxes;
  expect(boxesBetween(layout, (second?.from ?? 0) + 1, (third?.from ?? 0) + 1)).toEqual([second, third]);
});

it("divides a bar without a gap", () => {
  for (const kind of ["thread", "line"]) {
    for (const bar of [11, 20, 64]) {
      const bands = bandsOf(kind, bar);
      bands.reduce((end, [from, size]) => {
        if (end >= 0) expect(from).toBe(end);
        expect(size).toBeGreaterThan(0);
        return from + size;
      }, -1);
    }
  }
});
