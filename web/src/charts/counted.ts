import * as Plot from "@observablehq/plot";

import type { CountedBar, CountedFigure } from "../base/health";
import { FAINT, INK, MUTED } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { formatNumber } from "../base/units";

const HEIGHT = 132;
const LEFT = 44;
const RIGHT = 8;
const LABEL = 46;
/** From so many periods in a row on, a counter is said to rise and rise. */
const RISING = 3;

interface Placed extends CountedBar {
  readonly index: number;
}

/** How much a counter rose in each period; what nobody watched is hatched, not zero. */
export function counted(figure: CountedFigure, width: number): Chart {
  const bars: Placed[] = figure.bars.map((bar, index) => ({ ...bar, index }));
  const rises = bars.map(({ rise }) => rise ?? 0);
  const low = Math.min(0, ...rises);
  const high = Math.max(low === 0 ? 1 : 0, ...rises);
  const colour = figure.rising >= RISING ? "var(--slower)" : "var(--line-1)";
  const every = labelEvery(bars.length, width - LEFT - RIGHT);
  return chart(describe(figure), {
    width,
    height: HEIGHT,
    marginTop: 10,
    marginBottom: 24,
    marginLeft: LEFT,
    marginRight: RIGHT,
    x: { type: "band", domain: bars.map(({ index }) => index), axis: null, padding: 0.16 },
    y: { domain: [low, high], label: null, nice: true },
    marks: [
      Plot.gridY({ ticks: 3, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisY({
        ticks: 3,
        tickSize: 0,
        tickFormat: (value: number) => (Number.isInteger(value) ? formatCount(value) : ""),
        label: null,
        color: MUTED,
      }),
      Plot.barY(
        bars.filter(({ rise }) => rise === null),
        { x: "index", y1: low, y2: high, fill: INK, fillOpacity: 0.06 },
      ),
      Plot.barY(
        bars.filter(({ rise, late }) => rise !== null && !late),
        { x: "index", y: ({ rise }: Placed) => rise ?? 0, fill: colour },
      ),
      // It may have risen earlier, while nobody looked: only an outline.
      Plot.barY(
        bars.filter(({ rise, late }) => rise !== null && late),
        {
          x: "index",
          y: ({ rise }: Placed) => rise ?? 0,
          fill: colour,
          fillOpacity: 0.25,
          stroke: colour,
          strokeDasharray: "3 2",
        },
      ),
      Plot.ruleY([0], { stroke: "var(--rule-strong)" }),
      Plot.text(
        bars.filter(({ index }) => (bars.length - 1 - index) % every === 0),
        { x: "index", frameAnchor: "bottom", dy: 15, text: "label", fill: MUTED },
      ),
      hint(
        bars,
        ({ index }) => index,
        ({ rise }) => rise ?? 0,
        (bar) => `${bar.label}\n${riseText(bar)}`,
      ),
    ],
  });
}

/** Of how many labels one is shown, counted from the newest. */
export function labelEvery(bars: number, width: number): number {
  return Math.max(1, Math.ceil((bars * LABEL) / Math.max(width, LABEL)));
}

/** What the bar of a period says. */
export function riseText(bar: CountedBar): string {
  if (bar.rise === null) return "not watched";
  const sign = bar.rise > 0 ? "+" : "";
  const late = bar.late ? ", or earlier: seen after a gap" : "";
  return `${sign}${formatCount(bar.rise)}${late}\nwatched ${Math.round(bar.watched * 100)} %`;
}

function formatCount(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : formatNumber(value);
}

function describe(figure: CountedFigure): string {
  return `${figure.name}: rise by ${figure.by}, ${formatCount(figure.total)} in all; see the table`;
}
