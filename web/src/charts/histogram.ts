import * as Plot from "@observablehq/plot";

import { decadeTicks } from "../base/axis";
import type { LatencyFigure, LatencyLine, LatencyStep } from "../base/document";
import { FAINT, lineColour, lineSymbol, MUTED, SURFACE } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { formatValue } from "../base/units";

const TOP = 14;
const BOTTOM = 44;
const LEFT = 62;
const RIGHT = 14;
const TICK = 58;
// Room below the share that a single latency has, so that its step can be seen.
const FLOOR = 0.45;
// Shared by the lines: many full areas on top of each other would be one grey.
const FILL = 0.16;
// A latency of 0 ns has no place on a logarithmic axis.
const SHORTEST = 0.5;

interface Corner {
  readonly x: number;
  readonly y: number;
}

interface Placed {
  readonly line: LatencyLine;
  readonly step: LatencyStep;
}

/** Latencies over their share of all, both logarithmic: what is rare is as visible as the rest. */
export function histogram(figure: LatencyFigure, width: number): Chart {
  const height = Math.round(Math.min(360, Math.max(240, width * 0.46)));
  const placed = figure.lines.flatMap((line) =>
    line.latencies.steps.map((step) => ({ line, step })),
  );
  const floor = FLOOR / Math.max(...figure.lines.map(({ latencies }) => latencies.count));
  const lowest = Math.max(SHORTEST, Math.min(...placed.map(({ step }) => step.low))) / 1.15;
  const highest = Math.max(...placed.map(({ step }) => step.high)) * 1.15;
  const ticks = decadeTicks(lowest, highest, Math.max(3, Math.floor((width - LEFT - RIGHT) / TICK)));

  return chart(describe(figure), {
    width,
    height,
    marginTop: TOP,
    marginBottom: BOTTOM,
    marginLeft: LEFT,
    marginRight: RIGHT,
    x: { type: "log", domain: [lowest, highest], label: null },
    y: { type: "log", domain: [floor, 1], label: null },
    marks: [
      Plot.gridY({ ticks: decades(floor), stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisX({
        ticks,
        // As `text`: on logarithmic axes Plot leaves out what a `tickFormat` gives to some ticks.
        text: (ns: number) => formatValue(ns, "ns").replace(/\.0+(?= )/, ""),
        label: figure.x_name ?? "latency",
        labelAnchor: "center",
        labelArrow: "none",
        labelOffset: 38,
        tickSize: 4,
        color: MUTED,
      }),
      Plot.axisY({
        ticks: decades(floor),
        text: share,
        tickSize: 0,
        tickPadding: 8,
        color: MUTED,
      }),
      figure.lines.map((line) => lineMarks(line, floor, FILL / figure.lines.length)),
      hint(
        placed,
        ({ step }) => middle(step),
        ({ step }) => step.share,
        (at) => hintText(figure, at),
      ),
    ],
  });
}

function lineMarks(line: LatencyLine, floor: number, fillOpacity: number): Plot.Markish[] {
  const colour = lineColour(line.style);
  const corners = outline(line.latencies.steps, floor);
  return [
    Plot.areaY(corners, { x: "x", y1: floor, y2: "y", fill: colour, fillOpacity }),
    Plot.line(corners, { x: "x", y: "y", stroke: colour, strokeWidth: 1.5 }),
    Plot.dot([line.latencies.maximum], {
      x: (maximum: number) => Math.max(SHORTEST, maximum),
      y: () => floor,
      symbol: lineSymbol(line.style),
      r: 4,
      stroke: colour,
      strokeWidth: 1.75,
      fill: SURFACE,
    }),
  ];
}

/** The corners of a line of steps that falls to the floor where there is nothing. */
function outline(steps: readonly LatencyStep[], floor: number): Corner[] {
  const corners: Corner[] = [];
  let end = -1;
  for (const step of steps) {
    const low = Math.max(SHORTEST, step.low);
    if (step.low !== end) {
      if (end >= 0) corners.push({ x: end, y: floor });
      corners.push({ x: low, y: floor });
    }
    corners.push({ x: low, y: step.share }, { x: step.high, y: step.share });
    end = step.high;
  }
  if (end >= 0) corners.push({ x: end, y: floor });
  return corners;
}

/** 1, 0.1, 0.01 and so on, down to the floor. */
function decades(floor: number): number[] {
  const ticks = [];
  for (let power = 0; 10 ** -power >= floor; power += 1) ticks.push(1 / 10 ** power);
  return ticks;
}

function share(part: number): string {
  return `${Number((part * 100).toPrecision(3))} %`;
}

/** In the middle of a step as it is drawn. */
function middle(step: LatencyStep): number {
  return Math.sqrt(Math.max(SHORTEST, step.low) * step.high);
}

function hintText(figure: LatencyFigure, { line, step }: Placed): string {
  const range = `${formatValue(step.low, "ns")} to ${formatValue(step.high, "ns")}`;
  const count = Math.round(step.share * line.latencies.count);
  const name = figure.lines.length > 1 ? `${line.name}\n` : "";
  return `${name}${range}\n${share(step.share)} (${count} of ${line.latencies.count})`;
}

function describe(figure: LatencyFigure): string {
  const lines = figure.lines.map(({ name }) => name).join(", ");
  return `${figure.title}: histogram of latencies (${lines}); the percentiles are in the table below`;
}
