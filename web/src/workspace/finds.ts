import type { Columns } from "../base/arrow";
import { firstNotBelow } from "../base/ordered";
import type { Result } from "../base/result";
import type { Selection } from "./selection";

/** Asks for the events that a text means, in the span that all views show. */
export type AskFound = (text: string, signal: AbortSignal) => Promise<Result<Columns>>;

/** The word of the address that says what is searched for. */
export const SEARCHED = "search-text";
const NOWHERE = 65_535;

/** The events that a search means: where they are on the timeline, and the steps from one to another. */
export class Finds {
  /** What is searched for; empty for nothing. */
  text = "";
  /** ns since the first event, ascending: of very many one of each part of the span. */
  times: Float64Array = new Float64Array(0);
  /** How many there are; null while they are asked for, or where they cannot be had. */
  total: number | null = null;
  private cpus: Uint16Array = new Uint16Array(0);
  /** The one that was gone to last. */
  private at = -1;
  private controller: AbortController | null = null;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly selection: Selection, private readonly ask: AskFound) {
    selection.subscribe((_, changed) => {
      if (changed.range && this.text !== "") void this.search(this.text, true);
    });
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => { this.listeners.delete(listener); };
  }

  /** Searches for a text; `again` even for the same one. */
  async search(text: string, again = false): Promise<void> {
    if (text === this.text && !again) return;
    this.text = text;
    this.take(null);
    this.controller?.abort();
    const controller = new AbortController();
    this.controller = controller;
    if (text === "") return;
    const answer = await this.ask(text, controller.signal);
    if (!controller.signal.aborted && answer.ok) this.take(answer.value);
  }

  close(): void {
    this.controller?.abort();
    this.listeners.clear();
  }

  /** Which one is chosen, counted from 1; null where none is. */
  get number(): number | null {
    const { place } = this.selection.value;
    return place !== null && this.times[this.at] === place.time ? this.at + 1 : null;
  }

  /**
   * Goes to the next one, or the one before: from the chosen place, else from where the timeline
   * stands, and from an end on from the other. Returns it; null where there is none.
   */
  step(by: 1 | -1): { readonly time: number; readonly cpu: number | null } | null {
    const { times, selection: { value: { place, view } } } = this;
    if (times.length === 0) return null;
    if (this.number === null) {
      const inSight = place !== null && place.time >= view.begin && place.time <= view.end;
      const from = inSight ? place.time : by > 0 ? view.begin : view.end;
      // The first behind it, or the last before it.
      const behind = firstNotBelow(times, inSight && by > 0 ? from + 1 : from);
      this.at = by > 0 ? behind : behind - 1;
    } else {
      this.at += by;
    }
    this.at = (this.at + times.length) % times.length;
    const cpu = this.cpus[this.at] ?? NOWHERE;
    return { time: times[this.at] ?? 0, cpu: cpu === NOWHERE ? null : cpu };
  }

  private take(found: Columns | null): void {
    this.times = found?.get("time", Float64Array) ?? new Float64Array(0);
    this.cpus = found?.get("cpu", Uint16Array) ?? new Uint16Array(0);
    this.total = found === null ? null : Number(found.metadata.get("total") ?? this.times.length);
    this.at = -1;
    for (const listener of this.listeners) listener();
  }
}
