import type { Row } from "./source";
import { lengthOf, type Span } from "./span";
import type { TrackLines } from "./tracks";

/**
 * One quantity that was read while a run was measured, ns since the first event. `reason` is why
 * nothing is drawn; empty where lines are. Between two lines nothing was read.
 */
export interface EvidenceTrack extends Omit<TrackLines, "minimum" | "maximum"> {
  readonly name: string;
  readonly unit: string;
  readonly reason: string;
}

/** What was read during the run that a trace was recorded with. */
export interface Evidence {
  readonly title: string;
  readonly tracks: readonly EvidenceTrack[];
}

const FIRST_ID = -2_000_000;

/** The row of one of them: its id is no other row's. */
export function evidenceRow({ name, unit, reason }: EvidenceTrack, at: number): Row {
  // The reason stands where values would.
  return { id: FIRST_ID - at, kind: "evidence", name, detail: reason === "" ? unit : "", cpu: null, actor: null, busy: null, instances: null };
}

/** What is drawn in a view of so many pixels: of the lines of one pixel, one. A text is why there are none. */
export function evidenceLines(track: EvidenceTrack, view: Span, pixels: number): TrackLines | string {
  if (track.reason !== "") return `not available: ${track.reason}`;
  const { begin, end, low, high } = track;
  const drawn = { begin: [] as number[], end: [] as number[], low: [] as number[], high: [] as number[] };
  const perPixel = lengthOf(view) / pixels;
  let pixel = NaN;
  for (let at = firstBehind(end, view.begin); at < begin.length && (begin[at] ?? Infinity) < view.end; at += 1) {
    const [from = 0, to = 0, least = 0, most = 0] = [begin[at], end[at], low[at], high[at]];
    const last = drawn.begin.length - 1;
    if (Math.floor((from - view.begin) / perPixel) === pixel && Math.floor((to - view.begin) / perPixel) === pixel) {
      drawn.end[last] = to;
      drawn.low[last] = Math.min(drawn.low[last] ?? least, least);
      drawn.high[last] = Math.max(drawn.high[last] ?? most, most);
      continue;
    }
    pixel = Math.floor((to - view.begin) / perPixel);
    drawn.begin.push(from);
    drawn.end.push(to);
    drawn.low.push(least);
    drawn.high.push(most);
  }
  return { ...drawn, minimum: low.reduce((a, b) => Math.min(a, b), Infinity), maximum: high.reduce((a, b) => Math.max(a, b), -Infinity) };
}

/** The first place whose time is after this one; times ascend. */
function firstBehind(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
