import * as Plot from "@observablehq/plot";

import type { EvidenceFigure, Strip } from "../base/document";
import { FAINT, lineColour, MUTED } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { formatNumber, formatValue, handyUnit } from "../base/units";
import { distribution } from "./distribution";
import { LEFT, RIGHT, timeorder } from "./timeorder";

const HEIGHT = 240;
const STRIP = 92;
const SHARE = 0.3;
const LEAST_COLUMN = 180;
// Below this width the distribution stands below the samples instead of beside them.
const NARROW = 620;

/** A sample's value of a strip. */
interface Read {
  readonly order: number;
  readonly value: number;
}

/**
 * The samples in the order of measuring with their distribution, and below them on the same axis
 * what else was read at each: the clock, the temperature.
 */
export function evidence(figure: EvidenceFigure, width: number): Chart[] {
  const beside = width >= NARROW;
  const column = beside ? Math.max(LEAST_COLUMN, Math.round(width * SHARE)) : width;
  const main = beside ? width - column : width;
  return [
    timeorder(figure.samples, main, HEIGHT),
    distribution(figure.samples, column, HEIGHT),
    ...figure.strips.map((each, index) => strip(each, index + 1, main)),
  ];
}

/** One thing that was read at each sample, below the samples. */
export function strip(figure: Strip, style: number, width: number): Chart {
  const reads: Read[] = figure.values.flatMap((value, index) =>
    value === null ? [] : [{ order: index + 1, value }],
  );
  const values = reads.map(({ value }) => value);
  const low = Math.min(...values);
  const high = Math.max(...values);
  // What hardly moves must not look like a storm.
  const margin = Math.max((high - low) * 0.15, Math.abs(high) * 0.02, 1e-9);
  const [factor, unit] = handyUnit(high, figure.unit);
  const range = `${formatNumber(low / factor)} to ${formatNumber(high / factor)} ${unit}`;
  return chart(`${figure.name} at each sample: ${range}`, {
    width,
    height: STRIP,
    marginTop: 24,
    marginBottom: 8,
    marginLeft: LEFT,
    marginRight: RIGHT,
    x: { domain: [0, figure.values.length + 1], axis: null },
    y: { domain: [low - margin, high + margin], label: null },
    marks: [
      Plot.gridY({ ticks: 3, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisY({
        ticks: 3,
        tickSize: 0,
        tickFormat: (value: number) => formatNumber(value / factor),
        label: [figure.name, unit].filter(Boolean).join(", "),
        labelArrow: "none",
        labelOffset: LEFT - 4,
        color: MUTED,
      }),
      Plot.dot(reads, { x: "order", y: "value", r: 1.8, fill: lineColour(style) }),
      hint(
        reads,
        ({ order }) => order,
        ({ value }) => value,
        ({ order, value }) => `${figure.name}: ${formatValue(value, figure.unit)}\nsample ${order}`,
      ),
    ],
  });
}
