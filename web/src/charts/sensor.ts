import * as Plot from "@observablehq/plot";

import type { SensorFigure, SensorPoint } from "../base/health";
import { timeText, timeTick } from "../base/moments";
import { FAINT, MUTED } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { formatNumber } from "../base/units";

const HEIGHT = 128;
const LEFT = 48;
const COLOUR = "var(--line-1)";
/** So many times the usual distance of two readings is a gap. */
const GAP = 6;

/** What a sensor read: the band from lowest to highest, the mean as a line, gaps left open. */
export function sensor(figure: SensorFigure, width: number): Chart {
  const { points } = figure;
  const low = Math.min(...points.map((point) => point.low));
  const high = Math.max(...points.map((point) => point.high));
  const margin = Math.max((high - low) * 0.1, Math.abs(high) * 0.01, 1e-9);
  const marks = stretches(points).map((stretch) => [
    // A range that is narrower than a pixel still shows its height.
    Plot.ruleX(stretch, { x: middle, y1: "low", y2: "high", stroke: COLOUR, strokeOpacity: 0.28 }),
    Plot.areaY(outline(stretch), {
      x: ({ at }: Corner) => new Date(at),
      y1: "low",
      y2: "high",
      fill: COLOUR,
      fillOpacity: 0.18,
    }),
    Plot.lineY(stretch, { x: middle, y: "mean", stroke: COLOUR, strokeWidth: 1.5 }),
  ]);
  return chart(describe(figure, low, high), {
    width,
    height: HEIGHT,
    marginTop: 10,
    marginBottom: 24,
    marginLeft: LEFT,
    marginRight: 10,
    x: { type: "utc", domain: [new Date(figure.began), new Date(figure.ended)], label: null },
    y: { domain: [low - margin, high + margin], label: null },
    marks: [
      Plot.gridY({ ticks: 3, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisY({ ticks: 3, tickSize: 0, tickFormat: formatTick, label: null, color: MUTED }),
      Plot.axisX({
        ticks: Math.max(2, Math.floor(width / 120)),
        tickSize: 0,
        tickFormat: timeTick(figure.began, figure.ended),
        label: null,
        color: MUTED,
      }),
      ...marks,
      hint(
        points,
        (point) => (point.began + point.until) / 2,
        ({ mean }) => mean,
        (point) => hintText(figure, point),
      ),
    ],
  });
}

/** The readings, parted where nobody looked for much longer than usual. */
export function stretches(points: readonly SensorPoint[]): SensorPoint[][] {
  const lengths = points.map(({ began, until }) => until - began);
  const steps = points.slice(1).map(({ began }, index) => began - (points[index]?.until ?? began));
  const usual = median([...lengths, ...steps].filter((length) => length > 0));
  const found: SensorPoint[][] = [];
  for (const point of points) {
    const last = found.at(-1);
    const before = last?.at(-1);
    if (last === undefined || before === undefined || point.began - before.until > GAP * usual) {
      found.push([point]);
    } else {
      last.push(point);
    }
  }
  return found;
}

interface Corner {
  readonly at: number;
  readonly low: number;
  readonly high: number;
}

function outline(stretch: readonly SensorPoint[]): Corner[] {
  return stretch.flatMap(({ began, until, low, high }) => [
    { at: began, low, high },
    { at: until, low, high },
  ]);
}

function middle({ began, until }: SensorPoint): Date {
  return new Date((began + until) / 2);
}

function median(values: readonly number[]): number {
  const ordered = [...values].sort((one, other) => one - other);
  return ordered[Math.floor(ordered.length / 2)] ?? Infinity;
}

function formatTick(value: number): string {
  return String(Number(value.toPrecision(4)));
}

function hintText(figure: SensorFigure, point: SensorPoint): string {
  const { low, mean, high } = point;
  const range = low === high ? "" : `\n${formatNumber(low)} to ${formatNumber(high)}`;
  return `${timeText(point.began)}\n${formatNumber(mean)} ${figure.unit}${range}`;
}

function describe({ name, unit }: SensorFigure, low: number, high: number): string {
  return `${name}: from ${formatNumber(low)} to ${formatNumber(high)} ${unit}; see the table`;
}
