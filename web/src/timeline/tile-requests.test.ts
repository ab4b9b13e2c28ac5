import { afterEach, expect, it, vi } from "vitest";

import { source } from "./fixtures";
import { layoutOf, seenAt, UNGROUPED } from "./layout";
import { type Movement, MovementWatch } from "./motion";
import { requestsOf, type TileRequests } from "./tile-requests";
import { levelOf, rootLevel } from "./tiles";

const DURATION = 1e9;
const VIEW = { begin: 4e8, end: 4.1e8 };
const PIXELS = 1000;

afterEach(() => { vi.useRealTimers(); });

function requests(movement: Movement): TileRequests {
  const { rows } = source(80, DURATION, 200);
  const layout = layoutOf(rows, rows.map((_, order) => order), "normal", "horizontal", UNGROUPED);
  return requestsOf(VIEW, PIXELS, null, layout, seenAt(layout, 0, 400), 0, 400, DURATION, movement);
}

it("asks for what is seen however it moves, and ahead only for what will be seen next", () => {
  const [still, along, zoom] = [requests("still"), requests("along"), requests("zoom")];
  expect(along.needed).toEqual(still.needed);
  expect(zoom.needed).toEqual(still.needed);
  const level = levelOf((VIEW.end - VIEW.begin) / PIXELS);
  const levels = ({ ahead }: TileRequests): number[] => [...new Set(ahead.map((each) => each.level))].sort((a, b) => a - b);
  expect(levels(zoom)).toEqual([rootLevel(DURATION)]);
  expect(levels(along)).toEqual([level, rootLevel(DURATION)]);
  expect(levels(still)).toEqual([level - 1, level, level + 1, rootLevel(DURATION)]);
});

it("tells how a view moves until it rests", () => {
  vi.useFakeTimers();
  let rests = 0;
  const watch = new MovementWatch(() => { rests += 1; });
  expect(watch.follow(VIEW)).toBe("still");
  expect(watch.follow({ begin: VIEW.begin + 0.3, end: VIEW.end + 0.3 })).toBe("along");
  expect(watch.follow({ begin: VIEW.begin, end: VIEW.end * 2 })).toBe("zoom");
  expect(rests).toBe(0);
  vi.runAllTimers();
  expect(rests).toBe(1);
  expect(watch.follow({ begin: VIEW.begin, end: VIEW.end * 2 })).toBe("still");
});
