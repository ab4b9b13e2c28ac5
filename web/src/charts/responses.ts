import * as Plot from "@observablehq/plot";

import { decadeTicks } from "../base/axis";
import { FAINT, INK, lineColour, MUTED } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import type { ResponseFigure, ResponseLine, ResponseRow, ResponseStep } from "../base/responses";
import { shorten } from "../base/shorten";
import { formatValue } from "../base/units";

const ROW = 84;
/** Of a row, what its highest step takes; above are the medians, below the rare times. */
const STEPS = 0.58;
const BASE = 0.14;
const RUG = 0.09;
const CHARACTER = 7.2;
const RIGHT = 18;
const BOTTOM = 40;
const TICK = 62;

interface Placed {
  readonly line: ResponseLine;
  readonly step: ResponseStep;
  readonly base: number;
  /** Where the step ends, in rows from the bottom. */
  readonly top: number;
}

/** Every configuration's histogram above one axis of time, a row for each thing that is compared. */
export function responses(figure: ResponseFigure, width: number): Chart {
  const rows = figure.rows.map((row, index) => ({ row, base: figure.rows.length - 1 - index + BASE }));
  const lines = figure.rows.flatMap((row) => row.lines);
  const longest = Math.max(...figure.rows.map(({ name }) => name.length)) * CHARACTER + 18;
  const left = Math.max(40, Math.min(longest, Math.round(width * 0.26)));
  const keep = Math.max(6, Math.floor((left - 14) / CHARACTER));
  const lowest = Math.min(...lines.map(({ minimum }) => minimum)) / 1.15;
  const highest = Math.max(...lines.map(({ maximum }) => maximum)) * 1.15;
  const steps = rows.flatMap(({ row, base }) => placed(row, base));
  const ticks = decadeTicks(lowest, highest, Math.max(3, Math.floor((width - left - RIGHT) / TICK)));
  return chart(describe(figure), {
    width,
    height: figure.rows.length * ROW + BOTTOM,
    marginTop: 2,
    marginBottom: BOTTOM,
    marginLeft: left,
    marginRight: RIGHT,
    x: { type: "log", domain: [lowest, highest], label: null },
    y: { domain: [0, figure.rows.length], axis: null },
    marks: [
      Plot.gridX({ ticks, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisX({
        ticks,
        // As `text`: on logarithmic axes Plot leaves out what a `tickFormat` gives to some ticks.
        text: (ns: number) => formatValue(ns, "ns").replace(/\.0+(?= )/, ""),
        label: "response time",
        labelAnchor: "center",
        labelArrow: "none",
        labelOffset: 36,
        tickSize: 4,
        color: MUTED,
      }),
      Plot.ruleY(rows, { y: "base", stroke: "var(--rule-strong)" }),
      Plot.rect(steps, {
        x1: ({ step }: Placed) => step.low,
        x2: ({ step }: Placed) => step.high,
        y1: "base",
        y2: "top",
        fill: ({ line }: Placed) => lineColour(line.style),
        fillOpacity: 0.55,
      }),
      rows.map(({ row, base }) => row.lines.map((line) => lineMarks(line, row, base))),
      Plot.text(rows, {
        y: ({ base }: { base: number }) => base + STEPS / 2,
        frameAnchor: "left",
        dx: -12,
        textAnchor: "end",
        text: ({ row }: { row: ResponseRow }) => shorten(row.name, keep),
        fill: INK,
      }),
      hint(
        steps,
        ({ step }) => Math.sqrt(step.low * step.high),
        ({ top }) => top,
        hintText,
      ),
    ],
  });
}

/** The steps of a row; its highest has the same height in each row. */
export function placed(row: ResponseRow, base: number): Placed[] {
  const most = Math.max(...row.lines.flatMap((line) => line.steps.map(({ share }) => share)));
  return row.lines.flatMap((line) =>
    line.steps.map((step) => ({ line, step, base, top: base + (STEPS * step.share) / most })),
  );
}

/** The median with its value, and below the base line the times that a histogram hardly shows. */
function lineMarks(line: ResponseLine, row: ResponseRow, base: number): Plot.Markish[] {
  const colour = lineColour(line.style);
  const side = labelSide(line, row);
  return [
    Plot.ruleX([line], {
      x: "median",
      y1: base,
      y2: base + STEPS + 0.06,
      stroke: colour,
      strokeWidth: 1.6,
    }),
    Plot.text([line], {
      x: "median",
      y: base + STEPS + 0.13,
      dx: side * 4,
      textAnchor: side === 0 ? "middle" : side < 0 ? "end" : "start",
      text: ({ median }: ResponseLine) => formatValue(median, "ns"),
      fill: INK,
      className: "small",
    }),
    Plot.ruleX(line.far, { y1: base - RUG, y2: base - 0.015, stroke: colour, strokeOpacity: 0.8 }),
  ];
}

/** Medians of a row are written away from each other: the shorter one to the left of its mark. */
export function labelSide(line: ResponseLine, row: ResponseRow): -1 | 0 | 1 {
  if (row.lines.length < 2) return 0;
  const medians = row.lines.map(({ median }) => median);
  return line.median <= Math.min(...medians) ? -1 : 1;
}

function hintText({ line, step }: Placed): string {
  const range = `${formatValue(step.low, "ns")} to ${formatValue(step.high, "ns")}`;
  const count = Math.round(step.share * line.count);
  return `${line.name}\n${range}\n${count} of ${line.count}`;
}

function describe(figure: ResponseFigure): string {
  const parts = figure.rows.flatMap(({ lines }) =>
    lines.map(({ name, median }) => `${name} ${formatValue(median, "ns")}`),
  );
  return `Response times, medians: ${parts.join("; ")}; the percentiles are in the table`;
}
