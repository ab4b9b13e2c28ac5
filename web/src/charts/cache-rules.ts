import * as Plot from "@observablehq/plot";

import type { Cache } from "../base/document";
import { MUTED } from "../base/palette";
import { formatSize } from "../base/units";

const CHARACTER = 7;

/** Rules at the sizes of the caches between `lowest` and `highest`, on an axis of `width`. */
export function cacheRules(
  caches: readonly Cache[],
  lowest: number,
  highest: number,
  width: number,
): Plot.Markish[] {
  const within = caches.filter(({ size }) => size > lowest && size < highest);
  const labels = within.map(({ name, size }) => `${name} ${formatSize(size)}`);
  const octave = width / Math.log2(highest / lowest);
  const fits = within.every(({ size }, index) => {
    const before = within[index - 1];
    const room = before === undefined ? Infinity : Math.log2(size / before.size) * octave;
    return room > (labels[index] ?? "").length * CHARACTER + CHARACTER;
  });
  return [
    Plot.ruleX(within, { x: "size", stroke: "var(--rule-strong)", strokeDasharray: "2 3" }),
    Plot.text(within, {
      x: "size",
      frameAnchor: "top",
      dy: -13,
      text: ({ name }: Cache, index: number) => (fits ? labels[index] : name),
      fill: MUTED,
      className: "small",
    }),
  ];
}
