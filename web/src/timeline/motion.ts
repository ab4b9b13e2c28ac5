import { between, lengthOf, type Span } from "./span";

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

/** How a view moves: what will be seen next depends on it. */
export type Movement = "still" | "along" | "zoom";

/** Without a change for so long, a view is still. */
const REST_MS = 120;

/** Tells how the view moves, and when it has come to rest. */
export class MovementWatch {
  private last: Span | null = null;
  private now: Movement = "still";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly rested: () => void) {}

  /** Told of each view that is drawn. */
  follow(view: Span): Movement {
    const { last } = this;
    this.last = view;
    if (last === null || (last.begin === view.begin && last.end === view.end)) return this.now;
    // Adding to times of nanoseconds changes the last digits of a length.
    const isSame = Math.abs(lengthOf(last) - lengthOf(view)) <= lengthOf(view) * 1e-9;
    this.now = isSame ? "along" : "zoom";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.now = "still";
      this.rested();
    }, REST_MS);
    return this.now;
  }

  close(): void {
    clearTimeout(this.timer);
  }
}
