import * as Plot from "@observablehq/plot";

import { valueDomain } from "../base/axis";
import type { SampleFigure, SamplePoint } from "../base/document";
import { FAINT, INK, MUTED } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { hintText, sampleDots } from "./sample-marks";

// The golden ratio scatters neighbours evenly and, unlike chance, the same way each time.
const SCATTER = 0.618034;
const COLUMN = 0.62;

interface Scattered extends SamplePoint {
  readonly x: number;
}

/** A column of dots for each process, with the median of all and its interval across them. */
export function distribution(figure: SampleFigure, width: number, height: number): Chart {
  const processes = [...new Set(figure.samples.map(({ process }) => process))].sort((a, b) => a - b);
  const points: Scattered[] = figure.samples.map((sample, index) => ({
    ...sample,
    x: processes.indexOf(sample.process) + 0.5 + COLUMN * (((index * SCATTER) % 1) - 0.5),
  }));
  const domain = valueDomain(points.map(({ value }) => value), figure.median);
  return chart(`${figure.name}: samples by process, median and 95 % interval`, {
    width,
    height,
    marginTop: 20,
    marginBottom: 22,
    marginLeft: 6,
    marginRight: 6,
    // The chart of the order stands to the left and has the axis of both.
    x: { domain: [0, processes.length], axis: null },
    y: { domain, axis: null },
    marks: [
      Plot.gridY({ ticks: 4, stroke: FAINT, strokeOpacity: 1 }),
      Plot.rect([figure], {
        x1: 0,
        x2: processes.length,
        y1: "low",
        y2: "high",
        fill: INK,
        fillOpacity: 0.1,
      }),
      Plot.ruleY([figure.median], { stroke: INK, strokeOpacity: figure.stable ? 0.7 : 0 }),
      sampleDots(points, (point) => point.x, figure.stable),
      Plot.text(processes, {
        x: (_: number, index: number) => index + 0.5,
        frameAnchor: "bottom",
        dy: 15,
        text: (process: number) => `p${process + 1}`,
        fill: MUTED,
      }),
      hint(points, (point) => point.x, (point) => point.value, (at) => hintText(figure, at)),
    ],
  });
}
