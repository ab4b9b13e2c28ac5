import { formatLength, formatTime } from "./time-format";
import type { Span } from "./span";

/** Marks of a time axis. */
export interface Ticks {
  /** ns from one to the next. */
  readonly step: number;
  /** What all labels count from, where each in full would be too long; null where they are. */
  readonly base: number | null;
  readonly ticks: readonly Tick[];
}

export interface Tick {
  readonly time: number;
  /** Empty of those between. */
  readonly label: string;
}

const SECOND = 1e9;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const LONG = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
].map((seconds) => seconds * SECOND);
/** Steps from a base to a label; with more digits than this a label is hard to read. */
const FAR = 2000;

/** The smallest handy step that is not below `least`. */
export function handyStep(least: number): number {
  if (least > SECOND / 2) {
    return LONG.find((step) => step >= least) ?? Math.ceil(least / (24 * HOUR)) * 24 * HOUR;
  }
  const decade = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = [1, 2, 5, 10].map((times) => times * decade).find((each) => each >= least);
  return Math.max(1, step ?? decade * 10);
}

/** Parts into which a step is cut without a label. */
export function partsOf(step: number): number {
  if (step <= 1) return 1;
  if (step >= MINUTE) return step % (3 * MINUTE) === 0 ? 3 : 2;
  const leading = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
  return leading < 1.5 ? 5 : leading < 2.5 ? 4 : 5;
}

/** Ticks for `pixels` that show `span`, with about `room` pixels for a label. */
export function ticksOf(span: Span, pixels: number, room: number): Ticks {
  const perPixel = (span.end - span.begin) / Math.max(pixels, 1);
  const step = handyStep(perPixel * room);
  const furthest = Math.max(Math.abs(span.begin), Math.abs(span.end));
  const base = step < SECOND && furthest / step > FAR ? baseOf(span.begin, step) : null;
  const parts = partsOf(step);
  const small = step / parts;
  const ticks: Tick[] = [];
  const first = Math.ceil(span.begin / small);
  const last = Math.floor(span.end / small);
  for (let at = first; at <= last; at += 1) {
    // From the labelled one before it: sums of small fractions would not meet the next.
    const time = Math.floor(at / parts) * step + (((at % parts) + parts) % parts) * small;
    ticks.push({ time, label: at % parts === 0 ? labelOf(time, step, base) : "" });
  }
  return { step, base, ticks };
}

/** The last multiple of a thousand of the step's unit at or before the view. */
function baseOf(begin: number, step: number): number {
  const unit = 1000 ** (Math.floor(Math.log10(step) / 3 + 1e-9) + 1);
  return Math.floor(begin / unit) * unit;
}

function labelOf(time: number, step: number, base: number | null): string {
  if (base !== null) {
    const away = time - base;
    return away === 0 ? "+0" : `+${formatStep(away, step)}`;
  }
  if (time === 0) return "0";
  return Math.abs(time) < SECOND ? formatStep(time, step) : formatTime(time, step);
}

/** A multiple of a step in the step's own unit: `+120 µs`, `+1 500 µs`. */
function formatStep(time: number, step: number): string {
  const unit = 1000 ** Math.floor(Math.log10(step) / 3 + 1e-9);
  const name = unit >= 1e6 ? "ms" : unit >= 1e3 ? "µs" : "ns";
  const value = Math.round(time / (unit >= 1e9 ? 1e6 : unit));
  const text = String(Math.abs(value)).replace(/(\d)(?=(\d{3})+$)/g, "$1\u2009");
  return `${value < 0 ? "−" : ""}${text} ${name}`;
}

/** What the corner of the axis says of the base. */
export function baseLabel({ base }: Ticks, span: Span): string {
  const seen = formatLength(span.end - span.begin);
  return base === null ? `${seen} shown` : `${formatTime(base, 1)} +`;
}
