import { describe, expect, it } from "vitest";

import { assertExists } from "../base/assert";
import type { RankingFigure, SharesFigure, TrialsFigure } from "../base/diagnosis";
import { ranking, stacked } from "./ranking";
import { shareDomain, shares } from "./shares";
import { covariate, namedPhases, timeDomain, timeUnit, trials } from "./trials";

const TRIALS: TrialsFigure = {
  id: "trials",
  unit: "B/s",
  good: 5.9e9,
  bad: 2.8e9,
  points: [
    { at: 4, value: 5.9e9, arm: "good", note: "trial 1", polluted: false },
    { at: 6, value: 2.8e9, arm: "bad", note: "trial 2", polluted: true },
    { at: 8, value: 5.7e9, arm: "repaired", note: "trial 3", polluted: false },
  ],
  phases: [
    { name: "gap", start: 4, end: 8 },
    { name: "repair", start: 8, end: 10 },
  ],
  bands: [{ arm: "repaired", start: 8, end: 10, low: 5.6e9, high: 5.8e9 }],
};

const SHARES: SharesFigure = {
  id: "shares",
  rows: [
    { name: "a", kind: "cause", begin: 0, value: 0.6, low: 0.5, high: 0.7, text: "60 % (50 to 70)" },
    { name: "unexplained", kind: "unexplained", begin: 0.6, value: 0.4, low: 0.3, high: 0.5, text: "40 % (30 to 50)" },
  ],
};

const RANKING: RankingFigure = {
  id: "ranking",
  terms: ["matters", "direction", "cost"],
  rows: [{ name: "memory.thp", score: 2.5, cause: true, points: [2, 1, -0.5] }],
};

describe("trials in order of time", () => {
  it("are drawn with what is needed to read them", () => {
    const drawn = trials(TRIALS, 800);
    expect(drawn.getAttribute("aria-label")).toContain("3 trials");
    expect(drawn.textContent).toContain("repair");
    expect(drawn.textContent).toContain("good");
    expect(drawn.textContent).toContain("GB/s");
  });

  it("reach from the first one to the end of the last experiment", () => {
    const [start, end] = timeDomain(TRIALS);
    expect(start).toBeLessThan(4);
    expect(end).toBeGreaterThan(10);
  });

  it("are told in minutes when they took long", () => {
    expect(timeUnit(90)).toEqual([1, "s"]);
    expect(timeUnit(900)).toEqual([60, "min"]);
  });

  it("leave out names that would lie on each other", () => {
    const phases = [
      { name: "first", start: 0, end: 1 },
      { name: "second", start: 1, end: 2 },
      { name: "third", start: 60, end: 70 },
    ];
    expect(namedPhases(phases, 5).map(({ name }) => name)).toEqual(["first", "third"]);
  });

  it("have what else is known below them", () => {
    const figure = {
      id: "covariate0",
      name: "CPU clock",
      unit: "Hz",
      points: [[4, 1.5e9, "good"], [6, 1.4e9, "bad"]] as const,
    };
    const label = assertExists(covariate(figure, TRIALS, 800).getAttribute("aria-label"), "label");
    expect(label).toContain("1.40 to 1.50 GHz");
  });
});

describe("shares", () => {
  it("hold the whole gap and every interval", () => {
    expect(shareDomain(SHARES.rows)).toEqual([0, 1.1]);
  });

  it("are told to those who listen", () => {
    expect(shares(SHARES, 700).getAttribute("aria-label")).toContain("unexplained 40 % (30 to 50)");
  });
});

describe("the ranking", () => {
  it("stacks what speaks for a suspect to the right, and what against it to the left", () => {
    expect(stacked(RANKING).map(({ from, to }) => [from, to])).toEqual([
      [0, 2],
      [2, 3],
      [0, -0.5],
    ]);
  });

  it("marks the cause", () => {
    expect(ranking(RANKING, 700).textContent).toContain("● memory.thp");
  });
});
