/**
 * Numbers as people read them; the same rules as `benchvise.quantities`, and both are tested
 * with the cases of `units.cases.json`. Only the micro sign differs: a page can show it.
 */

type Steps = readonly (readonly [factor: number, name: string])[];

const SCALES: Readonly<Record<string, Steps>> = {
  "B/s": [[1, "B/s"], [1e3, "kB/s"], [1e6, "MB/s"], [1e9, "GB/s"], [1e12, "TB/s"]],
  Hz: [[1, "Hz"], [1e3, "kHz"], [1e6, "MHz"], [1e9, "GHz"]],
  ns: [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]],
  B: [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"]],
  "": [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"]],
  "1/s": [[1, "/s"], [1e3, "k/s"], [1e6, "M/s"], [1e9, "G/s"]],
};

const SIZES: Steps = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

/** The step of `unit` in which `value` reads best: `[1e9, "GB/s"]`. */
export function handyUnit(value: number, unit: string): readonly [number, string] {
  const steps = SCALES[unit] ?? [[1, unit]];
  // Compared as written: 999.96 ns must become 1.00 µs, not 1000 ns.
  const fits = steps.find(([factor]) => Math.abs(Number(formatNumber(value / factor))) < 1000);
  return fits ?? steps[steps.length - 1] ?? [1, unit];
}

export function formatValue(value: number, unit: string): string {
  const [factor, name] = handyUnit(value, unit);
  return `${formatNumber(value / factor)} ${name}`.trimEnd(); // a plain number has no unit
}

/** Four significant digits at most, and the same decimals for all numbers of one magnitude. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 0.0995) return String(Number(value.toPrecision(3)));
  if (size < 0.9995) return value.toFixed(3);
  if (size < 9.995) return value.toFixed(2);
  if (size < 999.95) return value.toFixed(1);
  return String(Number(value.toPrecision(4)));
}

/** A number of bytes in powers of 1024. */
export function formatSize(size: number): string {
  const step = SIZES.find(([factor]) => size >= factor);
  return step === undefined
    ? `${size} B`
    : `${Number((size / step[0]).toPrecision(4))} ${step[1]}`;
}

/** A number of things in groups of three digits: `1 234 567`. */
export function formatCount(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, " ");
}

/** A value of which nothing is known but the number: all digits where it is whole. */
export const formatPlain = (value: number): string => (Number.isInteger(value) ? formatCount(value) : formatNumber(value));

/** How many times the base. */
export function formatRatio(ratio: number): string {
  return ratio >= 0.0995 && ratio < 9.9995 ? `${ratio.toFixed(3)}x` : `${formatNumber(ratio)}x`;
}

/** The change that a ratio to the base means; from ten times on how many times. */
export function formatChange(ratio: number): string {
  if (ratio > 10) return formatRatio(ratio);
  const percent = (ratio - 1) * 100;
  const text = percent.toFixed(Math.abs(percent) >= 99.95 ? 0 : 1);
  if (Number(text) === 0) return "0.0 %";
  return `${percent > 0 ? "+" : ""}${text} %`;
}
