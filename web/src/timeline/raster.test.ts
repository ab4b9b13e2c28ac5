import { describe, expect, it, vi } from "vitest";

import { items } from "./fixtures";
import { paintItems, type RowLines } from "./raster";
import type { Items, Look } from "./source";
import type { Span } from "./span";
import type { Paints } from "./theme";
import { traceLook } from "./trace-look";
import { LINE_STATE, lineLook } from "./line-look";

const LOOK = traceLook([], ["running", "sleeping"], []);
const PAINTS = {
  of: (state: number) => ({ full: 10 + state, faint: 20 + state, edge: 40 + state, shades: [30, 31, 32] }),
} as unknown as Paints;
const EVER: Span = { begin: -Infinity, end: Infinity };

function linesOf(width: number): RowLines {
  const [pixels, ranks] = [new Uint32Array(3 * width), new Uint8Array(width)];
  return { pixels, ranks, used: new Float64Array(width), width };
}

/** The lines of a row of `width` pixels, one ns each, as three lists. */
function painted(of: Items, width: number, clip: Span = EVER, look: Look = LOOK): number[][] {
  const lines = linesOf(width);
  const brush = { look, paints: PAINTS, wideFrom: Infinity, wide: vi.fn() };
  paintItems(lines, of, [0, of.length], clip, { begin: 0, perPixel: 1 }, brush);
  return [0, 1, 2].map((band) => [...lines.pixels.subarray(band * width, (band + 1) * width)]);
}

describe("a row", () => {
  it("shows each item from its begin to its end, set apart from the next", () => {
    expect(painted(items([1, 3, 0, 1], [3, 8, 0, 1]), 9)[0]).toEqual([0, 32, 32, 40, 10, 10, 10, 10, 0]);
  });

  it("shows an item however short it is, and not what sleeps above it", () => {
    const [upper, , lower] = painted(items([0, 2.2, 1, 1], [2.2, 2.3, 0, 1], [2.3, 6, 1, 1]), 6);
    expect(upper).toEqual([0, 0, 30, 0, 0, 0]);
    expect(lower).toEqual([21, 21, 30, 21, 21, 21]);
  });

  it("is fainter where less of a pixel's time was used", () => {
    const [upper] = painted(items([0, 0.1, 0, 5], [1, 1.5, 0, 5], [2, 3, 0, 5], [3, 5, 0, 1]), 5);
    expect(upper).toEqual([30, 31, 32, 32, 32]);
  });

  it("paints nothing outside of its part of the time, nor of the screen", () => {
    const wide = items([-1e15, 1e15, 0, 1]);
    expect(painted(wide, 4)[0]).toEqual([10, 10, 10, 10]);
    expect(painted(wide, 5, { begin: 1, end: 3 })[0]).toEqual([0, 10, 10, 0, 0]);
    expect(painted(items([9, 10, 0, 1]), 5)[0]).toEqual([0, 0, 0, 0, 0]);
  });

  it("finds what it shows among many", () => {
    const many = items(...Array.from({ length: 1000 }, (_, at) => [at * 10 - 5000, at * 10 - 4996, 0, 1] as const));
    expect(painted(many, 12)[0]).toEqual([40, 10, 10, 10, 0, 0, 0, 0, 0, 0, 40, 10]);
  });

  it("draws a digital line with its edges", () => {
    const { low, high } = LINE_STATE;
    const line = items([0, 3, low, 1], [3, 6, high, 1], [6, 9, low, 5]);
    const [upper, middle, lower] = painted(line, 9, EVER, lineLook([]));
    // The level with which a capture begins is no edge.
    expect(upper).toEqual([0, 0, 0, 11, 11, 11, 10, 0, 0]);
    expect(middle).toEqual([0, 0, 0, 11, 21, 21, 10, 0, 0]);
    expect(lower).toEqual([10, 10, 10, 11, 21, 21, 10, 10, 10]);
  });

  it("tells which items have room for a text", () => {
    const wide = vi.fn();
    const lines = linesOf(30);
    const of = items([0, 4, 0, 1], [5, 25, 0, 1], [25, 30, 1, 1]);
    const brush = { look: LOOK, paints: PAINTS, wideFrom: 10, wide };
    paintItems(lines, of, [0, 3], EVER, { begin: 0, perPixel: 1 }, brush);
    expect(wide.mock.calls).toEqual([[1, 5, 25]]);
  });
});
