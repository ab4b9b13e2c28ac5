import { expect, test } from "vitest";

import { type Flag, flagMarks, flagNear } from "./flags";
import { flagBoxes } from "./overlay";

const flag = (id: string, begin: number, end = begin, row: number | null = null): Flag =>
  ({ id, begin, end, row, text: id, chosen: false });

test("a flag is seen as long as any of it lies in the view", () => {
  const flags = [flag("late", 900), flag("span", -500, 150), flag("gone", 0, 99), flag("all", -1e6, 1e6)];
  const marks = flagMarks(flags, 100, 1, 500);
  expect(marks.map((mark) => mark.flag.id)).toEqual(["span", "all"]);
  expect(marks[1]).toMatchObject({ from: -8, to: 508 });
  expect(flagMarks(flags, 100, 1, 800).map((mark) => mark.flag.id)).toContain("late");
});

test("what is pointed at is the pennant, then the shortest span that is there", () => {
  const flags = [flag("long", 0, 1000), flag("short", 400, 600), flag("moment", 500)];
  expect(flagNear(flags, 500, 5)?.id).toBe("moment");
  expect(flagNear(flags, 450, 5)?.id).toBe("short");
  expect(flagNear(flags, 2, 5)?.id).toBe("long");
  expect(flagNear(flags, 800, 5)?.id).toBe("long");
  expect(flagNear(flags, 1010, 5)).toBeNull();
});

test("a note on a row frames that row, one on all of them the whole height, one on a hidden row nothing", () => {
  const frame = { view: { begin: 0, end: 100 }, main: 100, cross: 300, vertical: false };
  const marks = flagMarks([flag("row", 10, 30, 5), flag("all", 50), flag("hidden", 60, 70, 6)], 0, 1, 100);
  const place = (row: number): readonly [number, number] | null => (row === 5 ? [40, 60] : null);
  const boxes = flagBoxes(marks, place, frame);
  expect(boxes.map(({ x, y, width, height }) => [x, y, width, height])).toEqual([[10.5, 38.5, 20, 23], [50.5, -2, 0, 304]]);
  const turned = flagBoxes(marks, place, { ...frame, vertical: true });
  expect(turned[0]).toMatchObject({ x: 38.5, y: 10.5, width: 23, height: 20 });
});
