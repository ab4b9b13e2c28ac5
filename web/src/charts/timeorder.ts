import * as Plot from "@observablehq/plot";

import { valueDomain } from "../base/axis";
import type { SampleFigure, SamplePoint } from "../base/document";
import { FAINT, INK, MUTED } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { formatNumber, handyUnit } from "../base/units";
import { hintText, sampleDots } from "./sample-marks";

/** Room beside the body, for what is to line up with it. */
export const LEFT = 48;
export const RIGHT = 6;

interface Ordered extends SamplePoint {
  readonly order: number;
}

/** Every sample in the order in which it was measured: drift, steps and periods show here. */
export function timeorder(figure: SampleFigure, width: number, height: number): Chart {
  const points: Ordered[] = figure.samples.map((sample, order) => ({ ...sample, order: order + 1 }));
  const domain = valueDomain(points.map(({ value }) => value), figure.median);
  const [factor, unit] = handyUnit(figure.median, figure.unit);
  const starts = points.filter(
    (point, index) => index > 0 && point.process !== points[index - 1]?.process,
  );
  return chart(`${figure.name}: ${points.length} samples in the order of measuring`, {
    width,
    height,
    marginTop: 20,
    marginBottom: 22,
    marginLeft: LEFT,
    marginRight: RIGHT,
    x: { domain: [0, points.length + 1], label: null },
    y: { domain, label: null },
    marks: [
      Plot.gridY({ ticks: 4, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisX({ ticks: 4, tickSize: 0, label: null, color: MUTED }),
      Plot.axisY({
        ticks: 4,
        tickSize: 0,
        tickFormat: (value: number) => formatNumber(value / factor),
        label: unit,
        labelArrow: "none",
        labelOffset: 44,
        color: MUTED,
      }),
      Plot.ruleX(starts, { x: ({ order }: Ordered) => order - 0.5, stroke: "var(--rule-strong)" }),
      Plot.ruleY([figure.median], { stroke: INK, strokeOpacity: figure.stable ? 0.7 : 0 }),
      sampleDots(points, (point) => point.order, figure.stable),
      hint(points, (point) => point.order, (point) => point.value, (at) => hintText(figure, at)),
    ],
  });
}
