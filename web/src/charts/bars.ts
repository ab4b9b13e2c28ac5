import * as Plot from "@observablehq/plot";

import type { Bar, BarFigure } from "../base/document";
import { FAINT, INK, lineColour, MUTED, SURFACE } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { shorten } from "../base/shorten";
import { formatNumber, formatValue, handyUnit } from "../base/units";

const BAR = 15;
const GAP = 12;
const RIGHT = 78;
const CHARACTER = 7.2;
const LONGEST_NAME = 40;
const TICK = 58;

interface Placed {
  readonly row: string;
  readonly bar: Bar;
  /** Both in pixels from the top of the chart's body. */
  readonly top: number;
  readonly middle: number;
}

/** Medians as bars from zero with their intervals, the runs of a series next to each other. */
export function bars(figure: BarFigure, width: number): Chart {
  const { placed, height } = place(figure);
  const longest = Math.max(...figure.rows.map(({ name }) => Math.min(name.length, LONGEST_NAME)));
  const left = Math.min(Math.ceil(longest * CHARACTER) + 18, Math.round(width * 0.42));
  const keep = Math.floor((left - 18) / CHARACTER);
  const most = Math.max(...placed.map(({ bar }) => Math.max(bar.high, bar.best)));
  const [factor, unit] = handyUnit(most, figure.unit);
  const ticks = Math.max(2, Math.floor((width - left - RIGHT) / TICK));
  return chart(describe(figure), {
    width,
    height: height + 40,
    marginTop: 8,
    marginBottom: 32,
    marginLeft: left,
    marginRight: RIGHT,
    x: { domain: [0, most * 1.02], label: null },
    y: { domain: [0, height], axis: null },
    marks: [
      Plot.gridX({ ticks, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisX({
        anchor: "bottom",
        ticks,
        tickFormat: (value: number) => String(Number(formatNumber(value / factor))),
        tickSize: 0,
        label: unit,
        labelArrow: "none",
        labelAnchor: "right",
        labelOffset: 30,
        color: MUTED,
      }),
      Plot.rect(placed, {
        x1: 0,
        x2: ({ bar }: Placed) => bar.median,
        y1: "top",
        y2: ({ top }: Placed) => top + BAR,
        fill: ({ bar }: Placed) => (bar.stable ? lineColour(bar.style) : SURFACE),
        fillOpacity: 0.82,
        stroke: ({ bar }: Placed) => lineColour(bar.style),
      }),
      Plot.ruleY(placed, {
        y: "middle",
        x1: ({ bar }: Placed) => bar.low,
        x2: ({ bar }: Placed) => bar.high,
        stroke: INK,
        strokeWidth: 1.5,
      }),
      Plot.dot(placed, {
        x: ({ bar }: Placed) => bar.best,
        y: "middle",
        symbol: "diamond",
        r: 3.2,
        fill: SURFACE,
        stroke: INK,
        strokeWidth: 1.2,
      }),
      Plot.text(names(figure, placed), {
        y: "at",
        frameAnchor: "left",
        dx: -10,
        text: ({ name }: Name) => shorten(name, keep),
        textAnchor: "end",
        fill: INK,
      }),
      Plot.text(placed, {
        y: "middle",
        frameAnchor: "right",
        dx: RIGHT - 4,
        textAnchor: "end",
        text: ({ bar }: Placed) => (bar.stable ? formatValue(bar.median, figure.unit) : "unstable"),
        fill: INK,
      }),
      hint(
        placed,
        ({ bar }) => bar.median,
        ({ middle }) => middle,
        (at) => hintText(figure, at),
      ),
    ],
  });
}

interface Name {
  readonly name: string;
  readonly at: number;
}

function names(figure: BarFigure, placed: readonly Placed[]): Name[] {
  return figure.rows.map(({ name }) => {
    const own = placed.filter(({ row }) => row === name).map(({ middle }) => middle);
    return { name, at: (Math.min(...own) + Math.max(...own)) / 2 };
  });
}

/** Rows from top to bottom, a gap after each; the runs of a row touch. */
function place(figure: BarFigure): { placed: Placed[]; height: number } {
  const placed: Placed[] = [];
  let down = GAP / 2;
  const heights = figure.rows.reduce((sum, row) => sum + row.bars.length * BAR + GAP, 0);
  for (const row of figure.rows) {
    for (const bar of row.bars) {
      // The axis of values points up.
      const top = heights - down - BAR;
      placed.push({ row: row.name, bar, top, middle: top + BAR / 2 });
      down += BAR;
    }
    down += GAP;
  }
  return { placed, height: heights };
}

function hintText(figure: BarFigure, { row, bar }: Placed): string {
  const value = formatValue(bar.median, figure.unit);
  const head = bar.stable ? value : `unstable (median ${value})`;
  const range = `${formatValue(bar.low, figure.unit)} to ${formatValue(bar.high, figure.unit)}`;
  const caveat = bar.caveat ? "\nwith a caveat: see the table" : "";
  return `${row}\n${bar.run}: ${head}\n95 % interval ${range}\nbest ${formatValue(bar.best, figure.unit)} of ${bar.n} samples${caveat}`;
}

function describe(figure: BarFigure): string {
  return `${figure.title}: medians of ${figure.rows.length} series as bars; the values are in the tables`;
}
