/** Arrows from what woke or raised to what was woken: where they are on the stage, as SVG paths. */

/** A moment in a row, by the row's id; ns since the first event. */
export interface ArrowEnd {
  readonly row: number;
  readonly time: number;
}

export interface Arrow {
  readonly from: ArrowEnd;
  readonly to: ArrowEnd;
  /** `cause` leads to what is chosen, `effect` away from it, `path` is another step of its path. */
  readonly kind: "cause" | "effect" | "path";
}

/** Where a row is, from and to across time; null where it is not shown. */
export type RowPlace = (row: number) => readonly [number, number] | null;

export interface ArrowShape {
  readonly kind: Arrow["kind"];
  /** The line, and the triangle at its end. */
  readonly line: string;
  readonly head: string;
}

const HEAD = 6;

/** The shapes of arrows of which any part lies on a stage of `main` by `cross` pixels. */
export function arrowShapes(
  arrows: readonly Arrow[],
  placeOf: RowPlace,
  begin: number,
  perPixel: number,
  main: number,
  cross: number,
  vertical: boolean,
): ArrowShape[] {
  return arrows.flatMap(({ from, to, kind }): ArrowShape[] => {
    const [start, end] = [placeOf(from.row), placeOf(to.row)];
    if (start === null || end === null) return [];
    const far = (time: number): number => clamped((time - begin) / perPixel, -main, 2 * main);
    const [x1, x2] = [far(from.time), far(to.time)];
    if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > main) return [];
    const down = end[0] >= start[0];
    // From the edge of the one bar to the edge of the other; what is scrolled away is at the border.
    const y1 = clamped(down ? start[1] : start[0], -4, cross + 4);
    const y2 = clamped(down ? end[0] : end[1], -4, cross + 4);
    if ((y1 < 0 && y2 < 0) || (y1 > cross && y2 > cross)) return [];
    const way = start[0] === end[0] ? -1 : down ? 1 : -1;
    const tail = y2 - way * HEAD;
    const bend = Math.max(Math.abs(tail - y1) / 2, 14) * way;
    const at = (x: number, y: number): string => (vertical ? [y, x] : [x, y]).map((value) => value.toFixed(1)).join(" ");
    return [{
      kind,
      line: `M${at(x1, y1)} C${at(x1, y1 + bend)} ${at(x2, tail - bend)} ${at(x2, tail)}`,
      head: `M${at(x2, y2)} L${at(x2 - HEAD / 2 - 0.5, tail)} L${at(x2 + HEAD / 2 + 0.5, tail)} Z`,
    }];
  });
}

const clamped = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);
