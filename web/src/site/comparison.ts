import type { Verdict } from "../base/document";
import type { SiteBoard, SiteDocument, SiteMetric, SiteValue } from "./document";

/** A metric of two boards. Without a verdict they cannot be compared, and `reason` says why. */
export interface SiteChange {
  readonly metric: SiteMetric;
  readonly base: SiteValue | undefined;
  readonly other: SiteValue | undefined;
  readonly verdict: Verdict | undefined;
  readonly reason: string;
  readonly ratio: number;
  /** The least favourable bounds: of the ends of both intervals. */
  readonly low: number;
  readonly high: number;
  readonly noiseFloor: number;
}

const ORDER: readonly (Verdict | undefined)[] = [
  "slower",
  "faster",
  "unstable",
  "no difference shown",
  undefined,
];

/** Every metric that one of the boards has: what differs first, the largest change on top. */
export function compareBoards(site: SiteDocument, base: SiteBoard, other: SiteBoard): SiteChange[] {
  const found = site.metrics.flatMap((metric) => {
    const a = valueOf(base, metric);
    const b = valueOf(other, metric);
    if (a === undefined && b === undefined) return [];
    return [compareValues(metric, a, b, a === undefined ? gap(base, metric) : gap(other, metric))];
  });
  const group = (change: SiteChange): number =>
    change.verdict === "faster" || change.verdict === "slower" ? 0 : ORDER.indexOf(change.verdict);
  const size = (change: SiteChange): number =>
    change.verdict === undefined ? 0 : Math.abs(Math.log(change.ratio));
  return found.sort((a, b) => group(a) - group(b) || size(b) - size(a));
}

/** One metric; `missing` is why there is no value on the side that has none. */
export function compareValues(
  metric: SiteMetric,
  base: SiteValue | undefined,
  other: SiteValue | undefined,
  missing = "",
): SiteChange {
  const none = { metric, base, other, verdict: undefined, ratio: 1, low: 1, high: 1, noiseFloor: 0 };
  if (base === undefined || other === undefined) return { ...none, reason: missing };
  if (Math.min(base.low, base.median, other.low, other.median) <= 0) {
    return { ...none, reason: "values of zero or less have no ratio" };
  }
  const ratio = other.median / base.median;
  const low = other.low / base.high;
  const high = other.high / base.low;
  const noiseFloor = Math.max(base.noise_floor ?? Infinity, other.noise_floor ?? Infinity);
  const said = { metric, base, other, ratio, low, high, noiseFloor };
  if (!base.stable || !other.stable) {
    return { ...said, verdict: "unstable", reason: "no single number describes one side" };
  }
  const reasons = [
    low <= 1 && high >= 1 ? "the bounds of the ratio include 1" : "",
    noiseFloor === Infinity ? "one process only: no noise floor" : "",
    noiseFloor !== Infinity && Math.abs(Math.log(ratio)) <= Math.log1p(noiseFloor)
      ? "within the noise floor"
      : "",
  ].filter((reason) => reason !== "");
  if (reasons.length > 0) {
    return { ...said, verdict: "no difference shown", reason: reasons.join(", ") };
  }
  const better = metric.better === "higher" ? ratio > 1 : ratio < 1;
  return { ...said, verdict: better ? "faster" : "slower", reason: "" };
}

function valueOf(board: SiteBoard, metric: SiteMetric): SiteValue | undefined {
  return board.values.find((value) => value.metric === metric.id);
}

function gap(board: SiteBoard, metric: SiteMetric): string {
  const said = board.gaps.find((each) => each.metric === metric.id)?.na ?? "";
  return said === "" ? `not measured on ${board.name}` : `not available on ${board.name}: ${said}`;
}

/** What is known of both boards and differs: name, base, other. */
export function differingFacts(base: SiteBoard, other: SiteBoard): [string, string, string][] {
  const names = new Set([...base.facts, ...other.facts].map((fact) => fact.name));
  const text = (board: SiteBoard, name: string): string =>
    board.facts.find((fact) => fact.name === name)?.text ?? "–";
  return [...names]
    .map((name): [string, string, string] => [name, text(base, name), text(other, name)])
    .filter(([, a, b]) => a !== b);
}
