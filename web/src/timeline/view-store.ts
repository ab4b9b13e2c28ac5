import type { Result } from "../base/result";
import { lengthOf, type Span } from "./span";
import { levelOf } from "./tiles";

const MOST_WIDE = 8192;

interface Kept<T> {
  readonly span: Span;
  readonly level: number;
  readonly lines: T | string;
}

/**
 * Keeps what is drawn of things that are asked for one by one, for what is seen with as much on either
 * side, and asks for others.
 */
export class ViewStore<K, T> {
  private readonly kept = new Map<string, Kept<T>>();
  private readonly under = new Map<string, { readonly controller: AbortController; readonly level: number; readonly span: Span }>();

  constructor(
    private readonly duration: number,
    private readonly keyOf: (what: K) => string,
    private readonly ask: (what: K, span: Span, width: number, signal: AbortSignal) => Promise<Result<T>>,
    private readonly arrived: () => void,
  ) {}

  /** The best that is there, or why there is nothing; null where it is still to come. */
  lines(what: K, view: Span, pixels: number): T | string | null {
    const key = this.keyOf(what);
    const level = levelOf(lengthOf(view) / pixels);
    const kept = this.kept.get(key);
    const seen = { begin: Math.max(view.begin, 0), end: Math.min(view.end, this.duration) };
    const fits = (one: { readonly span: Span; readonly level: number } | undefined): boolean =>
      one?.level === level && one.span.begin <= seen.begin && one.span.end >= seen.end;
    if (!fits(kept) && !fits(this.under.get(key))) void this.fetch(what, key, view, level);
    return kept?.lines ?? null;
  }

  close(): void {
    for (const { controller } of this.under.values()) controller.abort();
  }

  private async fetch(what: K, key: string, view: Span, level: number): Promise<void> {
    this.under.get(key)?.controller.abort();
    const controller = new AbortController();
    const length = lengthOf(view);
    const span = {
      begin: Math.max(0, Math.floor(view.begin - length)),
      end: Math.max(1, Math.min(Math.ceil(view.end + length), this.duration + 1)),
    };
    this.under.set(key, { controller, level, span });
    const width = Math.max(1, Math.ceil(lengthOf(span) / 2 ** level));
    const answer = await this.ask(what, span, Math.min(width, MOST_WIDE), controller.signal);
    if (controller.signal.aborted) return;
    this.under.delete(key);
    this.kept.set(key, { span, level, lines: answer.ok ? answer.value : answer.error });
    this.arrived();
  }
}
