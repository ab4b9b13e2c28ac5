import type { Items, Look } from "./source";
import type { Span } from "./span";
import type { Paint, Paints } from "./theme";

/**
 * Items become pixels here, one line of pixels for each band of a row: whoever shows them stretches
 * the lines to the bands' heights. So a frame costs as many writes as the rows have columns, however
 * tall they are, and each is exact at every zoom.
 */
export interface RowLines {
  /** Upper, middle and lower band, one after the other: `3 * width` pixels. */
  readonly pixels: Uint32Array;
  /** What is seen where several fall on one pixel; `width` of them, 0 is nothing. */
  readonly ranks: Uint8Array;
  /** For how long (ns) what falls on a pixel used a CPU; `width` of them. */
  readonly used: Float64Array;
  readonly width: number;
}

export const BANDS = 3;
const ALL = 7;
/** Pixels from which on an item is set apart from the one before it. */
const APART = 4;
/** Pixels up to which an item is shaded by how much of each was used. */
const THIN = 2;

/** How time lies on pixels: of `width` pixels the first begins at `begin`. */
export interface Scale {
  readonly begin: number;
  /** ns. */
  readonly perPixel: number;
}

/** What items are painted with. */
export interface Brush {
  readonly look: Look;
  readonly paints: Paints;
  /** Pixels from which on an item has room for a text. */
  readonly wideFrom: number;
  /** Told of each such item: its place in the items, its pixels. */
  readonly wide: (item: number, from: number, to: number) => void;
}

/**
 * Paints those of `items` from `first` to before `behind` that show in `clip`. An item is on each
 * pixel of which it has a part: on the first and the last one too, and on one if it has no length.
 * What is one or two pixels wide is the fainter the less of their time was used.
 */
export function paintItems(
  lines: RowLines,
  items: Items,
  [first, behind]: readonly [number, number],
  clip: Span,
  scale: Scale,
  { look, paints, wideFrom, wide }: Brush,
): void {
  const { pixels, ranks, used, width } = lines;
  const { begin, end, actor, state, count, ran } = items;
  const { begin: origin, perPixel } = scale;
  // A pixel across the border of two pieces shows what is in either.
  const left = Math.max(0, Math.floor((clip.begin - origin) / perPixel));
  const right = Math.min(width, Math.ceil((clip.end - origin) / perPixel));
  const latest = Math.min(clip.end, origin + width * perPixel);
  const earliest = Math.max(clip.begin, origin);
  for (let at = firstShown(items, first, behind, earliest); at < behind; at += 1) {
    const starts = begin[at] ?? 0;
    if (starts >= latest) break;
    const looks = look.states[state[at] ?? 0];
    if (looks === undefined) continue;
    const rank = looks.rank;
    const from = Math.floor((starts - origin) / perPixel);
    const ends = Math.max(Math.ceil(((end[at] ?? 0) - origin) / perPixel), from + 1);
    const x0 = Math.max(from, left);
    const x1 = Math.min(ends, right);
    if (x1 <= x0) continue;
    if (looks.labelled && x1 - x0 >= wideFrom) wide(at, x0, x1);
    const paint = paints.of(state[at] ?? 0, actor[at] ?? -1);
    const { full, faint, edge } = paint;
    const whole = looks.bands === ALL;
    if (ran !== null && ends - from <= THIN && whole) {
      // As most items of a picture are.
      const stops = end[at] ?? 0;
      for (let x = x0; x < x1; x += 1) {
        const begins = origin + x * perPixel;
        const behindIt = origin + (x + 1) * perPixel;
        // What reaches in from the piece before has been counted there, up to the end of this pixel.
        if (stops > starts && (starts >= clip.begin || begins >= clip.begin)) {
          const all = ran[at] ?? 0;
          const inside = starts >= begins && stops <= behindIt;
          used[x] = (used[x] ?? 0) + (inside ? all :
            (all * (Math.min(stops, behindIt) - Math.max(starts, begins))) / (stops - starts));
        }
        if ((ranks[x] ?? 0) > rank) continue;
        ranks[x] = rank;
        const shade = shadeOf(paint, (used[x] ?? 0) / perPixel);
        pixels[x] = shade;
        pixels[width + x] = shade;
        pixels[2 * width + x] = shade;
      }
    } else {
      const upper = inkOf(looks.bands, looks.faint, 1, full, faint);
      const middle = inkOf(looks.bands, looks.faint, 2, full, faint);
      const lower = inkOf(looks.bands, looks.faint, 4, full, faint);
      for (let x = x0; x < x1; x += 1) {
        if ((ranks[x] ?? 0) > rank) continue;
        ranks[x] = rank;
        pixels[x] = upper;
        pixels[width + x] = middle;
        pixels[2 * width + x] = lower;
      }
    }
    if (looks.paint !== "line") {
      if (whole && from >= left && ends - from >= APART && ranks[from] === rank) {
        for (let band = 0; band < BANDS; band += 1) pixels[band * width + from] = edge;
      }
      continue;
    }
    const isEdge = starts > 0 && from >= left && from < right;
    if (isEdge || (count[at] ?? 1) > 1) {
      // What begins a level is an edge; and where there are several, they fill their pixel.
      const x = Math.max(from, left);
      ranks[x] = 255;
      pixels[x] = full;
      pixels[width + x] = full;
      pixels[2 * width + x] = full;
    }
  }
}

/** The pixel for a share of time that was used, from 0 to 1. */
function shadeOf({ shades, full }: Paint, share: number): number {
  return shades[Math.min(Math.floor(share * shades.length), shades.length - 1)] ?? full;
}

function inkOf(bands: number, faintly: number, band: number, full: number, faint: number): number {
  if ((bands & band) !== 0) return full;
  return (faintly & band) !== 0 ? faint : 0;
}

/** The first item that ends behind `time`; as items of a row do not overlap, the ends rise too. */
export function firstShown(items: Items, first: number, behind: number, time: number): number {
  let low = first;
  let high = behind;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items.end[middle] ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  // An item without length at the very time is shown too.
  while (low > first && (items.begin[low - 1] ?? 0) >= time) low -= 1;
  return low;
}
