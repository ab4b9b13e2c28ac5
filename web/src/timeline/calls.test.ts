import { expect, test } from "vitest";

import { callAt, callBeside, type CallingThread, type CallKind, type CallSlices, laneOf, laneRow, paintCalls } from "./calls";
import { row } from "./fixtures";
import { layoutOf, UNGROUPED } from "./layout";

const SLICES = 2 ** 32;

const thread = (number: number, lanes: number, kind: CallKind = "function"): CallingThread =>
  ({ kind, key: kind === "slice" ? SLICES + number : number, thread: number, name: `worker ${number}`, lanes, calls: 3 });

/** Lanes, begins, ends and counts of slices; each is of a function of its own. */
function slicesOf(...all: readonly (readonly [lane: number, begin: number, end: number, count: number])[]): CallSlices {
  return {
    lane: Uint8Array.from(all, ([lane]) => lane),
    begin: Float64Array.from(all, ([, begin]) => begin),
    end: Float64Array.from(all, ([, , end]) => end),
    name: Int32Array.from(all, (_, at) => at),
    count: Uint32Array.from(all, ([, , , count]) => count),
    complete: Uint8Array.from(all, () => 1),
  };
}

test("a lane's row has a number of its own, also of an idle task, and no other row has such a one", () => {
  for (const key of [-65_536, -1, 1, 412, 4_194_304]) {
    for (const lane of [0, 7, 63]) expect(laneOf(laneRow(thread(key, 64), lane, true).id)).toEqual({ key, lane });
  }
  expect([0, 9999, -1, -1_000_024].map(laneOf)).toEqual([null, null, null, null]);
});

test("lanes stand beneath their thread, those without a row behind all others, and go with a filter", () => {
  const rows = [row(0, "cpu", "CPU 0"), { ...row(1), detail: "412" }, { ...row(2), detail: "500" }];
  const calls = [thread(412, 2), thread(77, 1)];
  const names = (shown: readonly number[], grouping = { ...UNGROUPED, calls }): (string | number)[] =>
    layoutOf(rows, shown, "normal", "horizontal", grouping).boxes.map((box) => box.calls?.lane ?? box.row.name);
  expect(names([0, 1, 2])).toEqual(["CPU 0", "task 1", 0, 1, "task 2", 0]);
  expect(names([0, 2])).toEqual(["CPU 0", "task 2"]);
  const closed = { id: 1, name: "p", members: [1, 2], open: false };
  expect(names([0, 1, 2], { ...UNGROUPED, calls, groups: [closed] })).toEqual(["CPU 0", "p", 0]);
  const { boxes } = layoutOf(rows, [0, 1, 2], "normal", "horizontal", { ...UNGROUPED, calls });
  boxes.slice(1).forEach((box, at) => {
    const before = boxes[at];
    expect(box.from).toBeGreaterThanOrEqual((before?.from ?? 0) + (before?.bar ?? 0));
  });
});

test("slices of programs are not called functions", () => {
  const rows = [row(0, "cpu", "CPU 0"), { ...row(1), detail: "412" }];
  const titles = (kind: CallKind): readonly string[] => {
    const calls = [thread(412, 1, kind), thread(4_194_304, 1, kind)];
    const { boxes, headings } = layoutOf(rows, [0, 1], "normal", "horizontal", { ...UNGROUPED, calls });
    return [boxes[2]?.row.name ?? "", headings.at(-1)?.text ?? ""];
  };
  expect(titles("function")).toEqual(["calls", "Functions"]);
  expect(titles("slice")).toEqual(["slices", "Tracks"]);
  expect(titles("user function")).toEqual(["user calls", "User functions"]);
});

test("a trace with functions and slices shows both, beneath their thread and behind all rows", () => {
  const rows = [row(0, "cpu", "CPU 0"), { ...row(1), detail: "412" }];
  const calls = [thread(412, 2), thread(77, 1), thread(412, 1, "slice"), thread(4_194_304, 1, "slice")];
  const { boxes, headings } = layoutOf(rows, [0, 1], "normal", "horizontal", { ...UNGROUPED, calls });
  expect(boxes.map((box) => box.row.name)).toEqual(["CPU 0", "task 1", "calls", "", "slices", "worker 77", "worker 4194304"]);
  expect(headings.slice(-2).map(({ text }) => text)).toEqual(["Functions", "Tracks"]);
  const lanes = boxes.filter(({ calls: own }) => own !== undefined);
  expect(new Set(lanes.map(({ row: { id } }) => id)).size).toBe(lanes.length);
  for (const { row: { id }, calls: own } of lanes) expect(laneOf(id)).toEqual(own);
});

test("a call is found where it is, or beside the pointer, and its neighbours are found", () => {
  const slices = slicesOf([0, 0, 100, 1], [1, 10, 20, 1], [1, 50, 60, 4], [2, 12, 13, 1]);
  const names = ["outer", "first", "several", "inner"];
  expect(callAt(slices, names, 1, 15, 0)?.name).toBe("first");
  expect(callAt(slices, names, 1, 22, 5)?.name).toBe("first");
  expect(callAt(slices, names, 1, 47, 5)).toMatchObject({ name: "several", count: 4 });
  expect(callAt(slices, names, 1, 35, 5)).toBeNull();
  expect(callAt(slices, names, 3, 15, 5)).toBeNull();
  expect(callBeside(slices, names, 1, { begin: 10, end: 20 }, 1)?.name).toBe("several");
  expect(callBeside(slices, names, 1, { begin: 50, end: 60 }, -1)?.name).toBe("first");
  expect(callBeside(slices, names, 1, { begin: 50, end: 60 }, 1)).toBeNull();
});

test("each pixel in which a call was made is painted, and no other", () => {
  const slices = slicesOf([0, 0, 1000, 1], [1, 95, 96, 1], [1, 250, 405, 1], [1, 990, 2000, 1]);
  for (const lane of [0, 1]) {
    const filled = new Set<number>();
    const context = {
      fillRect: (x: number, _y: number, width: number) => { for (let at = x; at < x + width; at += 1) filled.add(at); },
    } as unknown as CanvasRenderingContext2D;
    const theme = { property: () => "#123456", ink: "#000" } as never;
    const named = paintCalls(context, slices, ["a", "b", "c", "d"], lane, [0, 13], { begin: 50, perPixel: 10 }, 100, theme, 12);
    const wanted = new Set<number>();
    slices.lane.forEach((own, at) => {
      if (own !== lane) return;
      for (let pixel = 0; pixel < 100; pixel += 1) {
        const from = 50 + pixel * 10;
        if ((slices.begin[at] ?? 0) < from + 10 && (slices.end[at] ?? 0) > from) wanted.add(pixel);
      }
    });
    expect(filled).toEqual(wanted);
    expect(named.map(({ name }) => name)).toEqual(lane === 0 ? ["a"] : ["c"]);
  }
});
