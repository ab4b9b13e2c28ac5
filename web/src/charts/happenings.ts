import * as Plot from "@observablehq/plot";

import type { Happening, HappeningsFigure } from "../base/health";
import { FAINT, INK, MUTED, type LineSymbol } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { shorten } from "../base/shorten";
import { timeTick, timeText } from "../base/moments";

const ROW = 28;
const CHARACTER = 7.2;
const MOST_RADIUS = 9;

interface Placed extends Happening {
  readonly row: number;
}

interface Look {
  readonly colour: string;
  readonly symbol: LineSymbol;
}

const OTHER: Look = { colour: "var(--same)", symbol: "circle" };

/** The shape says it without any colour. */
const LOOKS: Readonly<Record<string, Look>> = {
  failing: { colour: "var(--slower)", symbol: "diamond" },
  alert: { colour: "var(--slower)", symbol: "triangle" },
  warning: { colour: "var(--line-5)", symbol: "square" },
};

/** What happened when: a row for each class, larger where it happened more often. */
export function happenings(figure: HappeningsFigure, width: number): Chart {
  const longest = Math.max(...figure.rows.map(({ name }) => name.length)) * CHARACTER + 20;
  const left = Math.min(longest, Math.round(width * 0.32));
  const keep = Math.max(6, Math.floor((left - 16) / CHARACTER));
  const points: Placed[] = figure.rows.flatMap(({ points: of }, row) =>
    of.map((point) => ({ ...point, row })),
  );
  const margin = Math.max((figure.ended - figure.began) * 0.015, 1000);
  const domain = [new Date(figure.began - margin), new Date(figure.ended + margin)];
  const rows = figure.rows.map(({ name }, row) => ({ name, row }));
  const total = points.reduce((sum, { count }) => sum + count, 0);
  return chart(`${total} events of ${rows.length} classes over time; see the table of events`, {
    width,
    height: rows.length * ROW + 36,
    marginTop: 8,
    marginBottom: 28,
    marginLeft: left,
    marginRight: 14,
    x: { type: "utc", domain, label: null },
    y: { type: "point", domain: rows.map(({ row }) => row), axis: null, padding: 0.5 },
    marks: [
      Plot.rectX(figure.gaps, {
        x1: ({ began }: Span) => new Date(began),
        x2: ({ ended }: Span) => new Date(ended),
        fill: INK,
        fillOpacity: 0.06,
      }),
      Plot.ruleY(rows, { y: "row", stroke: FAINT }),
      Plot.axisX({
        ticks: Math.max(3, Math.floor((width - left) / 110)),
        tickSize: 0,
        tickFormat: timeTick(figure.began, figure.ended),
        label: null,
        color: MUTED,
      }),
      Plot.link(
        points.filter(({ at, last }) => last > at),
        {
          x1: ({ at }: Placed) => new Date(at),
          x2: ({ last }: Placed) => new Date(last),
          y1: "row",
          y2: "row",
          stroke: ({ severity }: Placed) => look(severity).colour,
          strokeWidth: 3,
          strokeOpacity: 0.5,
        },
      ),
      Plot.dot(points, {
        x: ({ at }: Placed) => new Date(at),
        y: "row",
        r: ({ count }: Placed) => radius(count),
        symbol: ({ severity }: Placed) => look(severity).symbol,
        fill: ({ severity }: Placed) => look(severity).colour,
        fillOpacity: 0.75,
      }),
      Plot.text(rows, {
        y: "row",
        frameAnchor: "left",
        dx: -10,
        textAnchor: "end",
        text: ({ name }: { name: string }) => shorten(name, keep),
        fill: INK,
      }),
      hint(
        points,
        ({ at }) => at,
        ({ row }) => row,
        (point) => `${timeText(point.at)}\n${shorten(point.text, 90)}${times(point.count)}`,
      ),
    ],
    r: { type: "identity" },
    symbol: { type: "identity" },
  });
}

interface Span {
  readonly began: number;
  readonly ended: number;
}

/** Ten times as often is one step larger. */
export function radius(count: number): number {
  return Math.min(MOST_RADIUS, 3 + 2 * Math.log10(Math.max(count, 1)));
}

function look(severity: string): Look {
  return LOOKS[severity] ?? OTHER;
}

function times(count: number): string {
  return count > 1 ? `\n${count} times` : "";
}
