import { firstNotBelow } from "../base/ordered";
import type { Result } from "../base/result";
import type { Brush } from "./brush";
import { actorColour } from "./colours";
import type { Scale } from "./raster";
import type { Row } from "./source";
import type { Span } from "./span";
import type { Theme } from "./theme";

/** What calls are: of functions of the kernel or of programs, or slices of time that programs told. */
export type CallKind = "function" | "slice" | "user function";

/** What stands before the calls of a thread beneath its own row. */
const LANE_NAMES: Readonly<Record<CallKind, string>> = { function: "calls", slice: "slices", "user function": "user calls" };

/** A thread of which calls of a kind are known, and how deep they nest. */
export interface CallingThread {
  readonly kind: CallKind;
  /** Another number for each thread and kind. */
  readonly key: number;
  /** The thread's number, or that of a track; -1 - CPU of an idle task. */
  readonly thread: number;
  readonly name: string;
  readonly lanes: number;
  readonly calls: number;
}

/** What is drawn of the calls of a thread, as columns in order of lane and time; ns. */
export interface CallSlices {
  readonly lane: Uint8Array;
  readonly begin: Float64Array;
  readonly end: Float64Array;
  /** By `CallSource.functions`; of several calls that of the longest. */
  readonly name: Int32Array;
  /** How many it stands for; 1 is exactly this one. */
  readonly count: Uint32Array;
  /** 0 where any of these is cut by an end of the trace, or beside lost events. */
  readonly complete: Uint8Array;
}

/** Where the calls of a trace come from. */
export interface CallSource {
  readonly threads: readonly CallingThread[];
  readonly functions: readonly string[];
  ask(key: number, span: Span, width: number, signal: AbortSignal): Promise<Result<CallSlices>>;
}

/** A call, or several that fall on one pixel. */
export interface HitCall extends Span {
  readonly name: string;
  readonly count: number;
  readonly complete: boolean;
}

/** Rows of lanes have ids below this one, which no row of a trace, group or counter has. */
const FIRST_ID = -10_000_000;
const MOST_LANES = 64;
/** Keys of idle tasks are negative. */
const LEAST_KEY = -65_537;

/** The row of one lane of a thread's calls. */
export function laneRow({ kind, key, name, calls }: Omit<CallingThread, "thread">, lane: number, own: boolean): Row {
  return {
    id: FIRST_ID - ((key - LEAST_KEY) * MOST_LANES + lane),
    kind: "call",
    // Beneath the row of the thread its name stands already.
    name: lane > 0 ? "" : own ? LANE_NAMES[kind] : name,
    detail: lane > 0 ? "" : String(calls),
    cpu: null, actor: null, busy: null, instances: null,
  };
}

/** The thread and lane that a row is of; null for any other row. */
export function laneOf(row: number): { readonly key: number; readonly lane: number } | null {
  if (row > FIRST_ID) return null;
  const number = FIRST_ID - row;
  return { key: Math.floor(number / MOST_LANES) + LEAST_KEY, lane: number % MOST_LANES };
}

/** The places of a lane's slices: the first, and the one behind the last. */
function placesOf({ lane: lanes }: CallSlices, lane: number): readonly [number, number] {
  return [firstNotBelow(lanes, lane, 0, lanes.length), firstNotBelow(lanes, lane + 1, 0, lanes.length)];
}

/** The call of a lane at a time, or the nearest within `reach` ns; null for none. */
export function callAt(slices: CallSlices, functions: readonly string[], lane: number, time: number, reach: number): HitCall | null {
  const [from, to] = placesOf(slices, lane);
  const behind = firstNotBelow(slices.begin, time + reach, from, to);
  let best: number | null = null;
  let least = reach;
  // Slices of a lane follow each other: the last ones that begin before are the nearest.
  for (let at = behind - 1; at >= Math.max(from, behind - 3); at -= 1) {
    const away = Math.max((slices.begin[at] ?? 0) - time, time - (slices.end[at] ?? 0), 0);
    if (away > least || (best !== null && away === least)) continue;
    least = away;
    best = at;
  }
  return best === null ? null : hitOf(slices, functions, best);
}

/** The call behind one of a lane, or before it; null where no other is loaded. */
export function callBeside(slices: CallSlices, functions: readonly string[], lane: number, here: Span, by: -1 | 1): HitCall | null {
  const [from, to] = placesOf(slices, lane);
  const at = by > 0 ? firstNotBelow(slices.begin, here.begin + 1, from, to) : firstNotBelow(slices.begin, here.begin, from, to) - 1;
  return at < from || at >= to ? null : hitOf(slices, functions, at);
}

function hitOf(slices: CallSlices, functions: readonly string[], at: number): HitCall {
  return {
    begin: slices.begin[at] ?? 0,
    end: slices.end[at] ?? 0,
    name: functions[slices.name[at] ?? 0] ?? "?",
    count: slices.count[at] ?? 1,
    complete: slices.complete[at] === 1,
  };
}

/** A slice that is wide enough for a text: pixels of the canvas along time. */
export interface NamedSlice {
  readonly from: number;
  readonly to: number;
  readonly name: string;
}

/** Of several calls on one pixel, and of one that is incomplete, the colour is thinner. */
const [SEVERAL, INCOMPLETE, EDGE] = [0.6, 0.4, 0.3];

/**
 * Draws a lane of calls between two places across time, in pixels of the canvas: each pixel in which
 * a call was made, and no other. Returns the slices from `wide` pixels on.
 */
export function paintCalls(
  context: Brush,
  slices: CallSlices,
  functions: readonly string[],
  lane: number,
  [top, size]: readonly [number, number],
  scale: Scale,
  main: number,
  theme: Theme,
  wide: number,
): NamedSlice[] {
  const named: NamedSlice[] = [];
  const [from, to] = placesOf(slices, lane);
  const colours = new Map<number, string>();
  for (let at = from; at < to; at += 1) {
    const begin = Math.floor(((slices.begin[at] ?? 0) - scale.begin) / scale.perPixel);
    const end = Math.max(Math.ceil(((slices.end[at] ?? 0) - scale.begin) / scale.perPixel), begin + 1);
    if (end <= 0) continue;
    if (begin >= main) break;
    const number = slices.name[at] ?? 0;
    const name = functions[number] ?? "?";
    const colour = colours.get(number) ?? theme.property(actorColour("thread", name));
    colours.set(number, colour);
    const [x, width] = [Math.max(begin, 0), Math.min(end, main) - Math.max(begin, 0)];
    const alone = slices.count[at] === 1;
    context.fillStyle = colour;
    context.globalAlpha = slices.complete[at] === 1 ? (alone ? 1 : SEVERAL) : INCOMPLETE;
    context.fillRect(x, top, width, size);
    if (width < 3) continue;
    context.fillStyle = theme.ink;
    context.globalAlpha = EDGE;
    context.fillRect(x, top, 1, size);
    if (alone && width >= wide) named.push({ from: x, to: x + width, name });
  }
  context.globalAlpha = 1;
  return named;
}
