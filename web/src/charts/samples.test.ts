import { describe, expect, it } from "vitest";

import { distribution } from "./distribution";
import { HOSTILE, sampleFigure } from "./fixtures";
import { timeorder } from "./timeorder";

const CHARTS = [
  ["in time order", timeorder],
  ["by process", distribution],
] as const;

describe.each(CHARTS)("samples %s", (_, draw) => {
  it("draws every sample once", () => {
    const svg = draw(sampleFigure(), 320, 128);
    expect(svg.querySelectorAll("circle").length).toBe(11);
    expect(svg.querySelectorAll('g[stroke="var(--line-2)"] path').length).toBe(1);
  });

  it("draws an unstable series hollow and without a median", () => {
    const svg = draw(sampleFigure({ stable: false }), 320, 128);
    expect(svg.querySelectorAll('g[fill="var(--surface)"] circle').length).toBe(11);
    expect(svg.querySelectorAll('[stroke-opacity="0.7"]').length).toBe(0);
  });

  it("is a named picture, whatever the name", () => {
    const svg = draw(sampleFigure({ name: HOSTILE }), 320, 128);
    expect(svg.getAttribute("aria-label")).toContain("<img");
    expect(svg.querySelectorAll("img, style").length).toBe(0);
  });

  it("takes a single sample", () => {
    const figure = sampleFigure({ samples: [{ process: 3, value: 101, flags: [] }] });
    expect(draw(figure, 320, 128).querySelectorAll("circle").length).toBe(1);
  });
});

it("separates the processes in time order", () => {
  const svg = timeorder(sampleFigure(), 320, 128);
  expect(svg.querySelectorAll('g[stroke="var(--rule-strong)"] line').length).toBe(2);
});

it("names the processes below their columns", () => {
  const shown = [...distribution(sampleFigure(), 160, 128).querySelectorAll("text")];
  expect(shown.map((text) => text.textContent)).toEqual(["p1", "p2", "p3"]);
});
