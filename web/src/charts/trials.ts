import * as Plot from "@observablehq/plot";

import type { ArmKind, Band, Covariate, Phase, TrialPoint, TrialsFigure } from "../base/diagnosis";
import { FAINT, INK, MUTED, POLLUTED, SURFACE, type LineSymbol } from "../base/palette";
import { chart, hint, type Chart } from "../base/plot";
import { formatNumber, formatValue, handyUnit } from "../base/units";

const LEFT = 52;
const RIGHT = 48;
const HEIGHT = 300;
const STRIP = 84;
const CHARACTER = 6.4;
const MINUTE = 60;
const GOOD = "var(--faster)";
const BAD = "var(--slower)";
const OTHER = "var(--same)";

interface Look {
  readonly colour: string;
  readonly symbol: LineSymbol;
  readonly filled: boolean;
  readonly radius: number;
}

// The shape is the side, the colour whose value was set: a repaired board is a diamond in blue.
const LOOKS: Readonly<Record<ArmKind, Look>> = {
  good: { colour: GOOD, symbol: "circle", filled: false, radius: 3 },
  bad: { colour: BAD, symbol: "diamond", filled: false, radius: 3.4 },
  repaired: { colour: GOOD, symbol: "diamond", filled: true, radius: 3.8 },
  broken: { colour: BAD, symbol: "circle", filled: true, radius: 3.4 },
  "good, other": { colour: OTHER, symbol: "circle", filled: true, radius: 2.6 },
  "bad, other": { colour: OTHER, symbol: "diamond", filled: true, radius: 3 },
};

/** Whether minutes or seconds fit a time axis, and how many seconds one is. */
export function timeUnit(end: number): readonly [factor: number, name: string] {
  return end > 5 * MINUTE ? [MINUTE, "min"] : [1, "s"];
}

/** From the first to the last trial, with room for the marks at both ends. */
export function timeDomain(figure: TrialsFigure): [number, number] {
  const times = figure.points.map(({ at }) => at);
  const ends = figure.phases.map(({ end }) => end);
  const low = Math.min(...times);
  const high = Math.max(...times, ...ends);
  const margin = Math.max((high - low) * 0.015, 0.5);
  return [low - margin, high + margin];
}

/** The phases whose names fit above them. */
export function namedPhases(phases: readonly Phase[], perSecond: number): Phase[] {
  let free = -Infinity;
  return phases.filter(({ name, start, end }) => {
    const middle = ((start + end) / 2) * perSecond;
    const half = (name.length * CHARACTER) / 2;
    // Beside each other even where a name is wider than its phase.
    if (middle - half < free) return false;
    free = middle + half + CHARACTER;
    return true;
  });
}

/** Every trial in the order of time, what it was made for, and where it should have ended up. */
export function trials(figure: TrialsFigure, width: number): Chart {
  const domain = timeDomain(figure);
  const [second, unitOfTime] = timeUnit(domain[1]);
  const levels = [
    { name: "good", value: figure.good, colour: GOOD },
    { name: "bad", value: figure.bad, colour: BAD },
  ].filter((level): level is Level => level.value !== null);
  const values = [...figure.points.map(({ value }) => value), ...levels.map(({ value }) => value)];
  const high = Math.max(...values);
  const low = Math.min(...values);
  const [factor, unit] = handyUnit(high, figure.unit);
  // From zero where that costs no more than half of the height: a bar of twice the length is twice
  // as much. Else around the values.
  const base = low > high / 2 ? low - (high - low || high * 0.02) * 0.08 : 0;
  const perSecond = (width - LEFT - RIGHT) / (domain[1] - domain[0]);
  // In the unit of the axis, so that its ticks are round.
  const start = ({ start: at }: Phase | Band): number => at / second;
  const end = ({ end: at }: Phase | Band): number => at / second;
  return chart(`${figure.points.length} trials in order of time; see the table of experiments`, {
    width,
    height: HEIGHT,
    marginTop: 30,
    marginBottom: 34,
    marginLeft: LEFT,
    marginRight: RIGHT,
    x: { domain: domain.map((at) => at / second), label: null },
    y: { domain: [base, high + (high - base) * 0.05], label: null },
    marks: [
      Plot.rectX(
        figure.phases.filter((_, index) => index % 2 === 1),
        { x1: start, x2: end, fill: INK, fillOpacity: 0.045 },
      ),
      Plot.gridY({ ticks: 5, stroke: FAINT, strokeOpacity: 1 }),
      timeAxis(unitOfTime, width),
      Plot.axisY({
        ticks: 5,
        tickSize: 0,
        tickFormat: (value: number) => formatNumber(value / factor),
        label: unit,
        labelArrow: "none",
        labelOffset: 48,
        color: MUTED,
      }),
      Plot.text(namedPhases(figure.phases, perSecond), {
        x: (phase: Phase) => (start(phase) + end(phase)) / 2,
        frameAnchor: "top",
        dy: -10,
        text: "name",
        fill: MUTED,
      }),
      Plot.rect(figure.bands, {
        x1: start,
        x2: end,
        y1: "low",
        y2: "high",
        fill: ({ arm }: { arm: ArmKind }) => LOOKS[arm].colour,
        fillOpacity: 0.16,
      }),
      levels.map((level) => levelMarks(level)),
      (Object.keys(LOOKS) as ArmKind[]).map((arm) =>
        dots(figure.points.filter((point) => point.arm === arm), LOOKS[arm], second),
      ),
      Plot.dot(
        figure.points.filter(({ polluted }) => polluted),
        { x: ({ at }: TrialPoint) => at / second, y: "value", r: 6, stroke: POLLUTED, strokeOpacity: 0.75, strokeDasharray: "2 2" },
      ),
      hint(
        figure.points,
        ({ at }) => at / second,
        ({ value }) => value,
        (point) => `${formatValue(point.value, figure.unit)}\n${point.note}`,
      ),
    ],
  });
}

