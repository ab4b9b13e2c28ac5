import { describe, expect, it, vi } from "vitest";

import { items } from "./fixtures";
import type { Items } from "./source";
import { rowsOf, TileStore, type TileRequest } from "./tile-store";
import { tileLength } from "./tiles";

interface Asked {
  readonly request: TileRequest;
  readonly signal: AbortSignal;
  readonly answer: (data?: Items) => Promise<void>;
  readonly fail: (reason: string) => Promise<void>;
}

/** A store whose answers come when the test says so. */
function made(): { store: TileStore<Items>; asked: Asked[]; arrived: () => void; troubled: (reason: string) => void } {
  const asked: Asked[] = [];
  const arrived = vi.fn();
  const troubled = vi.fn();
  const store = new TileStore<Items>(
    tileLength(4),
    (request, signal) =>
      new Promise((resolve, reject) => {
        const settled = async (): Promise<void> => {
          for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
        };
        asked.push({
          request,
          signal,
          answer: (data = items([0, 1, 0, 1])) => { resolve(data); return settled(); },
          fail: (reason) => { reject(new Error(reason)); return settled(); },
        });
      }),
    arrived,
    troubled,
  );
  return { store, asked, arrived, troubled };
}

const request = (level: number, index: number): TileRequest => ({ level, index, block: 0 });

describe("tiles", () => {
  it("are fetched a few at a time, what is needed first", async () => {
    const { store, asked, arrived } = made();
    store.request([0, 1, 2, 3, 4, 5].map((index) => request(1, index)), [request(2, 0)]);
    expect(asked.map((each) => each.request.index)).toEqual([0, 1, 2, 3]);
    for (const each of asked.slice()) await each.answer();
    for (const each of asked.slice(4)) await each.answer();
    expect(asked.map(({ request: { level } }) => level)).toEqual([1, 1, 1, 1, 1, 1, 2]);
    expect(arrived).toHaveBeenCalledTimes(6);
    expect(store.waiting).toBe(false);
  });

  it("that are no longer wanted are not waited for", async () => {
    const { store, asked, arrived } = made();
    store.request([request(0, 7)], []);
    store.request([request(0, 3)], []);
    expect(asked[0]?.signal.aborted).toBe(true);
    await asked[0]?.answer();
    expect(arrived).not.toHaveBeenCalled();
    await asked[1]?.answer();
    expect(store.cover(0, { begin: 3 * tileLength(0), end: 4 * tileLength(0) }, 0)).toHaveLength(1);
  });

  it("are replaced by coarser and finer ones until they come", async () => {
    const { store, asked } = made();
    store.request([request(4, 0), request(0, 4)], []);
    for (const each of asked.slice()) await each.answer();
    // Level 1, tile 2 is level 0, tiles 4 and 5: one is there, the root stands for the other.
    const [finer, coarser] = store.pieces(request(1, 2));
    expect([finer?.tile.level, coarser?.tile.level]).toEqual([0, 4]);
    expect(finer?.clip).toEqual({ begin: 4 * tileLength(0), end: 5 * tileLength(0) });
    expect(coarser?.clip).toEqual({ begin: 5 * tileLength(0), end: 6 * tileLength(0) });
    expect(store.pieces(request(0, 9)).map(({ tile }) => tile.level)).toEqual([4]);
  });

  it("that fail are told of, and not asked for again at once", async () => {
    const { store, asked, troubled } = made();
    store.request([request(0, 0)], []);
    await asked[0]?.fail("the server is gone");
    expect(troubled).toHaveBeenCalledWith("the server is gone");
    store.request([request(0, 0)], []);
    expect(asked).toHaveLength(1);
  });

  it("are forgotten, the longest unused first, but never the whole at a glance", async () => {
    const { store, asked } = made();
    const large = { ...items([0, 1, 0, 1]), length: 1_100_000 };
    store.request([request(4, 0), request(0, 0), request(0, 1)], []);
    for (const each of asked.slice()) await each.answer(large);
    expect(store.pieces(request(0, 0)).map(({ tile }) => tile.level)).toEqual([4]);
    expect(store.pieces(request(0, 1)).map(({ tile }) => tile.level)).toEqual([0]);
  });
});

it("finds where each row's items are", () => {
  expect([...rowsOf(Uint32Array.of(3, 3, 9, 1, 1, 1))]).toEqual([[3, [0, 2]], [9, [2, 3]], [1, [3, 6]]]);
  expect(rowsOf(new Uint32Array(0)).size).toBe(0);
});
