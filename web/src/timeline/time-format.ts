/** Times and lengths as people read them. All in ns. */

const UNITS: readonly (readonly [number, string, number])[] = [
  // What one is, its name, decimals to the next smaller.
  [1e9, "s", 9],
  [1e6, "ms", 6],
  [1e3, "µs", 3],
  [1, "ns", 0],
];

/** A length with four significant digits: `12.35 µs`, `3 min 20 s`, `2 h 5 min`. */
export function formatLength(length: number): string {
  const size = Math.abs(length);
  const sign = length < 0 ? "−" : "";
  if (size >= 60e9) {
    const seconds = Math.round(size / 1e9);
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
    if (hours > 0) return `${sign}${hours} h ${minutes} min`;
    return `${sign}${minutes} min ${seconds % 60} s`;
  }
  if (size < 1000) return `${sign}${Number(size.toPrecision(4))} ns`;
  const [unit, name] = UNITS.find(([least]) => size >= least * 0.99995) ?? [1, "ns"];
  const value = size / unit;
  const decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
  return `${sign}${value.toFixed(decimals)} ${name}`;
}

/**
 * A point in time so exact that points `step` apart differ: `12.345 678 s`, `1:02:03.5`. Groups of
 * three digits are set apart by a thin space.
 */
export function formatTime(time: number, step: number): string {
  const sign = time < 0 ? "−" : "";
  const total = Math.round(Math.abs(time));
  const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(step, 1)) - 1e-9)));
  const unit = 10 ** (9 - digits);
  const rounded = Math.round(total / unit) * unit;
  const seconds = Math.floor(rounded / 1e9);
  const fraction = digits === 0 ? "" : `.${grouped(rounded % 1e9, digits)}`;
  if (seconds < 60) return `${sign}${seconds}${fraction} s`;
  const two = (value: number): string => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const clock = hours > 0 ? `${hours}:${two(minutes)}` : String(minutes);
  return `${sign}${clock}:${two(seconds % 60)}${fraction}`;
}

function grouped(nanoseconds: number, digits: number): string {
  const text = String(nanoseconds).padStart(9, "0").slice(0, digits);
  return text.replace(/(\d{3})(?=\d)/g, "$1\u2009");
}
