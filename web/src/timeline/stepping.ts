import type { Box } from "./layout";
import type { Items, StateLook } from "./source";
import { lengthOf, type Span } from "./span";
import type { TileStore } from "./tile-store";
import { BLOCK, levelOf } from "./tiles";

const ALL = 7;

/**
 * The item before or behind `here` in a row, as far as there are tiles: an activation, not the time
 * between two.
 */
export function neighbour(
  items: TileStore<Items>,
  box: Box,
  here: Span,
  by: -1 | 1,
  view: Span,
  perPixel: number,
  looks: readonly StateLook[],
  duration: number,
): Span | null {
  const length = lengthOf(view);
  const begin = Math.max(0, Math.min(here.begin, view.begin) - length);
  const end = Math.min(duration, Math.max(here.end, view.end) + length);
  const pieces = items.cover(levelOf(perPixel), { begin, end }, Math.floor(box.order / BLOCK));
  let previous: Span | null = null;
  for (const { tile, clip } of pieces) {
    const { data } = tile;
    const [from, to] = tile.rows.get(box.row.id) ?? [0, 0];
    for (let at = from; at < to; at += 1) {
      const starts = data.begin[at] ?? 0;
      // What began before its tile was met there.
      if (starts < clip.begin || starts >= clip.end) continue;
      const looked = looks[data.state[at] ?? 0];
      if (looked === undefined || !(looked.bands === ALL || looked.paint === "line")) continue;
      const item = { begin: starts, end: data.end[at] ?? starts };
      if (by > 0 && starts > here.begin && starts >= here.end) return item;
      if (by < 0 && starts < here.begin) previous = item;
    }
  }
  return previous;
}
