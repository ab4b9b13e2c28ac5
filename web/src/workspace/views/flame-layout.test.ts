import { expect, test } from "vitest";
import { beside, boxesOf, childrenOf, type FlameGraph, found, sumsOf, weightOf } from "./flame-layout";

/** all 10 → main 10 → (b 4 → b 3, a 5) */
const GRAPH: FlameGraph = {
  event: "cycles", unit: "samples", stacks: 10, events: [], threads: [], left_out: 0, missing: [],
  names: ["main", "a", "b"], modules: ["prog", "prog", "lib.so"],
  parent: [-1, 0, 1, 1, 2], function: [-1, 0, 2, 1, 2],
  self_weight: [0, 1, 1, 5, 3], total: [10, 10, 4, 5, 3],
};

test("functions are as wide as they weigh, in order of their names below their callers", () => {
  const boxes = boxesOf(GRAPH, childrenOf(GRAPH), 0, 0);
  expect(boxes.map(({ node, depth, from, to }) => [node, depth, from, to])).toEqual([
    [0, 0, 0, 1], [1, 1, 0, 1], [3, 2, 0, 0.5], [2, 2, 0.5, 0.9], [4, 3, 0.5, 0.8],
  ]);
  expect(boxesOf(GRAPH, childrenOf(GRAPH), 0, 0.45).map(({ node }) => node)).toEqual([0, 1, 3]);
});

test("what is zoomed to has all of the width, as its callers have", () => {
  const boxes = boxesOf(GRAPH, childrenOf(GRAPH), 2, 0);
  expect(boxes.map(({ node, from, to, above }) => [node, from, to, above])).toEqual([
    [0, 0, 1, true], [1, 0, 1, true], [2, 0, 1, false], [4, 0, 0.75, false],
  ]);
});

test("a function that calls itself counts once", () => {
  expect(sumsOf(GRAPH, 0)).toEqual([
    { name: "a", module: "prog", self: 5, total: 5 },
    { name: "b", module: "lib.so", self: 4, total: 4 },
    { name: "main", module: "prog", self: 1, total: 10 },
  ]);
  expect(sumsOf(GRAPH, 4)).toEqual([{ name: "b", module: "lib.so", self: 3, total: 3 }]);
});

test("a search finds functions and files, and adds up what is below them once", () => {
  expect(found(GRAPH, "B")).toEqual({ nodes: new Set([2, 4]), outermost: [2] });
  expect(weightOf(GRAPH.total, found(GRAPH, "prog").outermost)).toBe(10);
  expect(found(GRAPH, "  ").nodes.size).toBe(0);
});

test("arrow keys go along a line, to the caller, to what is called", () => {
  const boxes = boxesOf(GRAPH, childrenOf(GRAPH), 0, 0);
  const walk = (from: number, ...keys: string[]): (number | undefined) =>
    boxes[keys.reduce((at, key) => beside(boxes, at, key), from)]?.node;
  expect(walk(0, "ArrowDown")).toBe(1);
  expect(walk(0, "ArrowDown", "ArrowDown", "ArrowRight")).toBe(2);
  expect(walk(4, "ArrowUp", "ArrowLeft")).toBe(3);
  expect(walk(2, "ArrowDown")).toBe(3);
});
