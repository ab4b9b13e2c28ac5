/** The flame graph of the difference of two traces: as wide as both on average, coloured by change. */

import { make, namedTable } from "./elements";
import { belowWhat, type FlameLook, withoutNames } from "./flame-drawing";
import { type FlameTree, type Missing, moduleOf, nameOf, weightOf } from "./flame-layout";
import { nothing } from "./answer";
import { count, duration, plural, rate, share } from "./words";

const LISTED = 30;

/** One of the two traces: the part that is compared, and what lies in it. */
interface ComparedSide {
  readonly part: { readonly begin: number; readonly end: number };
  readonly stacks: number;
  readonly weight: number;
}

interface Interval {
  readonly low: number;
  readonly high: number;
}

interface FunctionChange {
  readonly name: string;
  readonly module: string;
  readonly share_a: number;
  readonly share_b: number;
  readonly change: number;
  readonly interval: Interval | null;
  readonly changed: boolean;
  readonly total_a: number;
  readonly total_b: number;
  readonly total_change: number;
  readonly total_interval: Interval | null;
}

/** `GET flame-difference`: a tree as columns, with the weights of both traces. */
export interface FlameDifference extends Omit<FlameTree, "total"> {
  readonly event: string;
  readonly unit: string;
  readonly basis: "share" | "rate";
  readonly a: ComparedSide;
  readonly b: ComparedSide;
  readonly events: readonly { readonly name: string; readonly stacks_a: number; readonly stacks_b: number }[];
  readonly threads: readonly { readonly name: string; readonly weight_a: number; readonly weight_b: number }[];
  readonly total_a: readonly number[];
  readonly total_b: readonly number[];
  /** Bounds of the difference of shares, or of weights per second; null without intervals. */
  readonly low: readonly number[] | null;
  readonly high: readonly number[] | null;
  readonly blocks: number;
  readonly left_out: number;
  readonly changes: readonly FunctionChange[];
  readonly more_changes: number;
  readonly missing: Missing;
}

/** What a node is in both: shares, or weights per second. */
interface Change {
  readonly a: number;
  readonly b: number;
  readonly interval: Interval | null;
  /** Beyond chance: 1 is more in B, -1 is less; 0 is not shown. */
  readonly direction: -1 | 0 | 1;
}

/** By what the weights of a side are divided to be compared. */
function unitOf({ basis }: FlameDifference, { part, weight }: ComparedSide): number {
  return basis === "rate" ? Math.max(1, part.end - part.begin) / 1e9 : Math.max(1, weight);
}

export function changeOf(graph: FlameDifference, node: number): Change {
  const a = (graph.total_a[node] ?? 0) / unitOf(graph, graph.a);
  const b = (graph.total_b[node] ?? 0) / unitOf(graph, graph.b);
  const [low, high] = [graph.low?.[node], graph.high?.[node]];
  const interval = low === undefined || high === undefined ? null : { low, high };
  const direction = interval === null ? 0 : interval.low > 0 ? 1 : interval.high < 0 ? -1 : 0;
  return { a, b, interval, direction };
}

/** An amount of one side. */
function amount({ basis, unit }: FlameDifference, value: number): string {
  if (basis === "share") return share(value);
  return unit === "ns" ? `${duration(value)} /s` : rate(value);
}

const signed = (value: number, text: string): string => `${value > 0 ? "+" : value < 0 ? "−" : "±"}${text}`;

/** A difference: of shares in percentage points. */
function points({ basis, unit }: FlameDifference, value: number): string {
  const size = Math.abs(value);
  if (basis === "share") return signed(Number(value.toFixed(4)), (size * 100).toFixed(2));
  return signed(value, unit === "ns" ? `${duration(size)} /s` : rate(size));
}

const bounds = (graph: FlameDifference, interval: Interval | null): string =>
  interval === null ? "–" : `${points(graph, interval.low)} to ${points(graph, interval.high)}`;

/** Which trace has more, and as what the two are compared. */
export function differenceNote(graph: FlameDifference, names: readonly [string, string]): HTMLElement {
  const { a, b, basis } = graph;
  const lasts = ({ part }: ComparedSide): string => duration(part.end - part.begin);
  const side = (of: ComparedSide): string =>
    `${plural(of.stacks, "stack")}${graph.unit === "ns" ? ` of ${duration(of.weight)}` : ""} in ${lasts(of)}`;
  const most = a.weight === b.weight ? "both have as many"
    : a.weight === 0 || b.weight === 0 ? `only ${a.weight === 0 ? "B" : "A"} has any`
      : b.weight > a.weight ? `B has ${(b.weight / a.weight).toFixed(2)} times as many` : `A has ${(a.weight / b.weight).toFixed(2)} times as many`;
  const how = basis === "share"
    ? "Compared are shares, each of all stacks of its own trace: that B is longer, or has more samples, changes nothing. Changes are in percentage points."
    : "Compared is how many there are per second of each part.";
  return make("p", { class: "view-note" },
    make("strong", {}, `A: ${names[0]}`), `, ${side(a)}. `, make("strong", {}, `B: ${names[1]}`), `, ${side(b)}: ${most}. ${how}`);
}

