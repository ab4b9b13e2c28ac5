import { sameSpan, shiftSpan } from "../timeline/span";
import type { Selection } from "./selection";

/** How the clocks of two traces belong together. */
export type Clocks = "aligned" | "separate";

/**
 * Keeps the views of two traces in step: what the first shows at `t`, the second shows at
 * `t + shift`. A range filters both.
 */
export class Pair {
  private following = false;

  constructor(
    private readonly first: Selection,
    private readonly second: Selection,
    public clocks: Clocks,
    /** ns. */
    public shift: number,
  ) {
    this.follow(first, second, 1);
    this.follow(second, first, -1);
    this.settle();
  }

  /** Makes what is chosen in both fall onto each other; false when something is not chosen. */
  alignChosen(): boolean {
    const [a, b] = [this.first.value.place, this.second.value.place];
    if (a === null || b === null) return false;
    this.shift = Math.round(b.time - a.time);
    this.clocks = "aligned";
    this.settle();
    return true;
  }

  /** Lets the second show what the first does. */
  settle(): void {
    if (this.clocks === "separate") return;
    this.led(() => {
      this.second.look(shiftSpan(this.first.value.view, this.shift));
    });
  }

  private follow(leader: Selection, follower: Selection, sign: 1 | -1): void {
    leader.subscribe(({ view, range }, changed) => {
      if (this.clocks === "separate" || this.following) return;
      this.led(() => {
        if (changed.view) follower.look(shiftSpan(view, sign * this.shift));
        if (!changed.range) return;
        const moved = range === null ? null : shiftSpan(range, sign * this.shift);
        if (!sameSpan(moved, follower.value.range)) follower.setRange(moved);
      });
    });
  }

  /** What a follower does is not followed. */
  private led(act: () => void): void {
    this.following = true;
    try {
      act();
    } finally {
      this.following = false;
    }
  }
}
