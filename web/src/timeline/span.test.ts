import { describe, expect, it } from "vitest";

import { between, centreOf, clampSpan, CLOSEST, lengthOf, shiftSpan, viewOf, zoomSpan } from "./span";

describe("a span that is looked at", () => {
  it("keeps the place under the pointer where it is while it is zoomed", () => {
    const span = { begin: 1000, end: 3000 };
    const closer = zoomSpan(span, 0.5, 1500);
    expect(closer).toEqual({ begin: 1250, end: 2250 });
    expect((1500 - closer.begin) / lengthOf(closer)).toBe((1500 - 1000) / 2000);
  });

  it("stays beside the trace and not closer than can be shown", () => {
    expect(lengthOf(clampSpan({ begin: 5, end: 6 }, 1e9))).toBe(CLOSEST);
    const far = clampSpan({ begin: -9e9, end: 9e9 }, 1e9);
    expect(lengthOf(far)).toBeCloseTo(1.1e9);
    expect(Math.abs(centreOf(far) / 0.5e9 - 1)).toBeLessThan(0.02);
    const beyond = clampSpan({ begin: 2e9, end: 2.1e9 }, 1e9);
    expect(beyond.end).toBeCloseTo(1.005e9);
    expect(lengthOf(beyond)).toBeCloseTo(0.1e9);
  });

  it("does not lose nanoseconds far from the begin", () => {
    const late = 2 ** 52;
    const span = clampSpan({ begin: late, end: late + 100 }, 2 ** 53);
    expect(span).toEqual({ begin: late, end: late + 100 });
    expect(shiftSpan(span, 1).begin - late).toBe(1);
  });

  it("moves to another so that a fixed point stays fixed", () => {
    const from = { begin: 0, end: 1000 };
    const to = zoomSpan(from, 0.01, 300);
    const halfway = between(from, to, 0.5);
    expect(lengthOf(halfway)).toBeCloseTo(100);
    expect((300 - halfway.begin) / lengthOf(halfway)).toBeCloseTo(0.3);
    expect(between(from, to, 1)).toBe(to);
    expect(between(from, shiftSpan(from, 50), 0.5)).toEqual({ begin: 25, end: 1025 });
  });

  it("is left alone when it shows well what is wanted", () => {
    const view = { begin: 0, end: 1000 };
    expect(viewOf({ begin: 100, end: 200 }, view, 1e6)).toBe(view);
    expect(viewOf({ begin: 5000, end: 5100 }, view, 1e6)).toEqual({ begin: 4800, end: 5300 });
    expect(lengthOf(viewOf({ begin: 100, end: 102 }, view, 1e6))).toBe(CLOSEST);
  });

  it("moves to a moment without a change of the zoom", () => {
    const view = { begin: 0, end: 30e6 };
    expect(viewOf({ begin: 100, end: 101 }, view, 1e9)).toBe(view);
    const moved = viewOf({ begin: 5e8, end: 5e8 + 1 }, view, 1e9);
    expect(lengthOf(moved)).toBe(30e6);
    expect((moved.begin + moved.end) / 2).toBeCloseTo(5e8 + 0.5, 6);
  });
});
