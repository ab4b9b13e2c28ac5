import { expect, it } from "vitest";

import { row } from "../timeline/fixtures";
import type { Row } from "../timeline/source";
import { baseName, groupingOf, groupings, inGroups, usualGrouping } from "./groups";

/** Thread `id` of a process; its number is 1000 + id, and it was busy for so long. */
const thread = (id: number, process: number | null, busy: number, name = `task ${id}`): Row =>
  ({ ...row(id, "thread", name), busy, ...(process === null ? {} : { process }) });

const ROWS = [
  row(0, "cpu"), thread(1, 1001, 5), thread(2, 1004, 40), thread(3, 1001, 60), thread(4, 1004, 1, "server"), thread(5, null, 50),
];

it("puts threads of a process together, the busiest process first, and loses none", () => {
  const ordered = inGroups(ROWS, "process");
  expect(ordered.map(({ id }) => id)).toEqual([0, 1, 3, 5, 2, 4]);
  expect(inGroups(ROWS, "none")).toBe(ROWS);
  const { groups, pinned } = groupingOf(ordered, "process", [5, 99], [2]);
  expect(groups.map(({ id, name, members, open }) => [id, name, members, open])).toEqual([
    [1, "task 1 1001", [1, 2], false],
    [2, "server 1004", [4, 5], true],
  ]);
  expect(pinned).toEqual([3]);
});

it("offers only what puts any together", () => {
  expect(groupings(ROWS)).toEqual(["process", "name", "none"]);
  expect(usualGrouping(ROWS)).toBe("process");
  const alone = [row(0, "cpu"), thread(1, 1001, 5, "a"), thread(2, 1002, 5, "b")];
  expect(groupings(alone)).toEqual(["none"]);
  const inside = alone.map((each) => (each.kind === "thread" ? { ...each, container: "/box" } : each));
  expect(groupings(inside)).toEqual(["container", "none"]);
  expect(usualGrouping(inside)).toBe("none");
  // A process of one trace is none of another.
  expect(groupings(alone, alone)).toEqual(["none"]);
  expect(groupings(alone, ROWS)).toEqual(["process", "name", "none"]);
});

it("knows workers by their names without numbers", () => {
  expect(["kworker/0:1H", "kworker/u8:2", "cpuhp/1", "bash", "7", "Thread-12"].map(baseName))
    .toEqual(["kworker", "kworker/u", "cpuhp", "bash", "7", "Thread"]);
});
