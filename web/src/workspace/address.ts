import type { Chosen } from "./selection";
import type { Span } from "../timeline/span";
import { numberRuns } from "../timeline/tiles";

/**
 * The page's address as the place where all state is. What one would take back is a step of the
 * browser's history; where the timeline stands is not: it only replaces.
 */
export class Address {
  private readonly listeners = new Set<() => void>();
  private pending: ReturnType<typeof setTimeout> | undefined;
  private words: URLSearchParams;

  /** Follows the back button until `signal`. */
  constructor(private readonly window: Window, signal?: AbortSignal) {
    this.words = new URLSearchParams(window.location.search);
    window.addEventListener("popstate", () => {
      clearTimeout(this.pending);
      this.pending = undefined;
      this.words = new URLSearchParams(window.location.search);
      for (const listener of this.listeners) listener();
    }, signal === undefined ? {} : { signal });
  }

  get(name: string): string | null {
    return this.words.get(name);
  }

  /** Sets words, null takes one away; `step`: the back button takes it back. */
  set(changes: Readonly<Record<string, string | null>>, step: boolean): void {
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) this.words.delete(name);
      else this.words.set(name, value);
    }
    clearTimeout(this.pending);
    this.pending = undefined;
    if (step) this.write(true);
    // Browsers allow about a hundred changes in half a minute.
    else this.pending = setTimeout(() => { this.write(false); }, SETTLE_MS);
  }

  /** Goes to another state, as a link does: a step, of which all who listen are told. */
  go(changes: Readonly<Record<string, string | null>>): void {
    this.set(changes, true);
    for (const listener of this.listeners) listener();
  }

  /** Called when the back button or a link has changed it. */
  subscribe(listener: () => void): void {
    this.listeners.add(listener);
  }

  private write(step: boolean): void {
    const { history, location } = this.window;
    // Times are lists of numbers; nothing else in an address reads better with a code for them.
    const text = this.words.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
    const address = `${location.pathname}${text === "" ? "" : `?${text}`}`;
    if (address === `${location.pathname}${location.search}`) return;
    if (step) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }
}

const SETTLE_MS = 400;

/** What is chosen, from words `view=`, `range=`, `at=`, `actor=`; `suffix` for the second trace. */
export function readChosen(get: (name: string) => string | null, suffix = ""): Partial<Chosen> {
  const view = readSpan(get(`view${suffix}`));
  const range = readSpan(get(`range${suffix}`));
  const area = readRuns(get(`area${suffix}`));
  const [row, time] = numbers(get(`at${suffix}`), ":");
  const [actor] = numbers(get(`actor${suffix}`), ":");
  return {
    ...(view === null ? {} : { view }),
    ...(range === null ? {} : { range }),
    ...(range === null || area.length === 0 ? {} : { area }),
    ...(row === undefined || time === undefined ? {} : { place: { row, time } }),
    ...(actor === undefined ? {} : { actor }),
  };
}

export function writeChosen(
  { view, range, area, place, actor }: Chosen,
  suffix = "",
): Record<string, string | null> {
  return {
    [`view${suffix}`]: writeSpan(view),
    [`range${suffix}`]: range === null ? null : writeSpan(range),
    [`area${suffix}`]: area === null ? null : numberRuns(area),
    [`at${suffix}`]: place === null ? null : `${place.row}:${rounded(place.time)}`,
    [`actor${suffix}`]: actor === null ? null : String(actor),
  };
}

const MOST_ROWS = 20_000;

/** Numbers as `numberRuns` writes them. */
function readRuns(text: string | null): number[] {
  const all: number[] = [];
  for (const run of text === null || text === "" ? [] : text.split(",")) {
    const [first = NaN, last = first] = run.split("-").map(Number);
    if (!Number.isInteger(first) || !Number.isInteger(last) || last - first > MOST_ROWS) return [];
    for (let at = first; at <= last && all.length < MOST_ROWS; at += 1) all.push(at);
  }
  return all;
}

function readSpan(text: string | null): Span | null {
  const [begin, end] = numbers(text, ",");
  return begin === undefined || end === undefined || begin >= end ? null : { begin, end };
}

const writeSpan = ({ begin, end }: Span): string => `${rounded(begin)},${rounded(end)}`;

/** Thousandths of a nanosecond are enough to find the very picture again. */
const rounded = (value: number): string => String(Math.round(value * 1000) / 1000);

/** Numbers of a word; none where any part of it is not one. */
export function numbers(text: string | null, between: string): number[] {
  if (text === null || text === "") return [];
  const values = text.split(between).map(Number);
  return values.every(Number.isFinite) ? values : [];
}
