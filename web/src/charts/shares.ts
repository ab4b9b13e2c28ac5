import * as Plot from "@observablehq/plot";

import type { ShareRow, SharesFigure } from "../base/diagnosis";
import { FAINT, INK, MUTED, SURFACE } from "../base/palette";
import { chart, type Chart } from "../base/plot";
import { shorten } from "../base/shorten";

const ROW = 40;
const CHARACTER = 7.2;
const RIGHT = 116;

/** The range of the axis: the whole gap, and whatever an interval reaches beyond it. */
export function shareDomain(rows: readonly ShareRow[]): [number, number] {
  const low = Math.min(0, ...rows.map((row) => row.begin + row.low));
  const high = Math.max(1, ...rows.map((row) => row.begin + row.high));
  return [Math.max(low, -0.5), Math.min(high, 1.5)];
}

/** The gap taken apart: each share begins where the ones above it end. */
export function shares(figure: SharesFigure, width: number): Chart {
  const domain = shareDomain(figure.rows);
  const longest = Math.max(...figure.rows.map(({ name }) => name.length)) * CHARACTER + 16;
  const left = Math.min(longest, Math.round(width * 0.34));
  const keep = Math.max(6, Math.floor((left - 16) / CHARACTER));
  const places = figure.rows.map((row, index) => ({ row, index }));
  const clamp = (share: number): number => Math.min(Math.max(share, domain[0]), domain[1]);
  const ticks = width - left - RIGHT < 260 ? [0, 0.5, 1] : [0, 0.2, 0.4, 0.6, 0.8, 1];
  const parts = figure.rows.map(({ name, text }) => `${name} ${text}`).join("; ");
  return chart(`Shares of the gap: ${parts}`, {
    width,
    height: figure.rows.length * ROW + 34,
    marginTop: 6,
    marginBottom: 28,
    marginLeft: left,
    marginRight: RIGHT,
    x: { domain, label: null },
    y: { type: "band", domain: places.map(({ index }) => index), axis: null, padding: 0.36 },
    marks: [
      Plot.gridX({ ticks, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisX({
        anchor: "bottom",
        ticks,
        tickSize: 0,
        tickFormat: (share: number) => `${Math.round(share * 100)} %`,
        label: null,
        color: MUTED,
      }),
      Plot.ruleX([0, 1], { stroke: "var(--rule-strong)" }),
      places.map(({ row, index }) => [
        Plot.barX([row], {
          x1: clamp(row.begin),
          x2: clamp(row.begin + row.value),
          y: () => index,
          fill: row.kind === "cause" ? "var(--faster)" : SURFACE,
          stroke: row.kind === "cause" ? "none" : "var(--same)",
          strokeDasharray: "3 2",
          insetTop: 1,
          insetBottom: 1,
        }),
        Plot.ruleY([row], {
          x1: clamp(row.begin + row.low),
          x2: clamp(row.begin + row.high),
          y: () => index,
          stroke: INK,
          strokeWidth: 1.5,
        }),
        [row.low, row.high].map((end) =>
          Plot.tickX([row], { x: clamp(row.begin + end), y: () => index, stroke: INK, inset: 4 }),
        ),
      ]),
      Plot.text(places, {
        y: "index",
        frameAnchor: "left",
        dx: -10,
        textAnchor: "end",
        text: ({ row }: Place) => shorten(row.name, keep),
        fill: INK,
      }),
      Plot.text(places, {
        y: "index",
        frameAnchor: "right",
        dx: RIGHT,
        textAnchor: "end",
        text: ({ row }: Place) => row.text,
        fill: INK,
      }),
    ],
  });
}

interface Place {
  readonly row: ShareRow;
  readonly index: number;
}
