/** Times and numbers of a trace in words. */

import { formatCount, formatNumber, formatValue } from "../../base/units";
import { formatTime } from "../../timeline/time-format";

/** A duration in ns; what is not known is a dash. */
export function duration(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value)
    ? "–"
    : formatValue(value, "ns");
}

/** A moment to the nanosecond since the first event: `1.234 567 890 s`. */
export function moment(time: number): string {
  return formatTime(time, 1);
}

export function share(value: number): string {
  const percent = value * 100;
  if (percent === 0) return "0 %";
  return percent >= 9.95 ? `${percent.toFixed(1)} %` : `${percent.toFixed(2)} %`;
}

/** A date and time of the reader's clock: `2026-11-26 07:43`. */
export function stamp(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "–";
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** A count with its thousands apart. */
export const count = formatCount;

/** `3 instances`, `1 instance`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Counts a second. */
export function rate(value: number): string {
  return `${formatNumber(value)} /s`;
}
