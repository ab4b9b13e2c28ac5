import { boxesBetween, type Layout } from "./layout";
import type { Movement } from "./motion";
import { centreOf, lengthOf, type Span, zoomSpan } from "./span";
import type { TileRequest } from "./tile-store";
import { BLOCK, levelOf, rootLevel, tileRange } from "./tiles";

/** What is to be asked for: tiles that are seen, then those that a next move would show. */
export interface TileRequests {
  readonly needed: readonly TileRequest[];
  readonly ahead: readonly TileRequest[];
}

/**
 * The tiles of a view of `pixels` pixels. Ahead are: all at a glance, both sides, twice and half as
 * much around `focus`, and the rows beneath and above. Of a view that moves along, only the first two are; of
 * one that zooms, only the first: the others would mostly be passed by before they are there.
 */
export function requestsOf(
  view: Span,
  pixels: number,
  focus: number | null,
  layout: Layout,
  /** The rows that are seen of it, where they are. */
  shown: Layout,
  scroll: number,
  cross: number,
  duration: number,
  movement: Movement = "still",
): TileRequests {
  const level = levelOf(lengthOf(view) / pixels);
  const root = rootLevel(duration);
  const seen = blocksOf(shown, scroll, scroll + cross);
  const near = blocksOf(layout, scroll - cross, scroll + 2 * cross).filter((b) => !seen.includes(b));
  const [first, last] = tileRange(level, view, duration);
  const needed = seen.flatMap((block) => tilesOf(level, first, last, block));
  const fixed = focus ?? centreOf(view);
  const wide = tileRange(level + 1, zoomSpan(view, 2, fixed), duration);
  const close = tileRange(Math.max(0, level - 1), zoomSpan(view, 0.5, fixed), duration);
  const most = tileRange(level, { begin: 0, end: duration }, duration)[1];
  const glance = seen.flatMap((block) => tilesOf(root, 0, 0, block));
  const sides = [
    ...seen.flatMap((block) => tilesOf(level, last + 1, Math.min(last + 1, most), block)),
    ...seen.flatMap((block) => tilesOf(level, Math.max(first - 1, 0), first - 1, block)),
  ];
  if (movement !== "still") return { needed, ahead: movement === "along" ? [...glance, ...sides] : glance };
  const ahead = [
    ...glance,
    ...sides,
    ...(level < root ? seen.flatMap((block) => tilesOf(level + 1, wide[0], wide[1], block)) : []),
    ...(level > 0 ? seen.flatMap((block) => tilesOf(level - 1, close[0], close[1], block)) : []),
    ...near.flatMap((block) => tilesOf(level, first, last, block)),
  ];
  return { needed, ahead };
}

function tilesOf(level: number, first: number, last: number, block: number): TileRequest[] {
  const requests: TileRequest[] = [];
  for (let index = first; index <= last; index += 1) requests.push({ level, index, block });
  return requests;
}

/** The blocks of rows of which something shows. */
function blocksOf(layout: Layout, from: number, to: number): number[] {
  const boxes = boxesBetween(layout, from, to).filter(({ track, calls }) => track === undefined && calls === undefined);
  const orders = boxes.flatMap(({ order, members }) => members ?? [order]);
  return [...new Set(orders.map((order) => Math.floor(order / BLOCK)))];
}
