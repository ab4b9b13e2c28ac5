import { expect, it } from "vitest";

import type { Columns } from "../base/arrow";
import { okay } from "../base/result";
import { foundPixels } from "../timeline/finds";
import { Finds } from "./finds";
import { Selection } from "./selection";

const TIMES = [10, 20, 20, 500];

function found(selection: Selection): Finds {
  const columns = {
    length: TIMES.length, has: () => true, metadata: new Map([["total", "9"]]),
    get: (name: string, type: { from(values: readonly number[]): unknown }) => type.from(name === "time" ? TIMES : [0, 0, 1, 65_535]),
  } as unknown as Columns;
  return new Finds(selection, () => Promise.resolve(okay(columns)));
}

it("goes from one to the next from where one is, through those of one time, and round", async () => {
  const selection = new Selection(1000, { view: { begin: 15, end: 600 } });
  const finds = found(selection);
  await finds.search("eth0");
  expect([finds.total, finds.number]).toEqual([9, null]);
  const go = (by: 1 | -1): unknown[] => {
    const hit = finds.step(by);
    selection.choose(hit === null ? null : { row: 0, time: hit.time });
    return [hit?.time, hit?.cpu, finds.number];
  };
  expect([go(1), go(1), go(1), go(1)]).toEqual([[20, 0, 2], [20, 1, 3], [500, null, 4], [10, 0, 1]]);
  expect(go(-1)).toEqual([500, null, 4]);
  // What is chosen elsewhere is where one goes on from.
  selection.choose({ row: 0, time: 20 });
  expect(go(1)).toEqual([500, null, 4]);
  await finds.search("");
  expect(finds.step(1)).toBeNull();
});

it("asks again when the views show another span, and never twice for one text", async () => {
  const selection = new Selection(1000);
  let asked = 0;
  const finds = new Finds(selection, () => { asked += 1; return new Promise(() => undefined); });
  void finds.search("a");
  void finds.search("a");
  selection.setRange({ begin: 1, end: 2 });
  await Promise.resolve();
  expect(asked).toBe(2);
});

it("marks each pixel on which any lies once", () => {
  expect(foundPixels(Float64Array.from([0, 10, 11, 19, 20, 99, 100]), { begin: 10, perPixel: 5 }, 18)).toEqual([0, 1, 2, 17]);
  expect(foundPixels(Float64Array.from([5, 5.2]), { begin: 5, perPixel: 1e-9 }, 10)).toEqual([0]);
});
