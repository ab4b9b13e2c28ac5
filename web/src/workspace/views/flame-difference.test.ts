import { expect, test } from "vitest";
import { differenceLook, differenceNote, changeOf, type FlameDifference } from "./flame-difference";

const side = (stacks: number, seconds: number): FlameDifference["a"] =>
  ({ part: { begin: 0, end: seconds * 1e9 }, stacks, weight: stacks });

/** all → (grew, shrank, same): B has twice as many samples in twice the time. */
const GRAPH: FlameDifference = {
  event: "cycles", unit: "samples", basis: "share", a: side(100, 1), b: side(200, 2), events: [], threads: [],
  names: ["grew", "shrank", "same"], modules: ["prog", "prog", ""],
  parent: [-1, 0, 0, 0], function: [-1, 0, 1, 2],
  total_a: [100, 10, 60, 30], total_b: [200, 80, 60, 60],
  low: [0, 0.2, -0.4, -0.05], high: [0, 0.4, -0.2, 0.05], blocks: 40, left_out: 0,
  changes: [{
    name: "grew", module: "prog", share_a: 0.1, share_b: 0.4, change: 0.3, interval: { low: 0.2, high: 0.4 }, changed: true,
    total_a: 0.1, total_b: 0.4, total_change: 0.3, total_interval: null,
  }],
  more_changes: 0, missing: [],
};

test("what changed has a colour, a sign and, where it is less, a pattern", () => {
  const look = differenceLook(GRAPH);
  const fills = [0, 1, 2, 3].map((node) => look.fill(node));
  expect(fills.map(({ colour }) => colour)).toEqual(["--flame-same", "--flame-more", "--flame-less", "--flame-same"]);
  expect(fills.map(({ hatched }) => hatched)).toEqual([false, false, true, false]);
  expect([0, 1, 2, 3].map((node) => look.label(node))).toEqual(["all", "▲ +30.00 grew", "▼ −30.00 shrank", "same"]);
  expect(look.describe(2)).toBe("shrank (prog): A 60.0 %, B 30.0 %, −30.00 (95 %: −40.00 to −20.00), less in B");
  expect(look.describe(3)).toContain("no change beyond chance");
});

test("a box is as wide as the shares of both together, or their rates", () => {
  expect(differenceLook(GRAPH).tree.total).toEqual([2, 0.5, 0.6 + 0.3, 0.6]);
  const rates: FlameDifference = { ...GRAPH, basis: "rate" };
  expect(changeOf(rates, 1)).toMatchObject({ a: 10, b: 40 });
  expect(differenceLook(rates).label(1)).toBe("▲ +30.0 /s grew");
});

test("nothing is coloured without intervals, and the notes say why", () => {
  const few: FlameDifference = { ...GRAPH, low: null, high: null, blocks: 0 };
  expect([1, 2].map((node) => differenceLook(few).fill(node).colour)).toEqual(["--flame-same", "--flame-same"]);
  expect(differenceLook(few).describe(1)).toContain("no interval");
  const told = (graph: FlameDifference): string | null => differenceNote(graph, ["x", "y"]).textContent;
  expect(differenceLook(few).tables(0)[0]?.textContent).toContain("less than two stacks");
  expect(told(GRAPH)).toContain("A: x, 100 stacks in 1.00 s. B: y, 200 stacks in 2.00 s: B has 2.00 times as many.");
  expect(told(GRAPH)).toContain("shares");
  expect(told({ ...GRAPH, basis: "rate" })).toContain("per second");
});

test("the table has intervals, and places below what is zoomed to", () => {
  const [, functions] = differenceLook(GRAPH).tables(0);
  const cells = [...(functions?.querySelectorAll("tbody td") ?? [])].map((cell) => cell.textContent);
  expect(cells).toEqual(["prog", "10.0 %", "40.0 %", "▲ +30.00", "+20.00 to +40.00", "10.0 %", "40.0 %", "+30.00", "–"]);
  expect(differenceLook(GRAPH).tables(1)[1]?.querySelectorAll("tbody tr")).toHaveLength(0);
});
