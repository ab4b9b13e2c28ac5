import * as Plot from "@observablehq/plot";

import { valueDomain } from "../base/axis";
import type {
  HistoryChange,
  HistoryFigure,
  HistoryLine,
  HistoryPoint,
} from "../base/document";
import { FAINT, lineColour, lineSymbol, MUTED, SURFACE } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { formatChange, formatNumber, formatValue, handyUnit } from "../base/units";

const TOP = 34;
const BOTTOM = 40;
const LEFT = 58;
const RIGHT = 16;
const TICK = 90;
const DAY = 86_400_000;

interface Placed {
  readonly line: HistoryLine;
  readonly point: HistoryPoint;
}

/** A change at its place: between two points, at half of the way. */
interface Turn {
  readonly x: number;
  readonly change: HistoryChange;
}

/**
 * A point a run with its interval, the level of the runs between two changes as a line, and a rule
 * at each change. A click on a point opens its run.
 */
export function history(figure: HistoryFigure, width: number): Chart {
  const placed = figure.lines.flatMap((line) => line.points.map((point) => ({ line, point })));
  const at = (point: HistoryPoint): number => (figure.by === "time" ? point.time : point.order);
  const places = placed.map(({ point }) => at(point));
  const values = placed.flatMap(({ point }) => [point.low, point.high]);
  const domain = valueDomain(values, middle(placed.map(({ point }) => point.median)));
  const [factor, unit] = handyUnit(domain[1], figure.unit);
  const turns = figure.lines.flatMap((line) => turnsOf(line, at));
  const svg = chart(describe(figure), {
    width,
    height: Math.round(Math.min(420, Math.max(280, width * 0.36))),
    marginTop: TOP,
    marginBottom: BOTTOM,
    marginLeft: LEFT,
    marginRight: RIGHT,
    x: { domain: span(places, figure.by), label: null },
    y: { domain, label: null },
    marks: [
      Plot.gridY({ ticks: 6, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisX({
        ...axis(figure, places, width),
        tickSize: 4,
        label: figure.by === "time" ? "when the run began, UTC" : "runs in their order",
        labelAnchor: "center",
        labelArrow: "none",
        labelOffset: 36,
        color: MUTED,
      }),
      Plot.axisY({
        ticks: 6,
        tickSize: 0,
        tickPadding: 8,
        tickFormat: (value: number) => formatNumber(value / factor),
        label: unit,
        labelArrow: "none",
        color: MUTED,
      }),
      Plot.ruleX(turns, { x: "x", stroke: turnColour, strokeDasharray: "4 3", strokeWidth: 1.25 }),
      Plot.text(turns, {
        x: "x",
        frameAnchor: "top",
        dy: -12,
        text: ({ change }: Turn) => formatChange(change.ratio),
        fill: turnColour,
        fontWeight: 600,
      }),
      figure.lines.map((line) => lineMarks(line, at)),
      hint(
        placed,
        ({ point }) => at(point),
        ({ point }) => point.median,
        (each) => hintText(figure, each),
      ),
    ],
  });
  svg.addEventListener("click", () => {
    // Plot keeps the datum under the pointer here.
    const under = (svg as unknown as { value?: Placed | null }).value;
    if (under?.point !== undefined) location.assign(under.point.url);
  });
  return svg;
}

function lineMarks(line: HistoryLine, at: (point: HistoryPoint) => number): Plot.Markish[] {
  const colour = lineColour(line.style);
  return [
    line.levels.map(({ first, last, median }) =>
      Plot.ruleY([median], {
        x1: placeOf(line, first, at),
        x2: placeOf(line, last, at),
        stroke: colour,
        strokeWidth: 2,
        strokeOpacity: 0.55,
      }),
    ),
    Plot.line(line.points, { x: at, y: "median", stroke: colour, strokeWidth: 1, strokeOpacity: 0.3 }),
    Plot.ruleX(line.points, { x: at, y1: "low", y2: "high", stroke: colour, strokeWidth: 1.25 }),
    Plot.dot(line.points, {
      x: at,
      y: "median",
      symbol: lineSymbol(line.style),
      r: 3.6,
      stroke: colour,
      strokeWidth: 1.5,
      fill: ({ stable }: HistoryPoint) => (stable ? colour : SURFACE),
    }),
  ];
}

function placeOf(line: HistoryLine, index: number, at: (point: HistoryPoint) => number): number {
  const point = line.points[index];
  return point === undefined ? 0 : at(point);
}

function turnsOf(line: HistoryLine, at: (point: HistoryPoint) => number): Turn[] {
  return line.changes.map((change) => ({
    x: (placeOf(line, change.at - 1, at) + placeOf(line, change.at, at)) / 2,
    change,
  }));
}

function turnColour({ change }: Turn): string {
  return `var(--${change.verdict})`;
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** From the first to the last place, with room for a marker on either side. */
function span(places: readonly number[], by: HistoryFigure["by"]): [number, number] {
  const low = Math.min(...places);
  const high = Math.max(...places);
  const margin = by === "order" ? 0.6 : Math.max((high - low) * 0.02, 60_000);
  return [low - margin, high + margin];
}

/** Numbers of runs, or dates: with the time of the day where all lie within two days. */
function axis(
  figure: HistoryFigure,
  places: readonly number[],
  width: number,
): { ticks: number[]; tickFormat: (place: number) => string } {
  const low = Math.min(...places);
  const high = Math.max(...places);
  const most = Math.max(2, Math.floor((width - LEFT - RIGHT) / TICK));
  if (figure.by === "order") {
    const step = Math.max(1, Math.ceil((high - low + 1) / (most * 1.5)));
    const ticks = [];
    for (let place = low; place <= high; place += step) ticks.push(place);
    return { ticks, tickFormat: String };
  }
  const ticks = Array.from(
    { length: most },
    (_, index) => low + ((high - low) * index) / Math.max(1, most - 1),
  );
  const close = high - low < 2 * DAY;
  return { ticks: high > low ? ticks : [low], tickFormat: (place) => date(place, close) };
}

/** `2026-11-22`, or `11-22 08:04` among times of the same days. */
export function date(time: number, close: boolean): string {
  const iso = new Date(time).toISOString();
  return close ? iso.slice(5, 16).replace("T", " ") : iso.slice(0, 10);
}

function hintText(figure: HistoryFigure, { line, point }: Placed): string {
  const value = formatValue(point.median, figure.unit);
  const head = point.stable ? value : `unstable (median ${value})`;
  const range = `${formatValue(point.low, figure.unit)} to ${formatValue(point.high, figure.unit)}`;
  const when = new Date(point.time).toISOString().slice(0, 16).replace("T", " ");
  const board = figure.lines.length > 1 ? `${line.name}\n` : "";
  return `${board}${point.name}\n${when} UTC\n${head}\n95 % interval ${range}\n${point.n} samples`;
}

function describe(figure: HistoryFigure): string {
  const runs = figure.lines.reduce((sum, { points }) => sum + points.length, 0);
  const changed = figure.lines.reduce((sum, { changes }) => sum + changes.length, 0);
  return `${figure.title}: ${runs} runs, ${changed} changes; the values are in the table below`;
}
