import type { Result } from "../base/result";
import type { Brush } from "./brush";
import type { Box } from "./layout";
import type { Scale } from "./raster";
import type { Row } from "./source";
import type { Span } from "./span";
import type { Theme } from "./theme";
import { ViewStore } from "./view-store";

/** A counter on the timeline: what it is, and of which CPU. */
export interface Track {
  readonly name: string;
  readonly cpu: number | null;
}

/**
 * What is drawn of a counter, ns since the first event: from `begin` to `end` its value was between
 * `low` and `high`. Between two lines it is not known. `minimum` and `maximum` are of the whole trace.
 */
export interface TrackLines {
  readonly minimum: number;
  readonly maximum: number;
  readonly begin: readonly number[];
  readonly end: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

export type AskTrack = (track: Track, span: Span, width: number, signal: AbortSignal) => Promise<Result<TrackLines>>;

/** The row of a counter: its id is negative, as no row of the trace has one. */
export function trackRow(track: Track, at: number): Row {
  const detail = track.cpu === null ? "" : `CPU ${track.cpu}`;
  return { id: -1_000_000 - at, kind: "counter", name: track.name, detail, cpu: null, actor: null, busy: null, instances: null };
}

/** Keeps the lines of counters for what is seen. */
export class TrackStore extends ViewStore<Track, TrackLines> {
  constructor(duration: number, ask: AskTrack, arrived: () => void) {
    super(duration, ({ name, cpu }) => `${cpu ?? ""}/${name}`, ask, arrived);
  }
}

/** The value at a time: a number, or the least and the greatest where there are several; null is not known. */
export function valueAt(lines: TrackLines, time: number): readonly [number, number] | null {
  let [low, high] = [0, lines.begin.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((lines.begin[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  const at = low - 1;
  if (at < 0 || (lines.end[at] ?? 0) <= time) return null;
  return [lines.low[at] ?? 0, lines.high[at] ?? 0];
}

/** Pixels of the bar above the greatest value. */
const ROOM = 2;

/** Draws one counter in its box, in pixels of the canvas: `main` along time. */
export function paintTrack(
  context: Brush,
  lines: TrackLines,
  box: Box,
  scroll: number,
  scale: Scale,
  ratio: number,
  main: number,
  theme: Theme,
): void {
  const least = Math.min(lines.minimum, 0);
  const most = lines.maximum > least ? lines.maximum : least + 1;
  const bottom = (box.from - scroll + box.bar) * ratio;
  const size = (box.bar - ROOM) * ratio;
  const heightOf = (value: number): number => Math.max(Math.round(((value - least) / (most - least)) * size), 1);
  const line = Math.max(1, Math.round(1.5 * ratio));
  context.fillStyle = theme.line;
  lines.begin.forEach((begin, at) => {
    const from = Math.floor((begin - scale.begin) / scale.perPixel);
    const to = Math.max(Math.ceil(((lines.end[at] ?? begin) - scale.begin) / scale.perPixel), from + 1);
    if (to <= 0 || from >= main) return;
    const [x, width] = [Math.max(from, 0), Math.min(to, main) - Math.max(from, 0)];
    const [low, high] = [heightOf(lines.low[at] ?? 0), heightOf(lines.high[at] ?? 0)];
    context.globalAlpha = 0.28;
    context.fillRect(x, bottom - high, width, high);
    context.globalAlpha = 1;
    context.fillRect(x, bottom - high, width, Math.max(line, high - low));
  });
}
