import * as Plot from "@observablehq/plot";

import { SURFACE } from "./palette";

export type Chart = SVGSVGElement;

/** A chart with what all of them share: name for screen readers, type size, no inline style. */
export function chart(label: string, options: Plot.PlotOptions): Chart {
  const svg = Plot.plot({ className: "chart", ...options });
  if (!(svg instanceof SVGSVGElement)) throw new Error(`no plain chart: ${label}`);
  // The page's content policy allows only the style sheet whose hash it names, and that has
  // these rules too.
  svg.querySelector("style")?.remove();
  // One picture with one name: names of its parts are for charts that are not labelled as a whole.
  for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  svg.removeAttribute("font-size");
  svg.removeAttribute("font-family");
  return svg;
}

/** What the pointer shows over the nearest of `points`. */
export function hint<T>(
  points: readonly T[],
  x: (point: T) => number | string,
  y: (point: T) => number | string,
  text: (point: T) => string,
): Plot.Markish {
  return Plot.tip(
    points as T[],
    Plot.pointer({
      x,
      y,
      title: text,
      fill: SURFACE,
      stroke: "var(--rule-strong)",
      // A drop shadow is lost on a dark page; the outline does its work on both.
      pathFilter: "none",
      textPadding: 9,
      lineHeight: 1.4,
    }),
  );
}
