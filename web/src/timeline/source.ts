import type { Span } from "./span";

/**
 * Where a timeline has its data from. Times are nanoseconds since the first event, and never as
 * large as 2^53. The server's traces are one source (`server-source.ts`), arrays that are in the
 * browser already, as the lines of a capture, are the other (`array-source.ts`).
 */
export interface Source {
  readonly name: string;
  /** Of all, ns. */
  readonly duration: number;
  readonly rows: readonly Row[];
  readonly losses: readonly Loss[];
  /** How states look and what items and events are called. */
  readonly look: Look;
  /**
   * A few items a row and bucket: `span` is cut into `buckets` of equal length, and of the items
   * that begin in one the longest, the first and the last stand for all, each where it is. So no
   * pixel, which is a bucket or longer, in which anything happened is blank. In order of rows as
   * given, then of time.
   */
  items(span: Span, buckets: number, rows: readonly number[], signal: AbortSignal): Promise<Items>;
  /** Events in the same way. */
  marks(span: Span, buckets: number, rows: readonly number[], signal: AbortSignal): Promise<Marks>;
  /** The mini-map of all. */
  overview(buckets: number, signal: AbortSignal): Promise<Overview>;
}

export interface Row {
  readonly id: number;
  /** `cpu`, `thread`, `irq`, `softirq`, …; of captures `line` and `annotation`. */
  readonly kind: string;
  readonly name: string;
  /** A few words beside the name, as a thread's number. */
  readonly detail: string;
  /** Of a thread, the number of its process and the container or cgroup, where known. */
  readonly process?: number;
  readonly container?: string;
  /** Of what happens on one CPU only. */
  readonly cpu: number | null;
  /** The analysis' number of the actor; null of rows that show several. */
  readonly actor: number | null;
  /** When it was first and last seen, ns, where that means anything. */
  readonly seen?: Span;
  /** ns that it was busy, and how often; null where that means nothing. */
  readonly busy: number | null;
  readonly instances: number | null;
}

/** Items of several rows, as columns. */
export interface Items {
  readonly length: number;
  readonly row: Uint32Array;
  readonly begin: Float64Array;
  readonly end: Float64Array;
  /** Who it is by `Look.actorName`; negative where there is none. */
  readonly actor: Int32Array;
  /** By `Look.states`. */
  readonly state: Uint8Array;
  /** How many it stands for; 1 is exactly this one. */
  readonly count: Uint32Array;
  /** ns for which these used a CPU; null where that means nothing. */
  readonly ran: Float64Array | null;
}

export interface Marks {
  readonly length: number;
  readonly row: Uint32Array;
  readonly time: Float64Array;
  /** By `Look.eventName`. */
  readonly event: Uint16Array;
  readonly count: Uint32Array;
  /** Place in the order of all events. */
  readonly index: Float64Array;
}

/** Events that are missing: how many where it is known, on which CPU where it is one. */
export interface Loss extends Span {
  readonly cpu: number | null;
  readonly count: number | null;
  readonly kind: string;
}

/** Columns of equal length over the whole duration. */
export interface Overview {
  /** By lane (a CPU, a line): the busy share of each bucket, 0 to 1. */
  readonly lanes: readonly Float32Array[];
  /** Events of each bucket. */
  readonly events: Float64Array;
}

/** How one state is drawn, and how it is called. */
export interface StateLook {
  readonly name: string;
  /** Which bands of the bar are painted in full: upper 1, middle 2, lower 4. */
  readonly bands: number;
  /** Which of the others are painted faintly. */
  readonly faint: number;
  /** `line` is a level of a digital line: what begins it is an edge, over all bands. */
  readonly paint: "actor" | "muted" | "warning" | "line";
  /** Where two fall on one pixel, the higher is seen. */
  readonly rank: number;
  /** Whether there is room for a text in it. */
  readonly labelled: boolean;
}

export interface Look {
  readonly states: readonly StateLook[];
  actorName(actor: number): string;
  /** Decides the colour: the same name has the same colour in every trace. */
  actorKind(actor: number): string;
  eventName(event: number): string;
  /**
   * The text in an item: who it is, which may be cut, and how long, which is there in full or not
   * at all; each empty where the row says it already, or it is not known.
   */
  label(
    row: Row,
    actor: number,
    state: number,
    length: number,
    exact: boolean,
  ): readonly [who: string, long: string];
}

export const NO_ITEMS: Items = {
  length: 0,
  row: new Uint32Array(0),
  begin: new Float64Array(0),
  end: new Float64Array(0),
  actor: new Int32Array(0),
  state: new Uint8Array(0),
  count: new Uint32Array(0),
  ran: null,
};

export const NO_MARKS: Marks = {
  length: 0,
  row: new Uint32Array(0),
  time: new Float64Array(0),
  event: new Uint16Array(0),
  count: new Uint32Array(0),
  index: new Float64Array(0),
};
