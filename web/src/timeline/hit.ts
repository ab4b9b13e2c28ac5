import { firstNotBelow } from "../base/ordered";
import type { HitCall } from "./calls";
import { type Box, boxAt, type Layout } from "./layout";
import type { Items, Marks, Row, StateLook } from "./source";
import type { Span } from "./span";
import type { Tile, TileStore } from "./tile-store";
import { BLOCK, levelOf } from "./tiles";

/** What is under the pointer. */
export interface Hit {
  readonly box: Box;
  /** The row; of a closed group, that of its rows in which the item is. */
  readonly row: Row;
  readonly time: number;
  readonly item: HitItem | null;
  readonly mark: HitMark | null;
  /** Of a counter: its value there, or that it is not known. */
  readonly value?: string;
  /** Of calls: the one that is there. */
  readonly call?: HitCall;
}

export interface HitItem extends Span {
  readonly actor: number;
  readonly state: number;
  readonly count: number;
}

export interface HitMark {
  readonly time: number;
  readonly event: number;
  readonly count: number;
  readonly index: number;
}

/** How far beside an item the pointer may be, in pixels. */
const REACH = 3;

/** What is at a time and a place across it; null where there is no row. */
export function hitAt(
  layout: Layout,
  rows: readonly Row[],
  across: number,
  time: number,
  perPixel: number,
  items: TileStore<Items>,
  marks: TileStore<Marks>,
  looks: readonly StateLook[],
): Hit | null {
  const box = boxAt(layout, across);
  if (box === null) return null;
  const reach = perPixel * REACH;
  const level = levelOf(perPixel);
  if (box.track !== undefined || box.calls !== undefined) return { box, row: box.row, time, item: null, mark: null };
  const near = { begin: time - reach, end: time + reach };
  let best: { readonly row: Row; readonly item: HitItem } | null = null;
  for (const order of box.members ?? [box.order]) {
    const row = rows[order];
    if (row === undefined) continue;
    const tiles = items.cover(level, near, Math.floor(order / BLOCK)).map(({ tile }) => tile);
    const item = itemNear(tiles, row.id, time, reach);
    if (item !== null && (best === null || comesBefore(item, best.item, looks))) best = { row, item };
  }
  const block = Math.floor(box.order / BLOCK);
  const mark =
    layout.density === "events" && across > box.from + box.bar && box.members === undefined
      ? markNear(marks.cover(level, near, block).map(({ tile }) => tile), box.row.id, time, reach)
      : null;
  return { box, row: best?.row ?? box.row, time, item: best?.item ?? null, mark };
}

/** Of items of several threads, what is drawn is what is pointed at. */
function comesBefore(item: HitItem, other: HitItem, looks: readonly StateLook[]): boolean {
  return (looks[item.state]?.rank ?? 0) > (looks[other.state]?.rank ?? 0);
}

/** The item that holds a time, else the nearest within reach; the shortest of several. */
function itemNear(
  tiles: readonly Tile<Items>[],
  row: number,
  time: number,
  reach: number,
): HitItem | null {
  let best: HitItem | null = null;
  let least = Infinity;
  for (const { data, rows } of tiles) {
    const [from, to] = rows.get(row) ?? [0, 0];
    for (let at = firstNotBelow(data.end, time - reach, from, to); at < to; at += 1) {
      const begin = data.begin[at] ?? 0;
      if (begin > time + reach) break;
      const end = data.end[at] ?? 0;
      const away = Math.max(begin - time, time - end, 0);
      // Inside beats beside, and what begins at a time beats what ends there; then short beats long,
      // as it is the harder one to point at.
      const isOver = end === time && begin < time;
      const cost = away === 0 ? (isOver ? 0.5 : 0) + (end - begin) / (end - begin + 1e18) : 1 + away;
      if (cost >= least) continue;
      least = cost;
      best = {
        begin,
        end,
        actor: data.actor[at] ?? -1,
        state: data.state[at] ?? 0,
        count: data.count[at] ?? 1,
      };
    }
  }
  return best;
}

function markNear(
  tiles: readonly Tile<Marks>[],
  row: number,
  time: number,
  reach: number,
): HitMark | null {
  let best: HitMark | null = null;
  for (const { data, rows } of tiles) {
    const [from, to] = rows.get(row) ?? [0, 0];
    for (let at = firstNotBelow(data.time, time - reach, from, to); at < to; at += 1) {
      const when = data.time[at] ?? 0;
      if (when > time + reach) break;
      if (best !== null && Math.abs(best.time - time) <= Math.abs(when - time)) continue;
      best = {
        time: when,
        event: data.event[at] ?? 0,
        count: data.count[at] ?? 1,
        index: data.index[at] ?? 0,
      };
    }
  }
  return best;
}
