import type { Surface } from "./brush";
import { laneOf } from "./calls";
import type { Choices } from "./choices";
import { type Box, boxesBetween, boxOfRow, heldSize, type Layout, seenAt } from "./layout";
import type { Source } from "./source";
import { lengthOf, type Span } from "./span";

/** Where times and rows are on the stage: the layout, how far it is scrolled, and the view. */
export class Viewport {
  scroll = 0;
  /** How the rows were seen last. */
  private kept: { of: Layout; scroll: number; cross: number; seen: Layout } | null = null;

  constructor(
    private readonly source: Source,
    private readonly choices: Choices,
    private readonly canvas: Surface & { readonly clientHeight: number },
    public layout: Layout,
    private readonly scrolled: () => void,
  ) {}

  /** Pixels of the canvas along time: another number of them may need tiles of another level. */
  get pixels(): number {
    const { width, height } = this.canvas;
    return this.layout.orientation === "vertical" ? height : width;
  }

  /** The rows that show between two places of the stage, by their ids. */
  rowsBetween([from, to]: readonly [number, number]): number[] {
    const boxes = boxesBetween(this.seen(), from + this.scroll, to + this.scroll);
    const orders = boxes.flatMap(({ order, members }) => members ?? [order]);
    return orders.flatMap((order) => this.source.rows[order]?.id ?? []).sort((a, b) => a - b);
  }

  /** Where some rows are on the stage: from the first to the last of them. */
  extentOf(rows: readonly number[]): readonly [number, number] | null {
    const ids = new Set(rows);
    const { source: { rows: all }, scroll } = this;
    const isIn = (order: number): boolean => ids.has(all[order]?.id ?? -1);
    const boxes = this.seen().boxes.filter(({ order, members }) => members?.some(isIn) ?? isIn(order));
    const [first, last] = [boxes[0], boxes.at(-1)];
    if (first === undefined || last === undefined) return null;
    return [first.from - scroll - 1, last.from - scroll + last.bar + last.lane + 1];
  }

  /** The rows where they are on the screen, but for the scroll. */
  seen(): Layout {
    const [, cross] = this.extent();
    const { layout, scroll, kept } = this;
    if (kept?.of === layout && kept.scroll === scroll && kept.cross === cross) return kept.seen;
    this.kept = { of: layout, scroll, cross, seen: seenAt(layout, scroll, cross) };
    return this.kept.seen;
  }

  /** The box of a row, by its id, whether it is seen or not; null where it is in none. */
  boxOf(row: number): Box | null {
    if (laneOf(row) !== null) return this.layout.boxes.find((box) => box.row.id === row) ?? null;
    return boxOfRow(this.layout, this.source.rows.findIndex(({ id }) => id === row));
  }

  /** Where a row's bar is on the stage; where it goes when it lies beneath others that stay in sight. */
  placeOf(row: number): readonly [number, number] | null {
    const order = this.source.rows.findIndex(({ id }) => id === row);
    const shown = boxOfRow(this.seen(), order);
    const box = shown ?? boxOfRow(this.layout, order);
    if (box === null) return null;
    const top = box.from - this.scroll;
    const held = heldSize(this.layout, this.extent()[1]);
    return shown === null && top < held ? [held, held] : [top, top + box.bar];
  }

  /** The time at a pixel along the stage. */
  timeAt(main: number): number {
    const { view } = this.choices.value;
    return view.begin + main * this.perPixel(view);
  }

  /** ns of a pixel of CSS. */
  perPixel(view: Span): number {
    return lengthOf(view) / this.extent()[0];
  }

  /** CSS pixels of the stage along time, and across it. */
  extent(): readonly [number, number] {
    const { clientWidth, clientHeight } = this.canvas;
    return this.layout.orientation === "vertical" ? [clientHeight, clientWidth] : [clientWidth, clientHeight];
  }

  /** False when it is there already. */
  scrollTo(to: number): boolean {
    const most = Math.max(0, this.layout.size - this.extent()[1]);
    const scroll = Math.round(Math.min(Math.max(to, 0), most));
    if (scroll === this.scroll) return false;
    this.scroll = scroll;
    this.scrolled();
    return true;
  }
}
