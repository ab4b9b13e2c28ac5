import { failed } from "../base/result";
import { formatPlain, formatValue } from "../base/units";
import { callAt, type CallSlices, type CallSource, type HitCall } from "./calls";
import type { Choices } from "./choices";
import { type Evidence, evidenceLines, type EvidenceTrack } from "./evidence";
import type { Box } from "./layout";
import { MovementWatch } from "./motion";
import type { Items, Marks, Source } from "./source";
import type { Span } from "./span";
import { requestsOf } from "./tile-requests";
import { type Columnar, TileStore } from "./tile-store";
import { BLOCK, BUCKETS, tileSpan } from "./tiles";
import { type AskTrack, type Track, type TrackLines, TrackStore, valueAt } from "./tracks";
import { ViewStore } from "./view-store";
import type { Viewport } from "./viewport";

/** Who is told of what is loaded. */
export interface Loading {
  /** There is something else to draw. */
  readonly changed: () => void;
  /** What could not be had a moment ago may be there now. */
  readonly arrived: () => void;
  /** Something could not be had: the reason. */
  readonly troubled: (reason: string) => void;
}

/** What the timeline draws, as far as it is loaded: items, marks, counters, calls of functions. */
export class Contents {
  readonly items: TileStore<Items>;
  readonly marks: TileStore<Marks>;
  /** Whose calls are shown beneath the threads that made them. */
  calls: CallSource | null = null;
  /** Of the run that the trace was recorded with. */
  evidence: Evidence | null = null;
  private readonly trackStore: TrackStore;
  private readonly callStore: ViewStore<number, CallSlices>;
  private readonly movement: MovementWatch;

  constructor(
    private readonly source: Source,
    private readonly choices: Choices,
    private readonly viewport: Viewport,
    public tracks: readonly Track[],
    askTrack: AskTrack | undefined,
    private readonly events: Loading,
  ) {
    const { changed } = events;
    this.movement = new MovementWatch(changed);
    this.items = this.storeOf((span, rows, signal) => source.items(span, BUCKETS, rows, signal));
    this.marks = this.storeOf((span, rows, signal) => source.marks(span, BUCKETS, rows, signal));
    const none: AskTrack = () => Promise.resolve(failed("there are no counters"));
    this.trackStore = new TrackStore(source.duration, askTrack ?? none, changed);
    this.callStore = new ViewStore<number, CallSlices>(
      source.duration, String,
      (key, span, width, signal) => this.calls?.ask(key, span, width, signal) ?? Promise.resolve(failed("there are no calls")),
      changed,
    );
  }

  private storeOf<T extends Columnar>(
    load: (span: Span, rows: readonly number[], signal: AbortSignal) => Promise<T>,
  ): TileStore<T> {
    const { rows, duration } = this.source;
    return new TileStore<T>(
      duration,
      ({ level, index, block }, signal) => {
        const ids = rows.slice(block * BLOCK, (block + 1) * BLOCK).map(({ id }) => id);
        return load(tileSpan(level, index), ids, signal);
      },
      () => { this.events.arrived(); },
      (reason) => { this.events.troubled(reason); },
    );
  }

  /** The evidence whose place among the counters this is. */
  private evidenceAt(at: number): EvidenceTrack | undefined {
    return this.evidence?.tracks[at - this.tracks.length];
  }

  /** What is drawn of a counter, by its place among them: null is still to come, a text is why there is nothing. */
  trackLines(at: number): TrackLines | string | null {
    const evidence = this.evidenceAt(at);
    if (evidence !== undefined) return evidenceLines(evidence, this.choices.value.view, this.viewport.pixels);
    const track = this.tracks[at];
    return track === undefined ? null : this.trackStore.lines(track, this.choices.value.view, this.viewport.pixels);
  }

  /** The value of a counter at a time, as text. */
  valueText(at: number, time: number): string {
    const lines = this.trackLines(at);
    if (lines === null) return "asking …";
    if (typeof lines === "string") return lines;
    const value = valueAt(lines, time);
    const evidence = this.evidenceAt(at);
    if (value === null) return evidence === undefined ? "not known" : "not read";
    const [low, high] = value;
    if (evidence !== undefined) {
      return [...new Set([low, high].map((each) => formatValue(each, evidence.unit)))].join(" to ");
    }
    return low === high ? formatPlain(low) : `${formatPlain(low)} to ${formatPlain(high)}: zoom in`;
  }

  /** What is drawn of the calls of a thread: null is still to come, a text is why there is nothing. */
  callSlices(key: number): CallSlices | string | null {
    return this.callStore.lines(key, this.choices.value.view, this.viewport.pixels);
  }

  /** The call of a lane at a time, as far as it is loaded. */
  callIn({ key, lane }: NonNullable<Box["calls"]>, time: number, reach: number): HitCall | null {
    const slices = this.callSlices(key);
    if (slices === null || typeof slices === "string") return null;
    return callAt(slices, this.calls?.functions ?? [], lane, time, reach);
  }

  /** Asks for what shows a view, and for what may be seen next; `focus` is the time that is pointed at. */
  fetch(view: Span, focus: number | null): void {
    const { layout, scroll, pixels } = this.viewport;
    const movement = this.movement.follow(this.choices.value.view);
    const [, cross] = this.viewport.extent();
    const { needed, ahead } = requestsOf(view, pixels, focus, layout, this.viewport.seen(), scroll, cross, this.source.duration, movement);
    this.items.request(needed, ahead);
    this.marks.request(layout.density === "events" ? needed : [], []);
  }

  close(): void {
    this.items.close();
    this.marks.close();
    this.trackStore.close();
    this.callStore.close();
    this.movement.close();
  }
}
