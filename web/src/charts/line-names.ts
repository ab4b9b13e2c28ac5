import * as Plot from "@observablehq/plot";

import type { CurveLine } from "../base/document";
import { lineColour } from "../base/palette";
import { shorten } from "../base/shorten";
import { spread } from "../base/spread";

const GAP = 17;
const CHARACTER = 7;
const LONGEST = 26;

/** Where names go: the x value that they start at, and the vertical scale of the chart. */
interface Place {
  readonly x: number;
  readonly scale: {
    readonly type: "log" | "linear";
    readonly domain: readonly [number, number];
    /** Bottom and top in pixels. */
    readonly range: readonly [number, number];
  };
}

/** Line names at the ends of the lines, moved apart where lines meet. */
export function lineNames(lines: readonly CurveLine[], { x, scale }: Place): Plot.Markish[] {
  const { type, domain, range } = scale;
  const y = Plot.scale({ y: { type, domain: [...domain], range: [...range] } });
  const ends = lines.flatMap((line) => {
    const last = [...line.points].sort((a, b) => a.x - b.x).pop();
    return last === undefined ? [] : [{ line, y: Number(y.apply(last.median)) }];
  });
  const places = spread(ends.map((end) => end.y), GAP, range[1], range[0]);
  return ends.map(({ line }, index) =>
    Plot.text([line], {
      x: () => x,
      y: () => y.invert?.(places[index] ?? 0) as number,
      dx: 6,
      text: () => shorten(line.name, LONGEST) + (line.caveat ? " †" : ""),
      textAnchor: "start",
      fill: lineColour(line.style),
    }),
  );
}

/** The room that the names need to the right of the chart. */
export function nameMargin(lines: readonly CurveLine[], width: number): number {
  const longest = Math.max(0, ...lines.map((line) => Math.min(line.name.length, LONGEST) + 2));
  return Math.min(longest * CHARACTER + 14, Math.round(width * 0.36));
}
