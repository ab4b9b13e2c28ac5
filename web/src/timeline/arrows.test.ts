import { expect, it } from "vitest";

import { type Arrow, arrowShapes } from "./arrows";

const place = (row: number): readonly [number, number] | null =>
  row > 90 ? null : [row * 20, row * 20 + 16];
const arrow = (from: readonly [number, number], to: readonly [number, number]): Arrow =>
  ({ from: { row: from[0], time: from[1] }, to: { row: to[0], time: to[1] }, kind: "cause" });
const shapes = (...arrows: readonly Arrow[]) => arrowShapes(arrows, place, 0, 10, 100, 200, false);

it("leads from the lower edge of the upper bar to the upper edge of the lower one", () => {
  const [shape] = shapes(arrow([1, 100], [3, 500]));
  expect(shape?.line.startsWith("M10.0 36.0 C")).toBe(true);
  expect(shape?.head.startsWith("M50.0 60.0 ")).toBe(true);
  const [up] = shapes(arrow([3, 100], [1, 500]));
  expect(up?.line.startsWith("M10.0 60.0 C")).toBe(true);
  expect(up?.head.startsWith("M50.0 36.0 ")).toBe(true);
});

it("leaves out what is not in sight, and leads to the border where one end is scrolled away", () => {
  expect(shapes(arrow([1, 2000], [3, 3000]), arrow([1, 0], [99, 10]), arrow([20, 0], [30, 10]))).toEqual([]);
  const [shape] = shapes(arrow([1, 100], [50, 500]));
  expect(shape?.head.startsWith("M50.0 204.0 ")).toBe(true);
});

it("turns with the timeline, and stays finite at any zoom", () => {
  const [turned] = arrowShapes([arrow([1, 100], [3, 500])], place, 0, 10, 100, 200, true);
  expect(turned?.line.startsWith("M36.0 10.0 C")).toBe(true);
  const [close] = arrowShapes([arrow([1, 0], [3, 1e15])], place, 0, 1e-9, 100, 200, false);
  expect(close?.line).toContain("200.0");
});
