/** Points in time as pages show them: in UTC, as precise as a span of that length needs. */

const DAY = 86_400_000;
const MONTHS = [
  "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
] as const;

/** How ticks of an axis of time are written: hours, days, or months with their year. */
export function timeTick(began: number, ended: number): (at: Date) => string {
  const span = ended - began;
  if (span <= 2 * DAY) return (at) => `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
  if (span <= 400 * DAY) return (at) => `${at.getUTCDate()} ${month(at)}`;
  return (at) => `${month(at)} ${at.getUTCFullYear()}`;
}

/** `2026-03-14 09:26 UTC`. */
export function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function month(at: Date): string {
  return MONTHS[at.getUTCMonth()] ?? "";
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
