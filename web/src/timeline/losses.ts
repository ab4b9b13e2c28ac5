import type { Brush } from "./brush";
import type { Box } from "./layout";
import type { Scale } from "./raster";
import type { Loss } from "./source";
import type { Scene } from "./stage";

/** A loss is seen, however short it is. */
const LEAST_PX = 3;
const HATCH_PX = 7;

/**
 * Hatches where events are missing: in full on the row of the CPU that they are missing on, thinly
 * on the rows of threads, which may have been there. Other CPUs are as they are seen.
 */
export function paintLosses(
  context: Brush,
  { source, scroll, theme }: Scene,
  boxes: readonly Box[],
  scale: Scale,
  ratio: number,
  main: number,
): void {
  const bands = lossBands(source.losses, scale, main, LEAST_PX * ratio);
  if (bands.length === 0) return;
  const pattern = context.createPattern(hatch(theme.loss, HATCH_PX * ratio, ratio), "repeat");
  if (pattern === null) return;
  context.fillStyle = pattern;
  for (const { from, to, cpus } of bands) {
    for (const { row, from: top, bar, track } of boxes) {
      // A counter is not drawn where it is not known.
      if (track !== undefined) continue;
      if (row.cpu !== null && !(cpus === null || cpus.has(row.cpu))) continue;
      context.globalAlpha = row.cpu === null ? 0.22 : 1;
      context.fillRect(from, (top - scroll) * ratio, to - from, bar * ratio);
    }
  }
  context.globalAlpha = 1;
}

export interface LossBand {
  /** Pixels. */
  readonly from: number;
  readonly to: number;
  /** Null is all. */
  readonly cpus: ReadonlySet<number> | null;
}

/** Losses as pixels; those that touch are one, so there are never more than pixels. */
export function lossBands(
  losses: readonly Loss[],
  { begin, perPixel }: Scale,
  main: number,
  least: number,
): LossBand[] {
  const bands: { from: number; to: number; cpus: Set<number> | null }[] = [];
  for (const loss of losses) {
    const from = Math.floor((loss.begin - begin) / perPixel);
    const to = Math.max(Math.ceil((loss.end - begin) / perPixel), from + least);
    if (to <= 0 || from >= main) continue;
    const last = bands[bands.length - 1];
    if (last !== undefined && from <= last.to) {
      last.to = Math.max(last.to, to);
      if (loss.cpu === null) last.cpus = null;
      else last.cpus?.add(loss.cpu);
    } else {
      bands.push({ from, to, cpus: loss.cpu === null ? null : new Set([loss.cpu]) });
    }
  }
  return bands;
}

const hatches = new Map<string, HTMLCanvasElement>();

/** One tile of slanted lines. */
function hatch(colour: string, size: number, ratio: number): HTMLCanvasElement {
  const key = `${colour} ${size}`;
  const cached = hatches.get(key);
  if (cached !== undefined) return cached;
  const tile = document.createElement("canvas");
  tile.width = tile.height = Math.round(size);
  const context = tile.getContext("2d");
  if (context !== null) {
    context.strokeStyle = colour;
    context.lineWidth = 1.6 * ratio;
    context.beginPath();
    // Three lines, so that the corners of neighbouring tiles meet.
    for (const shift of [-tile.width, 0, tile.width]) {
      context.moveTo(shift, tile.width);
      context.lineTo(shift + tile.width, 0);
    }
    context.stroke();
  }
  hatches.set(key, tile);
  return tile;
}
