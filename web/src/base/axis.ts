/** Ticks and domains that Plot cannot know: sizes in powers of two, ranges around a median. */

const DECADE = [1, 2, 5] as const;

/** Powers of two from `low` to `high`, thinned out until at most `most` are left. */
export function sizeTicks(low: number, high: number, most: number): number[] {
  const first = Math.ceil(Math.log2(low));
  const last = Math.floor(Math.log2(high));
  const step = [1, 2, 3, 4, 5].find((n) => (last - first) / n < most) ?? 10;
  const ticks: number[] = [];
  // Whole multiples of the step, so that 1 KiB, 1 MiB and 1 GiB are kept with a step of 2 or 5.
  for (let power = Math.ceil(first / step) * step; power <= last; power += step) {
    ticks.push(2 ** power);
  }
  return ticks;
}

/** 1, 2, 5 in each decade, or only 1 where there are many decades. */
export function decadeTicks(low: number, high: number, most: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const digit of DECADE) {
      // A negative power as a division: 0.1 and not 0.10000000000000001.
      const tick = power < 0 ? digit / 10 ** -power : digit * 10 ** power;
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  if (ticks.length <= most) return ticks;
  return ticks.filter((tick) => Number.isInteger(Math.log10(tick)));
}

/**
 * The range that shows all `values` and at least two per cent to either side of `centre`: noise
 * far below one per cent must not look like a storm.
 */
export function valueDomain(values: readonly number[], centre: number): [number, number] {
  let low = centre * 0.98;
  let high = centre * 1.02;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const margin = (high - low) * 0.04;
  return [low - margin, high + margin];
}
