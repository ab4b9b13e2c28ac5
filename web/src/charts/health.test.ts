import { describe, expect, it } from "vitest";

import type { CountedFigure, HappeningsFigure, SensorFigure } from "../base/health";
import { timeText, timeTick } from "../base/moments";
import { counted, labelEvery, riseText } from "./counted";
import { HOSTILE } from "./fixtures";
import { happenings, radius } from "./happenings";
import { sensor, stretches } from "./sensor";

const DAY = 86_400_000;
const MONDAY = Date.UTC(2026, 7, 31);

const COUNTED: CountedFigure = {
  id: "counter0",
  name: "sda CRC errors",
  unit: "",
  by: "week",
  now: 12,
  total: 12,
  rising: 3,
  bars: [
    { label: "26-W33", rise: 0, late: false, watched: 1 },
    { label: "26-W34", rise: null, late: false, watched: 0 },
    { label: "26-W35", rise: 4, late: true, watched: 0.5 },
    { label: "26-W36", rise: 8, late: false, watched: 1 },
  ],
};

const HAPPENED: HappeningsFigure = {
  id: "happenings",
  began: MONDAY,
  ended: MONDAY + 7 * DAY,
  rows: [
    {
      name: HOSTILE,
      points: [
        { at: MONDAY + DAY, last: MONDAY + 2 * DAY, count: 100, severity: "failing", text: HOSTILE },
        { at: MONDAY + 3 * DAY, last: MONDAY + 3 * DAY, count: 1, severity: "", text: "rebooted" },
      ],
    },
  ],
  gaps: [{ began: MONDAY + 4 * DAY, ended: MONDAY + 5 * DAY, why: "not watched" }],
};

const SENSOR: SensorFigure = {
  id: "sensor0",
  name: "SoC",
  unit: "°C",
  began: MONDAY,
  ended: MONDAY + 3 * DAY,
  points: [0, 0.1, 0.2, 2.5, 2.6].map((day) => ({
    began: MONDAY + day * DAY,
    until: MONDAY + (day + 0.08) * DAY,
    low: 50,
    mean: 52 + day,
    high: 60,
  })),
};

describe("a counter by periods", () => {
  it("has a bar for each period, also where nobody looked", () => {
    const drawn = counted(COUNTED, 400);
    expect(drawn.querySelectorAll("rect").length).toBe(4);
    expect(drawn.getAttribute("aria-label")).toContain("12 in all");
  });

  it("says in words what a bar is", () => {
    expect(COUNTED.bars.map(riseText)).toEqual([
      "0\nwatched 100 %",
      "not watched",
      "+4, or earlier: seen after a gap\nwatched 50 %",
      "+8\nwatched 100 %",
    ]);
  });

  it("leaves out labels that would lie on each other", () => {
    expect(labelEvery(4, 400)).toBe(1);
    expect(labelEvery(60, 400)).toBe(7);
  });
});

describe("what happened", () => {
  it("is drawn in a row for each class, with names as text", () => {
    const drawn = happenings(HAPPENED, 700);
    expect(drawn.getAttribute("aria-label")).toContain("101 events of 1 classes");
    expect(drawn.querySelector("img")).toBeNull();
  });

  it("is larger where it was more often, up to a limit", () => {
    expect(radius(1)).toBe(3);
    expect(radius(10)).toBe(5);
    expect(radius(1e12)).toBe(9);
  });
});

describe("a sensor over time", () => {
  it("is open where nobody looked", () => {
    expect(stretches(SENSOR.points).map(({ length }) => length)).toEqual([3, 2]);
    expect(sensor(SENSOR, 400).getAttribute("aria-label")).toBe(
      "SoC: from 50.0 to 60.0 °C; see the table",
    );
  });

  it("is drawn of one reading", () => {
    const [point] = SENSOR.points;
    expect(stretches(point === undefined ? [] : [point]).length).toBe(1);
    expect(stretches([])).toEqual([]);
  });
});

describe("points in time", () => {
  it("are as precise as the span needs", () => {
    const at = new Date(MONDAY + 13.5 * 3_600_000);
    expect(timeTick(MONDAY, MONDAY + DAY)(at)).toBe("13:30");
    expect(timeTick(MONDAY, MONDAY + 60 * DAY)(at)).toBe("31 Aug");
    expect(timeTick(MONDAY, MONDAY + 900 * DAY)(at)).toBe("Aug 2026");
    expect(timeText(MONDAY)).toBe("2026-08-31 00:00 UTC");
  });
});
