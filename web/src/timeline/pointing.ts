import type { Choices } from "./choices";
import type { Contents } from "./contents";
import { type Flag, flagNear } from "./flags";
import { type Hit, hitAt, type HitItem } from "./hit";
import type { Box } from "./layout";
import type { Source } from "./source";
import { centreOf, type Span } from "./span";
import type { Viewport } from "./viewport";

/** What a note is to be about: a moment, or a span, of a row (by its id) or of all. */
export interface Noted extends Span {
  readonly row: number | null;
}

/** How far beside a flag the pointer may be, in pixels. */
const FLAG_REACH = 9;
const CALL_REACH = 2;

/** The pointer, and what is under it. */
export class Pointing {
  pointer: readonly [number, number] | null = null;
  /** Whether that is in the axis: no row is pointed at then. */
  inAxis = false;
  /** The notes that are shown. */
  flags: readonly Flag[] = [];

  constructor(
    private readonly source: Source,
    private readonly choices: Choices,
    private readonly viewport: Viewport,
    private readonly contents: Contents,
  ) {}

  /** The time that is pointed at. */
  get time(): number | null {
    return this.pointer === null ? null : this.viewport.timeAt(this.pointer[0]);
  }

  /** What is in a row at a time. */
  hitIn(box: Box, time: number): Hit | null {
    const { source, viewport: { layout }, contents: { items, marks } } = this;
    const perPixel = this.viewport.perPixel(this.choices.value.view);
    return hitAt(layout, source.rows, box.from + 1, time, perPixel, items, marks, source.look.states);
  }

  /** What is at a place of the stage, in pixels along time and across it. */
  hit(main: number, cross: number): Hit | null {
    const { view } = this.choices.value;
    const time = this.viewport.timeAt(main);
    const { source, viewport, contents: { items, marks } } = this;
    const across = cross + viewport.scroll;
    const perPixel = viewport.perPixel(view);
    const hit = hitAt(viewport.seen(), source.rows, across, time, perPixel, items, marks, source.look.states);
    if (hit?.box.calls !== undefined) {
      const call = this.contents.callIn(hit.box.calls, time, perPixel * CALL_REACH);
      return call === null ? hit : { ...hit, call };
    }
    return hit?.box.track === undefined ? hit : { ...hit, value: this.contents.valueText(hit.box.track, time) };
  }

  /** What is under the pointer among the rows. */
  pointed(): Hit | null {
    return this.pointer === null || this.inAxis ? null : this.hit(this.pointer[0], this.pointer[1]);
  }

  /** The row that is pointed at; of a closed group, none. */
  hoveredRow(): number | null {
    const hit = this.pointed();
    return hit === null || hit.box.members !== undefined ? null : hit.row.id;
  }

  /** The note near a pixel along the axis. */
  flagAt(main: number): Flag | null {
    return flagNear(this.flags, this.viewport.timeAt(main), this.viewport.perPixel(this.choices.value.view) * FLAG_REACH);
  }

  /** What a note would be about: the range, what is pointed at, the `item` that is chosen, or the middle. */
  notable(item: HitItem | null): Noted {
    const { range, area, place, view } = this.choices.value;
    if (range !== null) return { ...rounded(range), row: area?.length === 1 ? (area[0] ?? null) : null };
    if (this.pointer !== null) {
      const hit = this.pointed();
      const time = Math.round(this.viewport.timeAt(this.pointer[0]));
      const isOn = hit !== null && (hit.item !== null || hit.mark !== null);
      return { begin: time, end: time, row: isOn ? hit.row.id : null };
    }
    if (place !== null && item?.count === 1) return { ...rounded(item), row: place.row };
    const time = Math.round(place?.time ?? centreOf(view));
    return { begin: time, end: time, row: place?.row ?? null };
  }
}

/** Whole nanoseconds, as notes have. */
const rounded = ({ begin, end }: Span): Span => ({ begin: Math.round(begin), end: Math.round(end) });
