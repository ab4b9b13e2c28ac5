/** Where a value lies on an axis, in pixels, and back; with ticks that people read easily. */

import { decadeTicks } from "../../base/axis";
import { formatValue } from "../../base/units";
import { formatTime } from "../../timeline/time-format";

export interface Tick {
  readonly value: number;
  readonly text: string;
}

export interface Scale {
  at(value: number): number;
  value(at: number): number;
  readonly ticks: readonly Tick[];
}

/** Around values that are all alike there is room for a sixth more and less. */
const LEAST_RATIO = 1.17;
const STEPS = [1, 2, 5, 10] as const;

/** Equal distances for equal differences, from `from` to `to` pixels. */
export function linear(low: number, high: number, from: number, to: number, ticks: readonly Tick[]): Scale {
  const span = high > low ? high - low : 1;
  return {
    at: (value) => from + ((value - low) / span) * (to - from),
    value: (at) => low + ((at - from) / (to - from)) * span,
    ticks,
  };
}

/** Equal distances for equal ratios; what is below `low` lies at its place. */
export function logarithmic(low: number, high: number, from: number, to: number, ticks: readonly Tick[]): Scale {
  const span = Math.log(high / low) || 1;
  return {
    at: (value) => from + (Math.log(Math.max(value, low) / low) / span) * (to - from),
    value: (at) => low * Math.exp(((at - from) / (to - from)) * span),
    ticks,
  };
}

/** The least of 1, 2, 5 in any decade that leaves at most `most` steps between `low` and `high`. */
export function niceStep(low: number, high: number, most: number): number {
  const rough = Math.max(high - low, 1e-9) / Math.max(most, 1);
  const decade = 10 ** Math.floor(Math.log10(rough));
  return decade * (STEPS.find((step) => step * decade >= rough) ?? 10);
}

/** Ticks of time since the first event, in seconds with as many digits as tell them apart. */
export function timeTicks(begin: number, end: number, most: number): Tick[] {
  const step = Math.max(1, niceStep(begin, end, most));
  return multiples(begin, end, step).map((value) => ({ value, text: formatTime(value, step) }));
}

/** Ticks of durations on a linear axis. */
export function durationTicks(low: number, high: number, most: number): Tick[] {
  const step = niceStep(low, high, most);
  return multiples(low, high, step).map((value) => ({ value, text: formatValue(value, "ns") }));
}

/** Ticks of durations on a logarithmic axis. */
export function decades(low: number, high: number, most: number): Tick[] {
  const values = decadeTicks(low, high, most);
  // Within one decade equal steps say more than the one or two ticks that it has.
  if (values.length < 3 && high < low * 10) return durationTicks(low, high, most);
  return values.map((value) => ({ value, text: formatValue(value, "ns") }));
}

function multiples(low: number, high: number, step: number): number[] {
  const ticks: number[] = [];
  for (let at = Math.ceil(low / step); at * step <= high; at += 1) ticks.push(at * step);
  return ticks;
}

/** The domain of a logarithmic axis that shows all values with a little room. */
export function logDomain(low: number, high: number): [number, number] {
  const least = Math.max(low, 0.5);
  const most = Math.max(high, least);
  const margin = Math.max((most / least) ** 0.04, LEAST_RATIO / Math.sqrt(most / least), 1.02);
  return [least / margin, most * margin];
}
