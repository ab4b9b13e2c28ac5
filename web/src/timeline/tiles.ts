import type { Span } from "./span";

/**
 * Time is cut into tiles. A tile of level k has buckets of 2^k ns, so that neighbouring zooms ask
 * for the same tiles, and each is asked for once.
 */
export const BUCKETS = 2048;
/** Rows of one tile, by their order in the source. */
export const BLOCK = 32;

/** The level whose buckets are just not longer than a pixel. A bucket is never below 1 ns. */
export function levelOf(perPixel: number): number {
  return Math.max(0, Math.floor(Math.log2(perPixel)));
}

export const tileLength = (level: number): number => BUCKETS * 2 ** level;

export function tileSpan(level: number, index: number): Span {
  const length = tileLength(level);
  return { begin: index * length, end: (index + 1) * length };
}

/** The level at which one tile holds everything. */
export function rootLevel(duration: number): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(duration, 1) / BUCKETS)));
}

/** The tiles of a level that show a span, first and last; none where last is below first. */
export function tileRange(level: number, span: Span, duration: number): readonly [number, number] {
  const length = tileLength(level);
  const first = Math.max(0, Math.floor(span.begin / length));
  const most = Math.floor(Math.max(duration, 1) / length);
  return [first, Math.min(most, Math.ceil(span.end / length) - 1)];
}

/** Numbers as the server takes them, runs put together: `1,2,5-60`. */
export function numberRuns(numbers: readonly number[]): string {
  const runs: string[] = [];
  for (let at = 0; at < numbers.length; ) {
    const first = numbers[at] ?? 0;
    let last = first;
    while (numbers[at + 1] === last + 1) {
      last += 1;
      at += 1;
    }
    runs.push(first === last ? String(first) : `${first}-${last}`);
    at += 1;
  }
  return runs.join(",");
}
