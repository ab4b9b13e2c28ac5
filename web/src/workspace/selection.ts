import type { Changed, Choices, Chosen, Listener, Place } from "../timeline/choices";
import { clampSpan, sameSpan, type Span, viewOf, wholeSpan } from "../timeline/span";

export type { Changed, Chosen, Listener, Place } from "../timeline/choices";

/**
 * The one state that all views of a trace share. A view never tells another view anything: it
 * changes this, and all that subscribe draw what there is now.
 */
export class Selection implements Choices {
  private readonly listeners = new Set<Listener>();
  private chosen: Chosen;

  constructor(
    readonly duration: number,
    initial: Partial<Chosen> = {},
    readonly earliest = 0,
  ) {
    this.chosen = { ...this.nothing(), ...initial };
  }

  get value(): Chosen {
    return this.chosen;
  }

  /** Calls `listener` after each change; returns what ends that. */
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /** Moves the timeline. Not a step that the back button takes back. */
  look(view: Span): void {
    this.change({ view: clampSpan(view, this.duration, this.earliest) });
  }

  /** Filters all views to a span, and sums to some rows of it; null takes that away. */
  setRange(range: Span | null, area: readonly number[] | null = null): void {
    this.change({ range, area: range === null ? null : area });
  }

  /** Brings out an actor in all views. */
  setActor(actor: number | null): void {
    this.change({ actor });
  }

  /** Chooses what is in a row at a time, and its actor where it is known. */
  choose(place: Place | null, actor: number | null = null): void {
    this.change({ place, actor: place === null ? null : (actor ?? this.chosen.actor) });
  }

  /**
   * Moves the timeline to where `wanted` is seen well, and chooses the place: what a click on a
   * point of any view does.
   */
  reveal(wanted: Span, place: Place | null = null, actor: number | null = null): void {
    const view = viewOf(wanted, this.chosen.view, this.duration, this.earliest);
    this.change({
      view,
      ...(place === null ? {} : { place }),
      ...(actor === null ? {} : { actor }),
    });
  }

  clear(): void {
    this.change({ range: null, area: null, place: null, actor: null });
  }

  /** Takes all of it from elsewhere, as from the page's address; what is not given is nothing. */
  restore(chosen: Partial<Chosen>): void {
    this.change({ ...this.nothing(), ...chosen });
  }

  private nothing(): Chosen {
    return { view: wholeSpan(this.duration, this.earliest), range: null, area: null, place: null, actor: null };
  }

  private change(to: Partial<Chosen>): void {
    const before = this.chosen;
    const now = { ...before, ...to };
    const changed: Changed = {
      view: !sameSpan(now.view, before.view),
      range: !sameSpan(now.range, before.range),
      area: now.area?.join() !== before.area?.join(),
      place: now.place?.row !== before.place?.row || now.place?.time !== before.place?.time,
      actor: now.actor !== before.actor,
    };
    if (!Object.values(changed).includes(true)) return;
    this.chosen = now;
    for (const listener of this.listeners) listener(now, changed);
  }
}
