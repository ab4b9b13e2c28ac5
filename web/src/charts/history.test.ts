import { describe, expect, it, vi } from "vitest";

import { historyFigure } from "./fixtures";
import { date, history } from "./history";

describe("the history of a series", () => {
  it("draws a point a run, and each change with its size", () => {
    const drawn = history(historyFigure(), 900);
    expect(drawn.querySelectorAll('g > path, g > circle').length).toBeGreaterThanOrEqual(6);
    expect(drawn.textContent).toContain("-53.0 %");
    expect(drawn.getAttribute("aria-label")).toContain("6 runs, 1 changes");
  });

  it("shows dates by time", () => {
    const drawn = history(historyFigure({ by: "time" }), 900);
    expect(drawn.textContent).toContain("2026-03-01");
    expect(drawn.textContent).toContain("2026-03-06");
  });

  it("opens the run under the pointer", () => {
    const assign = vi.fn();
    vi.stubGlobal("location", { assign });
    const drawn = history(historyFigure(), 900);
    drawn.dispatchEvent(new Event("click"));
    expect(assign).not.toHaveBeenCalled();
    const line = historyFigure().lines[0];
    Object.assign(drawn, { value: { line, point: line?.points[2] } });
    drawn.dispatchEvent(new Event("click"));
    expect(assign).toHaveBeenCalledWith("/runs/3");
    vi.unstubAllGlobals();
  });

  it("does with a single run", () => {
    const [line] = historyFigure().lines;
    const lines = line === undefined ? [] : [{ ...line, points: line.points.slice(0, 1), levels: [], changes: [] }];
    for (const by of ["order", "time"] as const) {
      expect(history(historyFigure({ lines, by }), 600).textContent).not.toContain("NaN");
    }
  });
});

describe("a date", () => {
  it("has the time of the day among near ones", () => {
    const time = Date.UTC(2026, 10, 22, 8, 4);
    expect([date(time, false), date(time, true)]).toEqual(["2026-11-22", "11-22 08:04"]);
  });
});
