import { type Span } from "./span";
import { rootLevel, tileRange, tileSpan } from "./tiles";

/** What one tile shows: columns in order of rows. */
export interface Columnar {
  readonly length: number;
  readonly row: Uint32Array;
}

export interface Tile<T> {
  readonly level: number;
  readonly index: number;
  readonly block: number;
  readonly data: T;
  /** Where each row's items are: the first, and the one behind the last. */
  readonly rows: ReadonlyMap<number, readonly [number, number]>;
}

/** A tile, or the part of one that stands for one that is not there. */
export interface Piece<T> {
  readonly tile: Tile<T>;
  readonly clip: Span;
}

/** A tile that may be asked for. */
export interface TileRequest {
  readonly level: number;
  readonly index: number;
  readonly block: number;
}

export type Load<T> = (request: TileRequest, signal: AbortSignal) => Promise<T>;

/** Items that are kept; 25 bytes each, outside of the script's heap. */
const KEPT = 3_000_000;
const AT_ONCE = 4;
/** What is fetched ahead leaves the line free for what is needed. */
const AHEAD_AT_ONCE = 2;
const AGAIN_MS = 2000;

/** Keeps tiles, fetches those that are requested, and finds what stands in for a missing one. */
export class TileStore<T extends Columnar> {
  private readonly tiles = new Map<string, Tile<T>>();
  private readonly under = new Map<string, AbortController>();
  private readonly failures = new Map<string, number>();
  private kept = 0;
  private needed: readonly TileRequest[] = [];
  private ahead: readonly TileRequest[] = [];
  private readonly root: number;
  private closed = false;

  constructor(
    private readonly duration: number,
    private readonly load: Load<T>,
    private readonly arrived: () => void,
    private readonly troubled: (reason: string) => void,
  ) {
    this.root = rootLevel(duration);
  }

  /** True while something that is needed is under way. */
  get waiting(): boolean {
    return this.needed.some((request) => !this.tiles.has(keyOf(request)));
  }

  /** What is to be fetched, in order: `needed` to draw what is seen, `ahead` what may come next. */
  request(needed: readonly TileRequest[], ahead: readonly TileRequest[]): void {
    this.needed = needed;
    this.ahead = ahead;
    const wanted = new Set([...needed, ...ahead].map(keyOf));
    for (const [key, controller] of this.under) {
      if (wanted.has(key)) continue;
      controller.abort();
      this.under.delete(key);
    }
    this.fetchNext();
  }

  /** The best that is there for one tile of a level: itself, finer, coarser, in parts. */
  pieces({ level, index, block }: TileRequest): Piece<T>[] {
    const clip = tileSpan(level, index);
    const exact = this.find(level, index, block);
    if (exact !== undefined) return [{ tile: exact, clip }];
    const coarser = (): Tile<T> | undefined => this.coarser({ level, index, block });
    if (level === 0) {
      const tile = coarser();
      return tile === undefined ? [] : [{ tile, clip }];
    }
    const halves = [index * 2, index * 2 + 1];
    const finer = halves.map((half) => this.find(level - 1, half, block));
    const instead = finer.includes(undefined) ? coarser() : undefined;
    return halves.flatMap((half, at): Piece<T>[] => {
      const tile = finer[at] ?? instead;
      return tile === undefined ? [] : [{ tile, clip: tileSpan(level - 1, half) }];
    });
  }

  /** All pieces that show a span in a block of rows, in order of time. */
  cover(level: number, span: Span, block: number): Piece<T>[] {
    const [first, last] = tileRange(level, span, this.duration);
    const pieces: Piece<T>[] = [];
    for (let index = first; index <= last; index += 1) {
      pieces.push(...this.pieces({ level, index, block }));
    }
    return pieces;
  }

  close(): void {
    this.closed = true;
    for (const controller of this.under.values()) controller.abort();
    this.under.clear();
    this.tiles.clear();
  }

  private coarser({ level, index, block }: TileRequest): Tile<T> | undefined {
    for (let up = 1; level + up <= this.root; up += 1) {
      const tile = this.find(level + up, Math.floor(index / 2 ** up), block);
      if (tile !== undefined) return tile;
    }
    return undefined;
  }

  private find(level: number, index: number, block: number): Tile<T> | undefined {
    const key = keyOf({ level, index, block });
    const tile = this.tiles.get(key);
    if (tile !== undefined) {
      // To the end of the map: what is drawn is what goes last.
      this.tiles.delete(key);
      this.tiles.set(key, tile);
    }
    return tile;
  }

  private fetchNext(): void {
    if (this.closed) return;
    const now = performance.now();
    const start = (requests: readonly TileRequest[], atOnce: number): void => {
      for (const request of requests) {
        if (this.under.size >= atOnce) return;
        const key = keyOf(request);
        if (this.tiles.has(key) || this.under.has(key)) continue;
        if (now - (this.failures.get(key) ?? -Infinity) < AGAIN_MS) continue;
        void this.fetch(request, key);
      }
    };
    start(this.needed, AT_ONCE);
    if (!this.waiting) start(this.ahead, AHEAD_AT_ONCE);
  }

  private async fetch(request: TileRequest, key: string): Promise<void> {
    const controller = new AbortController();
    this.under.set(key, controller);
    try {
      const data = await this.load(request, controller.signal);
      if (this.under.get(key) !== controller) return;
      this.under.delete(key);
      this.failures.delete(key);
      this.keep({ ...request, data, rows: rowsOf(data.row) }, key);
      this.arrived();
    } catch (error) {
      if (this.under.get(key) !== controller) return;
      this.under.delete(key);
      this.failures.set(key, performance.now());
      this.troubled(error instanceof Error ? error.message : String(error));
    }
    this.fetchNext();
  }

  private keep(tile: Tile<T>, key: string): void {
    this.tiles.set(key, tile);
    this.kept += tile.data.length;
    for (const [oldest, { level, data }] of this.tiles) {
      if (this.kept <= KEPT || oldest === key) break;
      // The whole trace at a glance is what everything else falls back to.
      if (level === this.root) continue;
      this.tiles.delete(oldest);
      this.kept -= data.length;
    }
  }
}

const keyOf = ({ level, index, block }: TileRequest): string => `${level}/${index}/${block}`;

/** Where each row begins and ends in a column that is sorted by rows. */
export function rowsOf(row: Uint32Array): Map<number, readonly [number, number]> {
  const rows = new Map<number, readonly [number, number]>();
  for (let from = 0; from < row.length; ) {
    const id = row[from] ?? 0;
    let to = from + 1;
    while (to < row.length && row[to] === id) to += 1;
    rows.set(id, [from, to]);
    from = to;
  }
  return rows;
}
