import * as Plot from "@observablehq/plot";

import type { ChangeFigure, ChangeRow, Verdict } from "../base/document";
import { FAINT, INK, MUTED, SURFACE, type LineSymbol } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { shorten } from "../base/shorten";
import { formatChange, formatRatio } from "../base/units";

const ROW = 21;
const RIGHT = 78;
const TICK = 46;
const CHARACTER = 7.2;
const LONGEST_NAME = 46;

const LADDERS = [
  [1.02, 1.05],
  [1.05, 1.1],
  [1.1, 1.2, 1.4],
  [1.25, 1.5, 2],
  [1.5, 2, 3],
  [2, 4, 8],
  [2, 5, 10, 20],
  [10, 100, 1000],
  [100, 10000, 1000000],
] as const;

interface Look {
  readonly colour: string;
  readonly symbol: LineSymbol;
  readonly filled: boolean;
}

// Told apart three times over: colour, shape, and filled or hollow.
const LOOKS: Readonly<Record<Verdict, Look>> = {
  faster: { colour: "var(--faster)", symbol: "circle", filled: true },
  slower: { colour: "var(--slower)", symbol: "diamond", filled: true },
  "no difference shown": { colour: "var(--same)", symbol: "circle", filled: false },
  unstable: { colour: "var(--same)", symbol: "square", filled: false },
};

/** Ratios to the base with their intervals on a log axis around one, a row for each series. */
export function changes(
  figure: ChangeFigure,
  rows: readonly ChangeRow[],
  width: number,
): Chart {
  const domain = changeDomain(figure.rows);
  const longest = Math.max(
    ...figure.rows.map((row) => Math.min(label(row).length, LONGEST_NAME)),
  );
  const left = Math.min(longest * CHARACTER + 24, Math.round(width * 0.45));
  const keep = Math.floor((left - 24) / CHARACTER);
  const ticks = ratioTicks(domain, Math.floor((width - left - RIGHT) / TICK));
  const places = rows.map((row, index) => ({ row, index }));
  return chart(`${figure.other} relative to ${figure.base}: ${rows.length} series; see the table`, {
    width,
    height: rows.length * ROW + 48,
    marginTop: 12,
    marginBottom: 36,
    marginLeft: left,
    marginRight: RIGHT,
    x: { type: "log", domain: [...domain], label: null },
    y: { type: "band", domain: rows.map((_, index) => index), axis: null, padding: 0.1 },
    marks: [
      Plot.gridX({ ticks, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisX({
        anchor: "bottom",
        ticks,
        // As `text`: on logarithmic axes Plot leaves out what a `tickFormat` gives to some ticks.
        text: (ratio: number) => `${Number(ratio.toFixed(2))}x`,
        tickSize: 0,
        tickPadding: 8,
        label: null,
        color: MUTED,
      }),
      Plot.barX(places, {
        x1: ({ row }: Place) => Math.max(1 / (1 + row.noise_floor), domain[0]),
        x2: ({ row }: Place) => Math.min(1 + row.noise_floor, domain[1]),
        y: "index",
        fill: INK,
        fillOpacity: 0.07,
      }),
      Plot.ruleX([1], { stroke: "var(--rule-strong)" }),
      Plot.text(places, {
        y: "index",
        frameAnchor: "left",
        dx: -14,
        text: ({ row }: Place) => shorten(label(row), keep),
        textAnchor: "end",
        fill: INK,
      }),
      places.map((place) => rowMarks(place, LOOKS[place.row.verdict], domain)),
      Plot.text(places, {
        y: "index",
        frameAnchor: "right",
        dx: 70,
        text: ({ row }: Place) => formatChange(row.ratio),
        textAnchor: "end",
        fill: INK,
        fillOpacity: 1,
      }),
      hint(places, ({ row }) => row.ratio, ({ index }) => index, ({ row }) => hintText(row)),
    ],
  });
}

interface Place {
  readonly row: ChangeRow;
  readonly index: number;
}

function rowMarks(
  place: Place,
  look: Look,
  [least, most]: readonly [number, number],
): Plot.Markish[] {
  return [
    Plot.ruleY([place], {
      y: "index",
      x1: ({ row }: Place) => Math.max(row.low, least),
      x2: ({ row }: Place) => Math.min(row.high, most),
      stroke: look.colour,
      strokeWidth: 2,
    }),
    Plot.dot([place], {
      y: "index",
      x: ({ row }: Place) => row.ratio,
      symbol: look.symbol,
      r: 4.2,
      fill: look.filled ? look.colour : SURFACE,
      stroke: look.colour,
      strokeWidth: 1.6,
    }),
  ];
}

/**
 * A domain that holds all ratios, and the intervals of the series that are stable: one interval
 * that spans decades would squeeze all that can be relied on into a line.
 */
export function changeDomain(rows: readonly ChangeRow[]): [number, number] {
  const shown = rows.flatMap(({ verdict, ratio, low, high }) =>
    verdict === "unstable" ? [ratio] : [ratio, low, high],
  );
  const low = Math.min(1 / 1.05, ...shown);
  const high = Math.max(1.05, ...shown);
  const margin = (high / low) ** 0.04;
  return [low / margin, high * margin];
}

/** Ticks that are ratios and their inverses: as many as the domain holds, and `most` allows. */
export function ratioTicks([low, high]: readonly [number, number], most: number): number[] {
  const reach = Math.max(high, 1 / low);
  for (const steps of LADDERS) {
    const ticks = [...steps.map((step) => 1 / step), 1, ...steps]
      .filter((tick) => tick >= low && tick <= high)
      .sort((a, b) => a - b);
    if (Math.max(...steps) ** 1.9 >= reach && ticks.length <= most) return ticks;
  }
  return [1];
}

function hintText(row: ChangeRow): string {
  const interval = `${formatRatio(row.low)} to ${formatRatio(row.high)}`;
  return `${row.name}\n${row.verdict}: ${formatRatio(row.ratio)} (${row.better} is better)\n95 % interval ${interval}`;
}

/** The arrow marks the rows in which a ratio above one is for the worse. */
function label(row: ChangeRow): string {
  return row.name + (row.caveat ? " †" : "") + (row.better === "lower" ? " ↓" : "");
}
