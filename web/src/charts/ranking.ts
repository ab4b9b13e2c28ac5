import * as Plot from "@observablehq/plot";

import type { RankingFigure, RankRow } from "../base/diagnosis";
import { FAINT, INK, lineColour, MUTED } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { shorten } from "../base/shorten";

const ROW = 24;
const CHARACTER = 7.2;
const RIGHT = 44;

interface Part {
  readonly index: number;
  readonly row: RankRow;
  readonly term: number;
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** What helps a suspect is stacked to the right of zero, what speaks against it to the left. */
export function stacked(figure: RankingFigure): Part[] {
  return figure.rows.flatMap((row, index) => {
    let left = 0;
    let right = 0;
    return row.points.map((points, term) => {
      const from = points < 0 ? left : right;
      const to = from + points;
      if (points < 0) left = to;
      else right = to;
      return { index, row, term, name: figure.terms[term] ?? "", from, to };
    });
  });
}

/** The scores of the first suspects, and what each is made of. */
export function ranking(figure: RankingFigure, width: number): Chart {
  const parts = stacked(figure).filter(({ from, to }) => from !== to);
  const longest = Math.max(...figure.rows.map(({ name }) => name.length)) * CHARACTER + 24;
  const left = Math.min(longest, Math.round(width * 0.42));
  const keep = Math.max(6, Math.floor((left - 24) / CHARACTER));
  const places = figure.rows.map((row, index) => ({ row, index }));
  const low = Math.min(0, ...parts.map(({ to }) => to));
  const high = Math.max(0.1, ...parts.map(({ to }) => to));
  return chart(`Scores of ${figure.rows.length} suspects; see the table`, {
    width,
    height: figure.rows.length * ROW + 34,
    marginTop: 6,
    marginBottom: 28,
    marginLeft: left,
    marginRight: RIGHT,
    x: { domain: [low, high], label: null },
    y: { type: "band", domain: places.map(({ index }) => index), axis: null, padding: 0.26 },
    marks: [
      Plot.gridX({ ticks: 6, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisX({ anchor: "bottom", ticks: 6, tickSize: 0, label: null, color: MUTED }),
      Plot.barX(parts, {
        x1: "from",
        x2: "to",
        y: "index",
        fill: ({ term }: Part) => lineColour(term),
        insetLeft: 0.5,
        insetRight: 0.5,
      }),
      Plot.ruleX([0], { stroke: "var(--rule-strong)" }),
      // Where the terms add up to: those to the left are taken off those to the right.
      Plot.tickX(places, { x: ({ row }: Place) => row.score, y: "index", stroke: INK, strokeWidth: 2.5 }),
      Plot.text(places, {
        y: "index",
        frameAnchor: "left",
        dx: -12,
        textAnchor: "end",
        text: ({ row }: Place) => `${row.cause ? "● " : ""}${shorten(row.name, keep)}`,
        fill: INK,
      }),
      Plot.text(places, {
        y: "index",
        frameAnchor: "right",
        dx: RIGHT,
        textAnchor: "end",
        text: ({ row }: Place) => row.score.toFixed(1),
        fill: INK,
      }),
      hint(
        parts,
        ({ from, to }) => (from + to) / 2,
        ({ index }) => index,
        ({ row, name, from, to }) => `${row.name}\n${name}: ${(to - from).toFixed(2)}`,
      ),
    ],
  });
}

interface Place {
  readonly row: RankRow;
  readonly index: number;
}
