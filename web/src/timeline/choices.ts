import type { Span } from "./span";

/** An item of a row: the one that is there at a time. */
export interface Place {
  readonly row: number;
  readonly time: number;
}

/** What the reader looks at and has chosen. Times are ns since the first event. */
export interface Chosen {
  /** What the timeline shows. */
  readonly view: Span;
  /** What filters all views; null is everything. */
  readonly range: Span | null;
  /** Rows that the range was drawn over, by their ids; null is all. */
  readonly area: readonly number[] | null;
  readonly place: Place | null;
  /** The actor that all views bring out; null is none. */
  readonly actor: number | null;
}

/** Which of them another value has. */
export type Changed = Readonly<Record<keyof Chosen, boolean>>;

export type Listener = (now: Chosen, changed: Changed) => void;

/** Where a timeline takes this from and tells it to: `workspace/selection.ts` is one. */
export interface Choices {
  readonly value: Chosen;
  /** ns that may be looked at; more than the source's where two traces share one view. */
  readonly duration: number;
  /** Where they begin; before 0 where a trace beside it begins earlier. */
  readonly earliest: number;
  subscribe(listener: Listener): () => void;
  look(view: Span): void;
  setRange(range: Span | null, area?: readonly number[] | null): void;
  choose(place: Place | null, actor?: number | null): void;
  clear(): void;
}
