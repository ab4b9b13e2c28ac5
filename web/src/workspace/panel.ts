import type { Arrow } from "../timeline/arrows";
import type { CallKind } from "../timeline/calls";
import type { Loss, Row } from "../timeline/source";
import type { Track } from "../timeline/tracks";
import type { Noted } from "../timeline/pointing";
import type { Finds } from "./finds";
import type { NoteBook } from "./notes";
import type { Selection } from "./selection";

/** What the server says of a trace, `GET info`. */
export interface TraceInfo {
  readonly name: string;
  readonly format: string;
  /** `epoch_offset_ns` leads from its times to those since 1970; null is not known. */
  readonly clock: {
    readonly name: string;
    readonly epoch_offset_ns: number | null;
    /** Times of traces with the same one may be compared; null is not known. */
    readonly uuid: string | null;
  };
  /** The board that it was recorded on with others at once; empty for none. */
  readonly board: string;
  /** ns by which its times may be wrong against the clock that these traces share; null is not known. */
  readonly clock_uncertainty: number | null;
  /** The first event's time on the trace's clock, as text: it may be larger than 2^53. */
  readonly origin: string;
  /** ns. */
  readonly duration: number;
  readonly events: number;
  /** Their numbers. */
  readonly cpus: readonly number[];
  /** How many spans of time lack events. */
  readonly losses: number;
  readonly damage: readonly string[];
  readonly remarks: readonly string[];
  /** What a reader must know before believing a number. */
  readonly cautions: readonly string[];
  readonly actors: number;
  /** Names of events by the number that marks carry. */
  readonly event_types: readonly string[];
  /** Of which kinds it has calls. */
  readonly call_kinds: readonly CallKind[];
  /** Whether it holds anything of the tracers osnoise and timerlat. */
  readonly has_noise: boolean;
  /** Names of states by the number that items carry. */
  readonly states: readonly string[];
  /** What CPUs do when they idle: names by the actors' numbers. */
  readonly idle_actors: Readonly<Record<string, string>>;
  /** Changes with the trace's contents: an answer asked for with `v=` and this may be kept. */
  readonly tag: string;
}

/** What a view of the workspace has to work with. */
export interface Workspace {
  /** The trace's name in addresses. */
  readonly key: string;
  /** Where the trace's answers are: `/api/traces/KEY`, without a slash at its end. */
  readonly api: string;
  readonly info: TraceInfo;
  readonly rows: readonly Row[];
  readonly losses: readonly Loss[];
  readonly selection: Selection;
  /** Both traces where there are two beside each other, the first as A; null for one. */
  sides(): readonly [a: Workspace, b: Workspace] | null;
  /** The row of an actor; null when it has none. */
  readonly rowOf: (actor: number) => Row | null;
  actorName(actor: number): string;
  /** The view's own state in the page's address, under names that begin with the view's id. */
  parameter(name: string): string | null;
  setParameter(name: string, value: string | null): void;
  /** The counters that are on the timeline. */
  tracks(): readonly Track[];
  /** Shows a counter on the timeline, or takes it away. */
  toggleTrack(track: Track): void;
  /** The events that the search means. */
  readonly finds: Finds;
  /** Goes to the next of them, or the one before; false where there is none. */
  findNext(by: 1 | -1): boolean;
  /** What users say of the trace. */
  readonly notes: NoteBook;
  /** Begins a note on something, or on what is chosen now, in its view. */
  note(about: Noted): void;
  noteAnything(): void;
  /** Draws the flags of notes anew: another one is chosen. */
  flagsChanged(): void;
  /** Draws arrows on the timeline. */
  showArrows(arrows: readonly Arrow[]): void;
  /** Shows another view, with values for its own names in the address. */
  openPanel(id: string, parameters: Readonly<Record<string, string | null>>): void;
}

/**
 * A view beneath the timeline. `mount` is called each time its tab is shown, and what it returns
 * when the tab is left: to unsubscribe and to stop what is under way.
 */
export interface Panel {
  readonly id: string;
  readonly title: string;
  /** Whether a trace has what the view is about; without it, every trace has. */
  suits?(info: TraceInfo): boolean;
  mount(host: HTMLElement, workspace: Workspace): () => void;
}