/** What is coloured. */
function chanceNote({ blocks }: FlameDifference): HTMLElement {
  const chance = blocks > 0
    ? `Coloured is what changed beyond chance: ${blocks} blocks of time of each trace were drawn anew 1000 times, and the 95 % interval of the change does not hold 0, as by chance in some 5 of 100 places that did not change.`
    : "Nothing is coloured: a trace has less than two stacks here, too few for intervals.";
  return nothing(`A box is as wide as both traces on average. ${chance}`);
}

/** The difference as a picture: more is one colour, less another and hatched, and both have signs. */
export function differenceLook(graph: FlameDifference): FlameLook {
  const changes = graph.parent.map((_, node) => changeOf(graph, node));
  const tree: FlameTree = { ...graph, total: changes.map(({ a, b }) => a + b) };
  const change = (node: number): Change => changes[node] ?? { a: 0, b: 0, interval: null, direction: 0 };
  return {
    tree,
    fill: (node) => {
      const { a, b, direction } = change(node);
      if (direction === 0) return { colour: "--flame-same", strength: 1, hatched: false };
      const colour = direction > 0 ? "--flame-more" : "--flame-less";
      return { colour, strength: 0.4 + 0.6 * Math.abs(b - a) / Math.max(a + b, 1e-300), hatched: direction < 0 };
    },
    label: (node) => {
      const { a, b, direction } = change(node);
      const name = nameOf(tree, node);
      return direction === 0 ? name : `${direction > 0 ? "▲" : "▼"} ${points(graph, b - a)} ${name}`;
    },
    describe: (node) => {
      const { a, b, interval, direction } = change(node);
      const file = moduleOf(tree, node);
      const verdict = ["less in B", interval === null ? "no interval" : "no change beyond chance", "more in B"][direction + 1] ?? "";
      return `${nameOf(tree, node)}${file === "" ? "" : ` (${file})`}: A ${amount(graph, a)}, B ${amount(graph, b)}, ${points(graph, b - a)} (95 %: ${bounds(graph, interval)}), ${verdict}`;
    },
    weigh: (outermost) => {
      const [a, b] = [weightOf(graph.total_a, outermost) / unitOf(graph, graph.a), weightOf(graph.total_b, outermost) / unitOf(graph, graph.b)];
      return `A ${amount(graph, a)}, B ${amount(graph, b)}, ${points(graph, b - a)}`;
    },
    legend: [
      ["more", "▲ more in B: the stronger, the larger the part of it that is new"], ["less", "▼ less in B, hatched"],
      ["same", "no change beyond chance"], ["found", "found"],
    ],
    tables: (zoom) => [chanceNote(graph), ...(zoom === 0 ? [] : [places(graph, tree, changes, zoom)]), functions(graph), ...withoutNames(graph.missing)],
  };
}

/** Functions of all of both, with intervals. */
function functions(graph: FlameDifference): HTMLElement {
  const shown = graph.changes.slice(0, LISTED);
  const rest = graph.changes.length - shown.length + graph.more_changes;
  const rows = shown.map((row) => [
    row.name, row.module, amount(graph, row.share_a), amount(graph, row.share_b), marked(graph, row.change, row.interval), bounds(graph, row.interval),
    amount(graph, row.total_a), amount(graph, row.total_b), marked(graph, row.total_change, row.total_interval), bounds(graph, row.total_interval),
  ]);
  const more = rest > 0 ? `; ${count(rest)} more functions not shown` : "";
  return namedTable("flame-functions", `Functions, what changed beyond chance first: ▲ more in B, ▼ less${more}`,
    ["Function", "File", "Self A", "Self B", "Change", "95 %", "Total A", "Total B", "Change", "95 %"], rows, 2);
}

/** The places below one that is zoomed to, what changed most first. */
function places(graph: FlameDifference, tree: FlameTree, changes: readonly Change[], zoom: number): HTMLElement {
  const under = new Set<number>([zoom]);
  const nodes: number[] = [];
  tree.parent.forEach((parent, node) => {
    if (!under.has(parent)) return;
    under.add(node);
    nodes.push(node);
  });
  const size = (node: number): number => {
    const { a, b } = changes[node] ?? { a: 0, b: 0 };
    return Math.abs(b - a);
  };
  const isSure = (node: number): boolean => (changes[node]?.direction ?? 0) !== 0;
  nodes.sort((one, other) => Number(isSure(other)) - Number(isSure(one)) || size(other) - size(one));
  const rows = nodes.slice(0, LISTED).map((node) => {
    const { a, b, interval } = changes[node] ?? { a: 0, b: 0, interval: null };
    return [nameOf(tree, node), moduleOf(tree, node), nameOf(tree, tree.parent[node] ?? 0), amount(graph, a), amount(graph, b), marked(graph, b - a, interval), bounds(graph, interval)];
  });
  const more = nodes.length > LISTED ? `; ${count(nodes.length - LISTED)} more places not shown` : "";
  return namedTable("flame-places", `Places${belowWhat(tree, zoom)}, total${more}`,
    ["Function", "File", "Called by", "A", "B", "Change", "95 %"], rows, 3);
}

/** A change as text; in bold, with its direction, where it is beyond chance. */
function marked(graph: FlameDifference, value: number, interval: Interval | null): Node | string {
  const text = points(graph, value);
  if (interval === null || (interval.low <= 0 && interval.high >= 0)) return text;
  return make("strong", {}, `${interval.low > 0 ? "▲" : "▼"} ${text}`);
}
