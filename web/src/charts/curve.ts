import * as Plot from "@observablehq/plot";

import { decadeTicks, sizeTicks } from "../base/axis";
import type { CurveFigure, CurveLine, CurvePoint } from "../base/document";
import { FAINT, lineColour, lineSymbol, MUTED, SURFACE } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { formatSize, formatValue, handyUnit } from "../base/units";
import { cacheRules } from "./cache-rules";
import { lineNames, nameMargin } from "./line-names";

const TOP = 34;
const BOTTOM = 44;
const LEFT = 58;
const TICK = 62;

interface Placed {
  readonly line: CurveLine;
  readonly point: CurvePoint;
}

/** Values over a size or a count: a line for each variant, with its interval, and rules at the caches. */
export function curve(figure: CurveFigure, width: number): Chart {
  const height = Math.round(Math.min(400, Math.max(300, width * 0.42)));
  const placed = figure.lines.flatMap((line) => line.points.map((point) => ({ line, point })));
  const [lowest, highest] = extent(placed.map(({ point }) => point.x));
  const top = Math.max(...placed.map(({ point }) => point.high));
  const bottom = Math.min(...placed.map(({ point }) => point.low));
  const [factor, unit] = handyUnit(top, figure.unit);
  const log = figure.y_scale === "log";
  const domain: [number, number] = log ? [bottom * 0.8, top * 1.25] : [0, top * 1.06];
  const right = figure.name_lines ? nameMargin(figure.lines, width) : 16;
  const plotWidth = width - LEFT - right;
  const margins = { marginTop: TOP, marginBottom: BOTTOM, marginLeft: LEFT, marginRight: right };

  return chart(describe(figure), {
    width,
    height,
    ...margins,
    x: {
      type: "log",
      base: 2,
      domain: [lowest / 1.12, highest * 1.12],
      label: null,
    },
    y: { type: log ? "log" : "linear", domain, label: null },
    marks: [
      Plot.gridY({
        ticks: log ? decadeTicks(...domain, 8) : 6,
        stroke: FAINT,
        strokeOpacity: 1,
      }),
      Plot.axisX({
        ticks: sizeTicks(lowest, highest, Math.max(3, Math.floor(plotWidth / TICK))),
        // As `text`: on logarithmic axes Plot leaves out what a `tickFormat` gives to some ticks.
        text: (value: number) => formatPlace(figure, value),
        label: figure.x_name,
        labelAnchor: "center",
        labelArrow: "none",
        labelOffset: 38,
        tickSize: 4,
        color: MUTED,
      }),
      Plot.axisY({
        ticks: log ? decadeTicks(...domain, 8) : 6,
        text: (value: number) =>
          log ? formatValue(value, figure.unit).replace(/\.0+(?= )/, "") : String(round(value / factor)),
        label: log ? null : unit,
        labelArrow: "none",
        tickSize: 0,
        tickPadding: 8,
        color: MUTED,
      }),
      cacheRules(figure.caches, lowest, highest, plotWidth),
      figure.lines.map((line) => lineMarks(line)),
      figure.name_lines
        ? lineNames(figure.lines, {
            x: highest * 1.12,
            scale: { type: log ? "log" : "linear", domain, range: [height - BOTTOM, TOP] },
          })
        : null,
      hint(
        placed,
        ({ point }) => point.x,
        ({ point }) => point.median,
        (at) => hintText(figure, at),
      ),
    ],
  });
}

function lineMarks(line: CurveLine): Plot.Markish[] {
  const colour = lineColour(line.style);
  const points = [...line.points].sort((a, b) => a.x - b.x);
  return [
    Plot.areaY(points, { x: "x", y1: "low", y2: "high", fill: colour, fillOpacity: 0.14 }),
    Plot.line(points, {
      x: "x",
      y: "median",
      stroke: colour,
      strokeWidth: 1.75,
      // Dashed: these numbers carry a caveat and must not pass for the others' kind.
      strokeDasharray: line.caveat ? "2 5" : "none",
    }),
    Plot.ruleX(points, { x: "x", y1: "low", y2: "high", stroke: colour, strokeWidth: 1.25 }),
    Plot.dot(points, {
      x: "x",
      y: "median",
      symbol: lineSymbol(line.style),
      r: 3.4,
      stroke: colour,
      strokeWidth: 1.5,
      fill: (point: CurvePoint) => (point.stable ? colour : SURFACE),
    }),
  ];
}

function hintText(figure: CurveFigure, { line, point }: Placed): string {
  const value = formatValue(point.median, figure.unit);
  const range = `${formatValue(point.low, figure.unit)} to ${formatValue(point.high, figure.unit)}`;
  const head = point.stable ? value : `unstable (median ${value})`;
  const caveat = line.caveat ? "\nwith a caveat: see below" : "";
  return `${line.name}\n${formatPlace(figure, point.x)}: ${head}\n95 % interval ${range}\n${point.n} samples${caveat}`;
}

function formatPlace(figure: CurveFigure, x: number): string {
  return figure.x_kind === "size" ? formatSize(x) : String(x);
}

function describe(figure: CurveFigure): string {
  const lines = figure.lines.map(({ name }) => name).join(", ");
  return `${figure.title}: ${figure.lines.length} lines (${lines}); the values are in the tables`;
}

function extent(values: readonly number[]): [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

function round(value: number): number {
  return Number(value.toPrecision(6));
}
