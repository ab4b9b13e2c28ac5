/** Where the functions of a flame graph lie: each as wide as its weight, callers above what they call. */

/** A tree of functions as columns; node 0 is all, parents stand before children. */
export interface FlameTree {
  readonly names: readonly string[];
  readonly modules: readonly string[];
  readonly parent: readonly number[];
  /** The place in `names` and `modules`. */
  readonly function: readonly number[];
  /** What decides how wide a box is: that of a caller is at least the sum of what it calls. */
  readonly total: readonly number[];
}

/** Files of which functions have no names, and why. */
export type Missing = readonly { readonly module: string; readonly reason: string; readonly frames: number }[];

/** `GET flame`. */
export interface FlameGraph extends FlameTree {
  readonly event: string;
  readonly unit: string;
  readonly stacks: number;
  readonly events: readonly { readonly name: string; readonly stacks: number }[];
  readonly threads: readonly { readonly thread: number; readonly name: string; readonly weight: number }[];
  readonly self_weight: readonly number[];
  readonly left_out: number;
  readonly missing: Missing;
}

/** A node that is drawn: `from` and `to` are parts of the width, `depth` its line. */
export interface Box {
  readonly node: number;
  readonly depth: number;
  readonly from: number;
  readonly to: number;
  /** Whether it is a caller of what is zoomed to, which takes all of the width. */
  readonly above: boolean;
}

export interface FunctionSums {
  readonly name: string;
  readonly module: string;
  readonly self: number;
  readonly total: number;
}

export const nameOf = (graph: FlameTree, node: number): string =>
  node === 0 ? "all" : (graph.names[graph.function[node] ?? -1] ?? "?");

export const moduleOf = (graph: FlameTree, node: number): string => graph.modules[graph.function[node] ?? -1] ?? "";

/** The children of each node, by name. */
export function childrenOf(graph: FlameTree): readonly (readonly number[])[] {
  const children: number[][] = graph.parent.map(() => []);
  graph.parent.forEach((parent, node) => {
    if (parent >= 0) children[parent]?.push(node);
  });
  const before = (a: number, b: number): number => {
    const [one, other] = [nameOf(graph, a), nameOf(graph, b)];
    return one < other ? -1 : one > other ? 1 : a - b;
  };
  for (const own of children) own.sort(before);
  return children;
}

/** The callers of a node, the outermost first. */
export function callersOf(graph: FlameTree, node: number): number[] {
  const callers: number[] = [];
  for (let at = graph.parent[node] ?? -1; at >= 0; at = graph.parent[at] ?? -1) callers.unshift(at);
  return callers;
}

/** The boxes of what is zoomed to and of its callers; what is narrower than `least` is left out. */
export function boxesOf(
  graph: FlameTree, children: readonly (readonly number[])[], zoom: number, least: number,
): Box[] {
  const boxes: Box[] = callersOf(graph, zoom).map((node, depth) => ({ node, depth, from: 0, to: 1, above: true }));
  const whole = Math.max(1, graph.total[zoom] ?? 1);
  const rest: Box[] = [{ node: zoom, depth: boxes.length, from: 0, to: 1, above: false }];
  for (let box = rest.pop(); box !== undefined; box = rest.pop()) {
    boxes.push(box);
    let from = box.from;
    for (const node of children[box.node] ?? []) {
      const to = from + (graph.total[node] ?? 0) / whole;
      if (to - from >= least) rest.push({ node, depth: box.depth + 1, from, to, above: false });
      from = to;
    }
  }
  return boxes.sort((a, b) => a.depth - b.depth || a.from - b.from);
}

/** The functions below a node, most self weight first; one that calls itself counts once. */
export function sumsOf(graph: FlameGraph, zoom: number): FunctionSums[] {
  const self = new Map<number, number>();
  const total = new Map<number, number>();
  const under = new Set<number>([zoom]);
  const add = (to: Map<number, number>, of: number, weight: number): void => {
    to.set(of, (to.get(of) ?? 0) + weight);
  };
  graph.parent.forEach((parent, node) => {
    if (under.has(parent)) under.add(node);
    const of = graph.function[node] ?? -1;
    if (!under.has(node) || of < 0) return;
    add(self, of, graph.self_weight[node] ?? 0);
    const callers = callersOf(graph, node).filter((at) => under.has(at));
    if (!callers.some((at) => graph.function[at] === of)) add(total, of, graph.total[node] ?? 0);
  });
  const sums = [...total].map(([of, weight]) => ({
    name: graph.names[of] ?? "?", module: graph.modules[of] ?? "", self: self.get(of) ?? 0, total: weight,
  })).filter(({ module }) => module !== "");
  return sums.sort((a, b) => b.self - a.self || b.total - a.total);
}

/** The nodes whose function or file holds a text; `outermost` are those below no other of them. */
export function found(
  graph: FlameTree, text: string,
): { readonly nodes: ReadonlySet<number>; readonly outermost: readonly number[] } {
  const wanted = text.trim().toLowerCase();
  const nodes = new Set<number>();
  const outermost: number[] = [];
  if (wanted === "") return { nodes, outermost };
  const within = new Set<number>();
  graph.parent.forEach((parent, node) => {
    const hit = node > 0 && `${nameOf(graph, node)}\n${moduleOf(graph, node)}`.toLowerCase().includes(wanted);
    if (hit) nodes.add(node);
    if (hit && !within.has(parent)) outermost.push(node);
    if (hit || within.has(parent)) within.add(node);
  });
  return { nodes, outermost };
}

/** What some nodes weigh together. */
export function weightOf(weights: readonly number[], nodes: readonly number[]): number {
  return nodes.reduce((sum, node) => sum + (weights[node] ?? 0), 0);
}

/** Where an arrow key leads from a box; the same where there is nothing. */
export function beside(boxes: readonly Box[], at: number, key: string): number {
  const here = boxes[at];
  if (here === undefined) return 0;
  const middle = (here.from + here.to) / 2;
  const line = (depth: number): number[] => boxes.flatMap((box, index) => (box.depth === depth ? [index] : []));
  const holding = (depth: number): number => {
    const own = line(depth).filter((index) => {
      const box = boxes[index];
      return box !== undefined && box.from < here.to && here.from < box.to;
    });
    return own.find((index) => (boxes[index]?.from ?? 0) <= middle && middle < (boxes[index]?.to ?? 0)) ?? own[0] ?? at;
  };
  if (key === "ArrowUp") return holding(here.depth - 1);
  if (key === "ArrowDown") return holding(here.depth + 1);
  const own = line(here.depth);
  const place = own.indexOf(at) + (key === "ArrowRight" ? 1 : -1);
  return own[place] ?? at;
}
