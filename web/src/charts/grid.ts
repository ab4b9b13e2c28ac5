import * as Plot from "@observablehq/plot";

import type { Cache, GridFigure, GridPlace } from "../base/document";
import { INK, MUTED } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { formatNumber, formatSize, formatValue } from "../base/units";

const TOP = 26;
const BOTTOM = 44;
const LEFT = 64;
const RIGHT = 12;
const ROW = 38;
// Cells are tinted, so that ink stays readable on the dearest one in both schemes.
const LIGHTEST = 0.04;
const DARKEST = 0.62;
// Below this width of a cell its number would touch its neighbour's.
const LEAST_CELL = 44;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A step of the grid, from the last column in which all fits to the first in which nothing does. */
interface Bracket {
  readonly y: number;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Line {
  readonly cache: Cache;
  readonly points: readonly Point[];
}

/**
 * What a switch costs by number (along) and size (up) of the processes: a cell each, the dearer the
 * darker. Dashed lines are where all processes together are as large as a cache of the board;
 * brackets are the steps that were found in the figures.
 */
export function grid(figure: GridFigure, width: number): Chart {
  const columns = figure.processes.length;
  const rows = figure.sizes.length;
  const cell = (width - LEFT - RIGHT) / columns;
  const shade = shades(figure.places);
  const lines = cacheLines(figure);
  return chart(describe(figure), {
    width,
    height: rows * ROW + TOP + BOTTOM,
    marginTop: TOP,
    marginBottom: BOTTOM,
    marginLeft: LEFT,
    marginRight: RIGHT,
    x: { domain: [-0.5, columns - 0.5], label: null },
    y: { domain: [-0.5, rows - 0.5], label: null },
    marks: [
      Plot.axisX({
        ticks: figure.processes.map((_, index) => index),
        tickFormat: (index: number) => String(figure.processes[index]),
        tickSize: 0,
        label: "processes in the ring",
        labelAnchor: "center",
        labelArrow: "none",
        labelOffset: 38,
        color: MUTED,
      }),
      Plot.axisY({
        ticks: figure.sizes.map((_, index) => index),
        tickFormat: (index: number) => formatSize(figure.sizes[index] ?? 0),
        tickSize: 0,
        label: "memory of each",
        labelArrow: "none",
        labelOffset: 60,
        color: MUTED,
      }),
      Plot.rect(figure.places, {
        x1: (at: GridPlace) => column(figure, at) - 0.5,
        x2: (at: GridPlace) => column(figure, at) + 0.5,
        y1: (at: GridPlace) => row(figure, at) - 0.5,
        y2: (at: GridPlace) => row(figure, at) + 0.5,
        inset: 1,
        rx: 2,
        fill: "var(--line-1)",
        fillOpacity: (at: GridPlace) => shade(at.median),
      }),
      Plot.text(cell < LEAST_CELL ? [] : figure.places, {
        x: (at: GridPlace) => column(figure, at),
        y: (at: GridPlace) => row(figure, at),
        text: (at: GridPlace) => (at.stable ? "" : "~") + formatted(at.median, figure.unit),
        fill: INK,
        fontVariant: "tabular-nums",
      }),
      lines.map(({ points }) =>
        Plot.line(points, {
          x: "x",
          y: "y",
          stroke: "var(--line-3)",
          strokeWidth: 2,
          strokeDasharray: "5 4",
        }),
      ),
      Plot.text(lines, {
        x: ({ points }: Line) => label(points).x,
        y: ({ points }: Line) => label(points).y,
        text: ({ cache }: Line) => `${cache.name} ${formatSize(cache.size)}`,
        fill: "var(--line-3)",
        stroke: "var(--surface)",
        strokeWidth: 4,
        className: "small",
      }),
      brackets(figure).map((at) => bracketMarks(at)),
      hint(
        figure.places,
        (at) => column(figure, at),
        (at) => row(figure, at),
        (at) => hintText(figure, at),
      ),
    ],
  });
}

function bracketMarks({ y, from, to, text }: Bracket): Plot.Markish[] {
  const stroke = "var(--line-2)";
  return [
    Plot.ruleY([y - 0.36], { x1: from, x2: to, stroke, strokeWidth: 2.5 }),
    Plot.ruleX([from, to], { y1: y - 0.36, y2: y - 0.22, stroke, strokeWidth: 2.5 }),
    Plot.text([text], {
      x: to,
      y: y - 0.36,
      dx: 5,
      textAnchor: "start",
      fill: stroke,
      stroke: "var(--surface)",
      strokeWidth: 3,
      className: "small",
    }),
  ];
}

function brackets(figure: GridFigure): Bracket[] {
  return figure.steps.flatMap(({ size, low, high }) => {
    const y = figure.sizes.indexOf(size);
    const from = figure.processes.indexOf(low);
    const to = figure.processes.indexOf(high);
    if (y < 0 || from < 0 || to < 0) return [];
    return [{ y, from, to, text: `${formatSize(low * size)}–${formatSize(high * size)}` }];
  });
}

/** For each cache the places where number times size is its capacity, as far as the grid goes. */
export function cacheLines(figure: GridFigure): Line[] {
  const sizes = figure.sizes.map((size, y) => ({ size, y })).filter(({ size }) => size > 0);
  return figure.caches.flatMap((cache) => {
    const points = sizes.flatMap(({ size, y }) => {
      const x = between(figure.processes, cache.size / size);
      return x === null ? [] : [{ x, y }];
    });
    return points.length >= 2 ? [{ cache, points }] : [];
  });
}

/** The place of `value` among rising `steps` on a logarithmic scale; null beyond their ends. */
export function between(steps: readonly number[], value: number): number | null {
  for (let index = 1; index < steps.length; index += 1) {
    const low = steps[index - 1] ?? 0;
    const high = steps[index] ?? 0;
    if (value >= low && value <= high) {
      return index - 1 + Math.log(value / low) / Math.log(high / low);
    }
  }
  return null;
}

/** How dark a cost is: costs span decades, so by their logarithms. */
function shades(places: readonly GridPlace[]): (cost: number) => number {
  const logs = places.map(({ median }) => Math.log(Math.max(median, Number.MIN_VALUE)));
  const low = Math.min(...logs.filter(Number.isFinite));
  const reach = Math.max(...logs) - low || 1;
  return (cost) => {
    const share = cost > 0 ? (Math.log(cost) - low) / reach : 0;
    return LIGHTEST + (DARKEST - LIGHTEST) * Math.min(1, Math.max(0, share));
  };
}

function column(figure: GridFigure, place: GridPlace): number {
  return figure.processes.indexOf(place.processes);
}

function row(figure: GridFigure, place: GridPlace): number {
  return figure.sizes.indexOf(place.size);
}

/** Half-way between the two uppermost cells of a line, where no number stands. */
function label(points: readonly Point[]): Point {
  const [before, last] = points.slice(-2);
  if (before === undefined || last === undefined) return { x: 0, y: 0 };
  return { x: (before.x + last.x) / 2, y: (before.y + last.y) / 2 };
}

/** Short enough for a cell: microseconds with the unit left to the caption. */
function formatted(value: number, unit: string): string {
  return unit === "ns" ? formatNumber(value / 1000) : formatNumber(value);
}

function hintText(figure: GridFigure, at: GridPlace): string {
  const value = formatValue(at.median, figure.unit);
  const range = `${formatValue(at.low, figure.unit)} to ${formatValue(at.high, figure.unit)}`;
  const together = formatSize(at.processes * at.size);
  const head = at.stable ? value : `unstable (median ${value})`;
  return `${at.processes} processes of ${formatSize(at.size)}: ${together} together\n${head}\n95 % interval ${range}`;
}

function describe(figure: GridFigure): string {
  return `${figure.title}, ${figure.run}: cost of a switch for ${figure.places.length} pairs of number and size of processes, ${figure.steps.length} steps; the values are in the tables`;
}
