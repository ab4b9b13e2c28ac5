import { formatLength } from "../timeline/time-format";
import type { TraceInfo } from "./panel";

/** The time that may be looked at, ns since a trace's first event. */
export interface Extent {
  readonly earliest: number;
  readonly duration: number;
}

type Clocked = Pick<TraceInfo, "clock" | "origin" | "duration">;

/** Whether two traces say that they count by the same clock. */
const shareClock = (a: Clocked, b: Clocked): boolean => a.clock.uuid !== null && a.clock.uuid === b.clock.uuid;

/**
 * What the second trace shows where the first shows its first event: ns by which the first begins
 * later, where both count by one clock and go on at the same time; else each begins at its own.
 */
export function measuredShift(first: Clocked, second: Clocked): number {
  if (!shareClock(first, second)) return 0;
  const shift = Number(BigInt(first.origin) - BigInt(second.origin));
  return -shift < first.duration && second.duration > shift ? shift : 0;
}

/** What may be looked at of each trace: all that any of them has, by the clock of each. */
export function extentsOf(infos: readonly Clocked[], shifts: readonly number[]): Extent[] {
  const begin = Math.min(...shifts.map((shift) => -shift));
  const end = Math.max(...infos.map(({ duration }, at) => duration - (shifts[at] ?? 0)));
  return infos.map((_, at) => ({ earliest: begin + (shifts[at] ?? 0), duration: end - begin }));
}

/** What stands above the rows of a trace beside others. */
export function titleOf({ name, board, clock_uncertainty: doubt }: TraceInfo): string {
  const of = board === "" ? name : `${board} (${name})`;
  return doubt === null ? of : `${of}, clock ± ${formatLength(doubt)}`;
}

/** How sure it is that what stands beneath each other was at the same time. */
export function alignmentCaution(infos: readonly TraceInfo[]): string[] {
  const [first, ...others] = infos;
  if (first === undefined || others.length === 0) return [];
  if (!others.every((other) => shareClock(first, other))) return [];
  const doubts = infos.flatMap(({ clock_uncertainty: doubt }) => (doubt === null ? [] : [doubt]));
  if (doubts.length < infos.length) return [];
  const [largest = 0, second = 0] = doubts.sort((a, b) => b - a);
  return [`The clocks of these boards are lined up: what stands at one time may be ${formatLength(largest + second)} apart`];
}
