import * as Plot from "@observablehq/plot";

import type { SampleFigure, SamplePoint } from "../base/document";
import { POLLUTED, SAMPLE, SURFACE } from "../base/palette";
import { formatValue } from "../base/units";

/** Dots of samples: hollow where the series is unstable, a cross where the batch was polluted. */
export function sampleDots<T extends SamplePoint>(
  points: readonly T[],
  x: (point: T) => number,
  stable: boolean,
): Plot.Markish[] {
  const clean = points.filter(({ flags }) => flags.length === 0);
  const polluted = points.filter(({ flags }) => flags.length > 0);
  return [
    Plot.dot(clean, {
      x,
      y: "value",
      r: 2,
      fill: stable ? SAMPLE : SURFACE,
      fillOpacity: stable ? 0.75 : 1,
      stroke: stable ? "none" : SAMPLE,
    }),
    Plot.dot(polluted, {
      x,
      y: "value",
      r: 2.6,
      symbol: "times",
      stroke: POLLUTED,
      strokeWidth: 1.5,
    }),
  ];
}

/** What the pointer shows over a sample. */
export function hintText(figure: SampleFigure, point: SamplePoint): string {
  const flags = point.flags.length > 0 ? `\npolluted: ${point.flags.join(", ")}` : "";
  return `${formatValue(point.value, figure.unit)}\nprocess ${point.process + 1}${flags}`;
}
