import { expect, it } from "vitest";

import { ArraySource, type RowItems } from "./array-source";
import { numbers, row, rowItems, STATES } from "./fixtures";
import { paintItems, type RowLines } from "./raster";
import type { Items } from "./source";
import type { Paints } from "./theme";
import { TileStore } from "./tile-store";
import { BUCKETS, levelOf, tileRange, tileSpan } from "./tiles";
import { traceLook } from "./trace-look";

// Each pixel tells the state whose colour it has: tens are shades of one state, 0 is blank.
const paintOf = (state: number): Record<string, unknown> => {
  const colour = 10 * (state + 1);
  return { full: colour, faint: colour + 1, edge: colour + 2, shades: [colour + 3, colour + 4] };
};
const PAINTS = { of: paintOf } as unknown as Paints;
const LOOK = traceLook([], STATES, []);
const stateOf = (pixel: number): number => Math.floor(pixel / 10) - 1;

/** The pixels of the lower band, as the stage paints them from tiles. */
async function drawn(held: RowItems, duration: number, begin: number, perPixel: number, width: number): Promise<Uint32Array> {
  const source = new ArraySource("random", duration, [row(0)], LOOK, new Map([[0, held]]));
  const store = new TileStore<Items>(
    duration, ({ level, index }) => source.items(tileSpan(level, index), BUCKETS, [0]),
    () => undefined, (reason) => { throw new Error(reason); },
  );
  const level = levelOf(perPixel);
  const view = { begin, end: begin + width * perPixel };
  const [first, last] = tileRange(level, view, duration);
  const needed = Array.from({ length: last - first + 1 }, (_, at) => ({ level, index: first + at, block: 0 }));
  do {
    store.request(needed, []);
    await new Promise((resolve) => setTimeout(resolve, 0));
  } while (store.waiting);
  const lines: RowLines = {
    pixels: new Uint32Array(3 * width), ranks: new Uint8Array(width), used: new Float64Array(width), width,
  };
  const brush = { look: LOOK, paints: PAINTS, wideFrom: Infinity, wide: () => undefined };
  for (const { tile, clip } of store.cover(level, view, 0)) {
    const range = tile.rows.get(0);
    if (range !== undefined) paintItems(lines, tile.data, range, clip, { begin, perPixel }, brush);
  }
  return lines.pixels.subarray(2 * width);
}

/** The states that each pixel holds a part of, looked up item by item. */
function exact(held: RowItems, begin: number, perPixel: number, width: number): Set<number>[] {
  const pixels = Array.from({ length: width }, () => new Set<number>());
  held.begin.forEach((from, at) => {
    const first = Math.floor((from - begin) / perPixel);
    const behind = Math.max(Math.ceil(((held.end[at] ?? 0) - begin) / perPixel), first + 1);
    for (let x = Math.max(first, 0); x < Math.min(behind, width); x += 1) {
      pixels[x]?.add(typeof held.state === "number" ? held.state : (held.state[at] ?? 0));
    }
  });
  return pixels;
}

it("leaves no pixel blank in which anything happened, and shows nothing that did not happen there", async () => {
  const random = numbers(11);
  let [several, blank] = [0, 0];
  for (let turn = 0; turn < 10; turn += 1) {
    const duration = Math.floor(1e5 * 10 ** (4 * random()));
    const held = rowItems(turn, duration, 3 + Math.floor(20_000 * random() ** 4));
    for (const ratio of [1, 1.25, 2, 3]) {
      const width = Math.round((40 + 600 * random() ** 2) * ratio);
      const perPixel = (duration * 2 ** (-10 * random())) / width;
      const begin = (duration - width * perPixel) * random() * 1.1 - perPixel * random();
      const pixels = await drawn(held, duration, begin, perPixel, width);
      exact(held, begin, perPixel, width).forEach((states, x) => {
        const pixel = pixels[x] ?? 0;
        const place = `row ${turn}, ${perPixel} ns a pixel, pixel ${x} of ${width}`;
        const isTrue = states.size === 0 ? pixel === 0 : states.has(stateOf(pixel));
        if (!isTrue) expect(pixel, place).toBe([...states].join());
        several += states.size > 1 ? 1 : 0;
        blank += states.size === 0 ? 1 : 0;
      });
    }
  }
  expect(several).toBeGreaterThan(1000);
  expect(blank).toBeGreaterThan(1000);
});
