/** A span of time, and how it moves: pure functions on nanoseconds since the first event. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

/** As close as one can look, ns: one nanosecond is then about a hundred pixels wide. */
export const CLOSEST = 16;
/** How much may be seen beyond either end of the trace, as a share of what is seen. */
const MARGIN = 0.05;

export const lengthOf = ({ begin, end }: Span): number => end - begin;

export const centreOf = ({ begin, end }: Span): number => begin + (end - begin) / 2;

/** The whole trace with a little room at its ends. */
export function wholeSpan(duration: number, earliest = 0): Span {
  const length = Math.max(duration, CLOSEST);
  return { begin: earliest - length * 0.01, end: earliest + length * 1.01 };
}

/**
 * The nearest span that may be looked at: not too close, not too far, not beside the trace.
 * `earliest` is where the time that may be looked at begins.
 */
export function clampSpan({ begin, end }: Span, duration: number, earliest = 0): Span {
  const widest = Math.max(duration, CLOSEST) * (1 + 2 * MARGIN);
  const length = Math.min(Math.max(end - begin, CLOSEST), widest);
  const start = begin + (end - begin - length) / 2;
  const lowest = earliest - length * MARGIN;
  const highest = Math.max(earliest + duration + length * MARGIN - length, lowest);
  const kept = Math.min(Math.max(start, lowest), highest);
  return { begin: kept, end: kept + length };
}

/** The span seen `factor` times as wide, with `fixed` staying where it is on the screen. */
export function zoomSpan(span: Span, factor: number, fixed: number): Span {
  return {
    begin: fixed - (fixed - span.begin) * factor,
    end: fixed + (span.end - fixed) * factor,
  };
}

export function shiftSpan({ begin, end }: Span, by: number): Span {
  return { begin: begin + by, end: end + by };
}

/** From the one to the other; lengths in equal ratios, so that a zoom has one speed all along. */
export function between(from: Span, to: Span, part: number): Span {
  if (part >= 1) return to;
  const [a, b] = [lengthOf(from), lengthOf(to)];
  const length = a * (b / a) ** part;
  // Where the length has got to, the begin has got as far: the fixed point of a zoom stays fixed.
  const way = Math.abs(b - a) < 1e-9 * b ? part : (length - a) / (b - a);
  const begin = from.begin + (to.begin - from.begin) * way;
  return { begin, end: begin + length };
}

export function sameSpan(a: Span | null, b: Span | null): boolean {
  return a === b || (a !== null && b !== null && a.begin === b.begin && a.end === b.end);
}

/** Both ends, the smaller first. */
export function spanOf(a: number, b: number): Span {
  return { begin: Math.min(a, b), end: Math.max(a, b) };
}

export const overlaps = (a: Span, b: Span): boolean => a.begin < b.end && b.begin < a.end;

/**
 * What to look at to see `wanted`: the present view where it shows it well, else one of five times
 * the length around it. A moment has no length to be shown in: the view moves to it and stays as
 * wide as it is.
 */
export function viewOf(wanted: Span, view: Span, duration: number, earliest = 0): Span {
  const isMoment = lengthOf(wanted) <= 1;
  if (isMoment) {
    if (wanted.begin >= view.begin && wanted.end <= view.end) return view;
    return clampSpan(shiftSpan(view, centreOf(wanted) - centreOf(view)), duration, earliest);
  }
  const share = lengthOf(wanted) / lengthOf(view);
  if (wanted.begin >= view.begin && wanted.end <= view.end && share > 0.01) return view;
  const length = Math.max(lengthOf(wanted) * 5, CLOSEST);
  const middle = centreOf(wanted);
  return clampSpan({ begin: middle - length / 2, end: middle + length / 2 }, duration, earliest);
}
