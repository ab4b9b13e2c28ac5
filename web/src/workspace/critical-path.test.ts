import { expect, test, vi } from "vitest";

import { row } from "../timeline/fixtures";
import type { Row } from "../timeline/source";
import { type CriticalPath, partText, pathArrows, pathParts, rowOn } from "./critical-path";
import { instanceArrows, showCause } from "./details";

const rows: readonly Row[] = [
  row(0, "cpu", "CPU 0"),
  { ...row(7, "irq", "eth0"), id: 71, cpu: 0 },
  { ...row(7, "irq", "eth0"), id: 72, cpu: 1 },
  { ...row(8, "thread", "iperf3"), id: 80, cpu: null },
];
const rowOf = (actor: number): Row | null => rows.find((each) => each.actor === actor) ?? null;

const path: CriticalPath = {
  begin: 1000,
  end: 24_000,
  origin: "an interrupt",
  hops: [
    { actor: "irq:eth0/24", actor_id: 7, cpu: 1, begin: 1000, end: 1010 },
    { actor: "task:iperf3/412", actor_id: 8, cpu: 0, begin: 1010, end: 24_000 },
  ],
  parts: [
    { state: "waiting for a CPU", actor: "task:stress-ng/812", time: 22_000, share: 0.95 },
    { state: "running", actor: "task:iperf3/412", time: 1000, share: 0.05 },
  ],
  other_parts: 0,
  longest: [
    { begin: 1010, end: 23_010, state: "waiting for a CPU", actor: "task:stress-ng/812", actor_id: 9, cpu: 0 },
  ],
  incomplete: [],
};

test("the path names who had the CPU, and each step leads to its place", () => {
  const reveal = vi.fn();
  const workspace = { rows, rowOf, selection: { reveal } } as never;
  const host = document.createElement("div");
  host.append(...pathParts(workspace, path));
  expect(host.textContent).toContain("waiting for a CPU, behind task:stress-ng/812");
  expect(host.textContent).toContain("It begins with an interrupt.");
  host.querySelector<HTMLButtonElement>(".ws-hops button")?.click();
  expect(reveal).toHaveBeenCalledWith({ begin: 1000, end: 1010 }, { row: 72, time: 1005 }, 7);
});

test("a handler is shown on the CPU on which it ran, a thread in its row", () => {
  expect(rowOn({ rows, rowOf }, 7, 1)?.id).toBe(72);
  expect(rowOn({ rows, rowOf }, 7, 3)?.id).toBe(71);
  expect(rowOn({ rows, rowOf }, 8, 1)?.id).toBe(80);
});

test("states read as sentences", () => {
  expect(partText("preempted", "task:a/1")).toBe("preempted by task:a/1");
  expect(partText("running", "task:a/1")).toBe("task:a/1 runs");
  expect(partText("leaving idle", "idle:0")).toBe("leaving idle");
  expect(partText("not known", null)).toBe("not known");
});

test("the key for the cause presses the button that leads there", () => {
  const details = document.createElement("aside");
  expect(showCause(details)).toBe(false);
  const act = vi.fn();
  const lead = document.createElement("button");
  lead.dataset["cause"] = "";
  lead.addEventListener("click", act);
  details.append(lead);
  expect(showCause(details)).toBe(true);
  expect(act).toHaveBeenCalledOnce();
});

test("arrows lead from the waker to the begin, on to what was woken, and along the path before", () => {
  const waker = { actor: 7, cpu: 1, name: "eth0", label: "irq:eth0", time: 900 };
  const woken = { actor: 7, cpu: 0, name: "eth0", begin: 1300 };
  const arrows = instanceArrows({ rows, rowOf }, 80, {
    waker, ready: 905, begin: 1000, woke: [{ ...woken, time: 1200 }, { ...woken, time: null }],
  });
  expect(arrows).toEqual([
    { from: { row: 72, time: 900 }, to: { row: 80, time: 1000 }, kind: "cause" },
    { from: { row: 80, time: 1200 }, to: { row: 71, time: 1300 }, kind: "effect" },
  ]);
  expect(instanceArrows({ rows, rowOf }, 80, { waker: null, ready: null, begin: 5, woke: [] })).toEqual([]);
  expect(pathArrows({ rows, rowOf }, path)).toEqual([]);
  const first = { actor: "irq:eth0/24", actor_id: 7, cpu: 0, begin: 900, end: 950 };
  expect(pathArrows({ rows, rowOf }, { ...path, hops: [first, ...path.hops] })).toEqual([
    { from: { row: 71, time: 950 }, to: { row: 72, time: 1000 }, kind: "path" },
  ]);
});
