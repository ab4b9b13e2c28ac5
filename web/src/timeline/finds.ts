import { firstNotBelow } from "../base/ordered";
import type { Brush } from "./brush";
import type { Scale } from "./raster";

/** The pixels, of `main`, on which any of ascending times lies. */
export function foundPixels(times: Float64Array, { begin, perPixel }: Scale, main: number): number[] {
  const pixels: number[] = [];
  let at = firstNotBelow(times, begin);
  while (at < times.length) {
    const pixel = Math.floor(((times[at] ?? 0) - begin) / perPixel);
    if (pixel >= main) break;
    pixels.push(pixel);
    at = Math.max(firstNotBelow(times, begin + (pixel + 1) * perPixel, at), at + 1);
  }
  return pixels;
}

/** Marks what a search found: a line of so many pixels at each, seen however thin it is. */
export function paintFound(context: Brush, pixels: readonly number[], across: readonly [from: number, size: number], vertical: boolean): void {
  const [from, size] = across;
  for (const pixel of pixels) {
    if (vertical) context.fillRect(from, pixel, size, 2);
    else context.fillRect(pixel, from, 2, size);
  }
}
