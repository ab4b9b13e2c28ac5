import type { Items, Look, Loss, Marks, Overview, Row, Source } from "./source";
import { NO_ITEMS, NO_MARKS } from "./source";
import type { Span } from "./span";

/** All items of one row, in order of time; none overlaps another. */
export interface RowItems {
  readonly begin: Float64Array;
  readonly end: Float64Array;
  /** One for all, or one each. */
  readonly actor: Int32Array | number;
  readonly state: Uint8Array | number;
}

/** All events of one row, in order of time. */
export interface RowMarks {
  readonly time: Float64Array;
  readonly event: Uint16Array;
}

/** A source whose items are here already: the lines of a capture, or data of a test. */
export class ArraySource implements Source {
  constructor(
    readonly name: string,
    readonly duration: number,
    readonly rows: readonly Row[],
    readonly look: Look,
    private readonly held: ReadonlyMap<number, RowItems>,
    private readonly events: ReadonlyMap<number, RowMarks> = new Map(),
    readonly losses: readonly Loss[] = [],
  ) {}

  items(span: Span, buckets: number, rows: readonly number[]): Promise<Items> {
    const columns = rows.map((row) => {
      const held = this.held.get(row);
      return held === undefined ? [] : thinned(held, span, buckets, row);
    });
    return Promise.resolve(columnsOf(columns.flat()));
  }

  marks(span: Span, buckets: number, rows: readonly number[]): Promise<Marks> {
    const marks = rows.flatMap((row) => {
      const held = this.events.get(row);
      return held === undefined ? [] : thinnedMarks(held, span, buckets, row);
    });
    if (marks.length === 0) return Promise.resolve(NO_MARKS);
    return Promise.resolve({
      length: marks.length,
      row: Uint32Array.from(marks, ({ row }) => row),
      time: Float64Array.from(marks, ({ time }) => time),
      event: Uint16Array.from(marks, ({ event }) => event),
      count: Uint32Array.from(marks, ({ count }) => count),
      index: Float64Array.from(marks, ({ index }) => index),
    });
  }

  overview(buckets: number): Promise<Overview> {
    const step = this.duration / buckets;
    const events = new Float64Array(buckets);
    for (const { begin } of this.held.values()) {
      for (const time of begin) {
        const at = Math.min(buckets - 1, Math.floor(time / step));
        events[at] = (events[at] ?? 0) + 1;
      }
    }
    return Promise.resolve({ lanes: [], events });
  }
}

interface Thinned extends Span {
  readonly row: number;
  readonly actor: number;
  readonly state: number;
  readonly count: number;
}

/**
 * Of the items that begin in one bucket the first, the longest and the last, so that no pixel in
 * which one lies is blank; and what reaches into the span. The longest stands for those left out.
 */
export function thinned(held: RowItems, span: Span, buckets: number, row: number): Thinned[] {
  const { begin, end } = held;
  const step = (span.end - span.begin) / buckets;
  const items: Thinned[] = [];
  const take = (at: number, count: number): void => {
    items.push({
      row,
      begin: begin[at] ?? 0,
      end: end[at] ?? 0,
      actor: typeof held.actor === "number" ? held.actor : (held.actor[at] ?? -1),
      state: typeof held.state === "number" ? held.state : (held.state[at] ?? 0),
      count,
    });
  };
  let at = firstFrom(begin, span.begin);
  if (at > 0 && (end[at - 1] ?? 0) > span.begin) take(at - 1, 1);
  while (at < begin.length && (begin[at] ?? 0) < span.end) {
    const bucket = Math.floor(((begin[at] ?? 0) - span.begin) / step);
    const next = firstFrom(begin, span.begin + (bucket + 1) * step, at + 1);
    const most = longest(begin, end, at, next);
    const kept = [...new Set([at, most, next - 1])].sort((a, b) => a - b);
    for (const each of kept) take(each, each === most ? next - at - kept.length + 1 : 1);
    at = next;
  }
  return items;
}

/** More than this in one bucket are not all looked at: the picture is the same. */
const LOOKED_AT = 64;

function longest(begin: Float64Array, end: Float64Array, from: number, to: number): number {
  const stride = Math.max(1, Math.floor((to - from) / LOOKED_AT));
  let best = from;
  let most = -1;
  for (let at = from; at < to; at += stride) {
    const length = (end[at] ?? 0) - (begin[at] ?? 0);
    if (length <= most) continue;
    most = length;
    best = at;
  }
  return best;
}

interface ThinnedMark {
  readonly row: number;
  readonly time: number;
  readonly event: number;
  readonly count: number;
  readonly index: number;
}

function thinnedMarks(held: RowMarks, span: Span, buckets: number, row: number): ThinnedMark[] {
  const { time, event } = held;
  const step = (span.end - span.begin) / buckets;
  const marks: ThinnedMark[] = [];
  let at = firstFrom(time, span.begin);
  while (at < time.length && (time[at] ?? 0) < span.end) {
    const bucket = Math.floor(((time[at] ?? 0) - span.begin) / step);
    const next = firstFrom(time, span.begin + (bucket + 1) * step, at + 1);
    marks.push({ row, time: time[at] ?? 0, event: event[at] ?? 0, count: next - at, index: at });
    at = next;
  }
  return marks;
}

function columnsOf(items: readonly Thinned[]): Items {
  if (items.length === 0) return NO_ITEMS;
  return {
    length: items.length,
    row: Uint32Array.from(items, ({ row }) => row),
    begin: Float64Array.from(items, ({ begin }) => begin),
    end: Float64Array.from(items, ({ end }) => end),
    actor: Int32Array.from(items, ({ actor }) => actor),
    state: Uint8Array.from(items, ({ state }) => state),
    count: Uint32Array.from(items, ({ count }) => count),
    ran: null,
  };
}

/** The first of rising values, from `low` on, that is not below `value`. */
function firstFrom(values: Float64Array, value: number, low = 0): number {
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
