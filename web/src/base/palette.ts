/**
 * Colours and markers. The colours live in the style sheet as custom properties, so that one
 * drawing serves light, dark and print; the markers tell lines apart without any colour.
 */

const COLOURS = 6;
const SYMBOLS = ["circle", "square", "triangle", "diamond", "wye", "star"] as const;

export type LineSymbol = (typeof SYMBOLS)[number];

export const INK = "var(--ink)";
export const MUTED = "var(--muted)";
export const FAINT = "var(--rule)";
export const SURFACE = "var(--surface)";
export const SAMPLE = "var(--line-1)";
export const POLLUTED = "var(--line-2)";

export function lineColour(style: number): string {
  return `var(--line-${(style % COLOURS) + 1})`;
}

/** The marker of a line; it moves on by one after each round of colours, so pairs do not recur. */
export function lineSymbol(style: number): LineSymbol {
  const index = (style + Math.floor(style / COLOURS)) % SYMBOLS.length;
  return SYMBOLS[index] ?? "circle";
}