interface Level {
  readonly name: string;
  readonly value: number;
  readonly colour: string;
}

function levelMarks(level: Level): Plot.Markish[] {
  return [
    Plot.ruleY([level], { y: "value", stroke: level.colour, strokeDasharray: "5 3" }),
    Plot.text([level], {
      y: "value",
      frameAnchor: "right",
      dx: 10,
      textAnchor: "start",
      text: "name",
      fill: INK,
    }),
  ];
}

function dots(points: readonly TrialPoint[], look: Look, second: number): Plot.Markish {
  return Plot.dot(points, {
    x: ({ at }: TrialPoint) => at / second,
    y: "value",
    r: look.radius,
    symbol: look.symbol,
    fill: look.filled ? look.colour : SURFACE,
    stroke: look.colour,
    strokeWidth: 1.4,
  });
}

function timeAxis(name: string, width: number): Plot.Markish {
  const ticks = Math.max(3, Math.min(10, Math.floor(width / 90)));
  return Plot.axisX({
    ticks,
    tickSize: 0,
    tickFormat: (at: number) => `${formatTime(at)} ${name}`,
    label: null,
    color: MUTED,
  });
}

function formatTime(value: number): string {
  return String(Number(value.toFixed(1)));
}

/** One thing that is known of each trial's moment, on the same axis of time. */
export function covariate(figure: Covariate, all: TrialsFigure, width: number): Chart {
  const values = figure.points.map(([, value]) => value);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = Math.max((high - low) * 0.15, Math.abs(high) * 0.01, 1e-9);
  const [factor, unit] = figure.unit === "" ? [1, ""] : handyUnit(high, figure.unit);
  const named = [figure.name, unit].filter(Boolean).join(", ");
  return chart(`${figure.name} at each trial, ${formatNumber(low / factor)} to ${formatNumber(high / factor)} ${unit}`, {
    width,
    height: STRIP,
    marginTop: 20,
    marginBottom: 8,
    marginLeft: LEFT,
    marginRight: RIGHT,
    x: { domain: timeDomain(all), axis: null },
    y: { domain: [low - margin, high + margin], label: null },
    marks: [
      Plot.gridY({ ticks: 2, stroke: FAINT, strokeOpacity: 1 }),
      Plot.axisY({
        ticks: 2,
        tickSize: 0,
        tickFormat: (value: number) => formatNumber(value / factor),
        label: named,
        labelArrow: "none",
        labelOffset: 48,
        color: MUTED,
      }),
      (["good", "bad"] as const).map((side) =>
        Plot.dot(
          figure.points.filter(([, , of]) => of === side),
          {
            x: ([at]: Covariate["points"][number]) => at,
            y: ([, value]: Covariate["points"][number]) => value,
            r: 1.8,
            symbol: LOOKS[side].symbol,
            fill: LOOKS[side].colour,
          },
        ),
      ),
    ],
  });
}
