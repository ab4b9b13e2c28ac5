import { expect, it, vi } from "vitest";

import { okay, type Result } from "../base/result";
import { paintTrack, type TrackLines, TrackStore, valueAt } from "./tracks";

const LINES: TrackLines = {
  minimum: 0, maximum: 10, begin: [100, 200, 400], end: [200, 300, 500], low: [1, 5, 0], high: [1, 10, 0],
};

it("knows the value at a time, several of one pixel, and where it is not known", () => {
  expect([99, 100, 199, 200, 299, 300, 450, 500].map((time) => valueAt(LINES, time)))
    .toEqual([null, [1, 1], [1, 1], [5, 10], [5, 10], null, [0, 0], null]);
});

it("asks once for what is seen, and again when that is not enough", async () => {
  const asked = vi.fn((): Promise<Result<TrackLines>> => Promise.resolve(okay(LINES)));
  const arrived = vi.fn();
  const store = new TrackStore(10_000, asked, arrived);
  const track = { name: "run-queue", cpu: 0 };
  expect(store.lines(track, { begin: 4000, end: 5000 }, 1000)).toBeNull();
  store.lines(track, { begin: 4001, end: 5001 }, 1000);
  await Promise.resolve();
  expect(asked).toHaveBeenCalledOnce();
  expect(arrived).toHaveBeenCalledOnce();
  expect(store.lines(track, { begin: 3200, end: 4200 }, 1000)).toBe(LINES);
  expect(asked).toHaveBeenCalledOnce();
  // Closer, and elsewhere: what is there stands in meanwhile.
  expect(store.lines(track, { begin: 4000, end: 8000 }, 1000)).toBe(LINES);
  expect(asked).toHaveBeenCalledTimes(2);
});

it("fills each pixel of which a value is known, and no other", () => {
  const filled = new Set<number>();
  const context = {
    fillRect: (x: number, _y: number, width: number) => { for (let at = x; at < x + width; at += 1) filled.add(at); },
  } as unknown as CanvasRenderingContext2D;
  const box = { from: 0, bar: 34, lane: 0, order: -2 } as never;
  paintTrack(context, LINES, box, 0, { begin: 0, perPixel: 10 }, 1, 45, { line: "red" } as never);
  expect([...filled].sort((a, b) => a - b)).toEqual([
    ...Array.from({ length: 20 }, (_, at) => 10 + at), 40, 41, 42, 43, 44,
  ]);
});

it("gives fractions the height of the bar", () => {
  const heights: number[] = [];
  const context = { fillRect: (_x: number, _y: number, _width: number, height: number) => { heights.push(height); } } as unknown as CanvasRenderingContext2D;
  const box = { from: 0, bar: 34, lane: 0, order: -2 } as never;
  const lines = { minimum: 0.1, maximum: 0.4, begin: [0], end: [100], low: [0.2], high: [0.4] };
  paintTrack(context, lines, box, 0, { begin: 0, perPixel: 10 }, 1, 45, { line: "red" } as never);
  expect(heights).toEqual([32, 16]);
});
