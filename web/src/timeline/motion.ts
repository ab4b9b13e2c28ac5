import { between, type Span } from "./span";

const MS = 130;

/** A view on its way to another, so that the eye can follow a zoom. */
export class Motion {
  private from: Span | null = null;
  private to: Span | null = null;
  private began = 0;

  /** Where it goes; null when nothing moves. */
  get target(): Span | null {
    return this.to;
  }

  start(from: Span, to: Span, now: number): void {
    const still = globalThis.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.from = still ? to : from;
    this.to = to;
    this.began = now;
  }

  stop(): void {
    this.from = null;
    this.to = null;
  }

  /** The view at a time; null when nothing moves. */
  step(now: number): Span | null {
    if (this.from === null || this.to === null) return null;
    const part = Math.min(Math.max((now - this.began) / MS, 0), 1);
    // Fast first: the answer to a turn of the wheel is seen at once.
    const view = between(this.from, this.to, 1 - (1 - part) ** 2);
    if (part >= 1) this.stop();
    return view;
  }
}
