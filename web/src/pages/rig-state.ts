// The live state of boards of the rig, put into what the server wrote for each.

import { failureNote } from "./islands";
import { listen } from "./live";

export type Said = string | null | { readonly na: string };

export interface BoardState {
  readonly power: Said;
  readonly card: Said;
  /** Names its lock; empty where no lock of this machine tells who holds it. */
  readonly lock: string;
  /** Who has it then. */
  readonly elsewhere: string | null;
  readonly error: { readonly message: string; readonly remedy: string } | null;
  /** Who waits for it on the server's machine, the next one first. */
  readonly waiting: readonly string[];
}

export interface Flash {
  readonly phase: "write" | "verify";
  readonly done: number | null;
  readonly total: number | null;
  readonly rate: number | null;
  readonly remaining_s: number | null;
}

export interface Holding {
  readonly what: string;
  readonly pid: number;
  readonly since: number;
  readonly leaving: boolean;
  readonly doing: string | null;
  readonly doing_since: number | null;
  readonly flash: Flash | null;
  readonly phases: Readonly<Record<string, number>>;
  /** The last one on the console of a board that boots; empty where the server has no log of it. */
  readonly line: string;
}

/** What became of something that a page did. */
export interface Acted {
  readonly action: string;
  readonly state: "running" | "done" | "failed";
  readonly message: string;
  readonly remedy: string;
}

const SVG = "http://www.w3.org/2000/svg";

/** The bar of a boot is as long as this at least, so that it grows while phases come. */
const LEAST_SECONDS = 20;

const CARD_WORDS: Readonly<Record<string, string>> = { host: "this machine", dut: "board" };

/** The phases of a boot in their order, as the server names them. */
const PHASES = [
  "power-on",
  "first-byte",
  "spl",
  "bootloader",
  "kernel",
  "init",
  "login",
  "shell",
  "network",
] as const;

/**
 * Follows the rig and keeps every `[data-board]` in the element up to date. `released` is called
 * when whoever held a board has let it go.
 */
export function followRig(
  element: HTMLElement,
  released: (board: string) => void = () => undefined,
): void {
  const places = new Map<string, HTMLElement>();
  for (const place of element.querySelectorAll<HTMLElement>("[data-board]")) {
    places.set(place.dataset["board"] ?? "", place);
  }
  const held = new Set<string>();
  const note = element.ownerDocument.createElement("div");
  element.prepend(note);
  listen(
    "/live/rig",
    {
      boards: ({ boards }: { boards: Readonly<Record<string, BoardState>> }) => {
        for (const [name, place] of places) {
          const state = boards[name];
          if (state !== undefined) showState(place, state);
        }
      },
      holders: ({ holders }: { holders: Readonly<Record<string, Holding | null>> }) => {
        for (const [name, place] of places) {
          if (!(name in holders)) continue;
          const holding = holders[name] ?? null;
          showHolding(place, holding);
          if (holding === null && held.delete(name)) released(name);
          if (holding !== null) held.add(name);
        }
      },
      acted: ({ boards }: { boards: Readonly<Record<string, Acted>> }) => {
        for (const [name, place] of places) {
          const outcome = boards[name];
          if (outcome !== undefined) tell(place, actedText(outcome));
        }
      },
    },
    (error) => {
      const notes = error === null ? [] : [failureNote(element.ownerDocument, error.message, error.remedy)];
      note.replaceChildren(...notes);
    },
  );
}

/** Power and card; or why they cannot be had. */
export function showState(place: HTMLElement, state: BoardState): void {
  const { error } = state;
  fill(place, "power", error === null ? word(place, state.power) : unavailable(place, error.message));
  fill(place, "card", error === null ? word(place, state.card, CARD_WORDS) : unavailable(place, "–"));
  if (state.lock === "") fill(place, "use", word(place, state.elsewhere));
  fill(place, "queue", place.ownerDocument.createTextNode(queueText(state.waiting)));
}

/** `–`, or who is next and how many more wait. */
export function queueText(waiting: readonly string[]): string {
  const [next, ...others] = waiting;
  if (next === undefined) return "–";
  return others.length === 0 ? next : `${next}, and ${others.length} more`;
}

/** Who holds a board, and how far that one is. */
export function showHolding(place: HTMLElement, holding: Holding | null): void {
  const page = place.ownerDocument;
  if (holding === null) {
    fill(place, "use", status(page, "free", "free"));
    fill(place, "work");
    return;
  }
  const badge = status(page, "held", holding.what);
  badge.title = `process ${holding.pid}`;
  fill(place, "use", badge);
  fill(place, "work", ...work(page, holding));
}

/** In words and figures what takes long: `writing, 120 of 480 MB at 31 MB/s, 12 s left`. */
export function progressText(flash: Flash): string {
  const parts = [flash.phase === "write" ? "writing the card" : "reading the card back"];
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);
  if (flash.done !== null) {
    parts.push(
      flash.total === null
        ? `${megabytes(flash.done)} MB`
        : `${megabytes(flash.done)} of ${megabytes(flash.total)} MB`,
    );
  }
  if (flash.rate !== null) parts.push(`${megabytes(flash.rate)} MB/s`);
  if (flash.remaining_s !== null) parts.push(`${flash.remaining_s.toFixed(0)} s left`);
  return parts.join(", ");
}

/** `booting: kernel at 3.2 s`; what was reached last. */
export function phaseText(doing: string, phases: Readonly<Record<string, number>>): string {
  const reached = Object.entries(phases).sort(([, a], [, b]) => a - b).pop();
  return reached === undefined ? doing : `${doing}: ${reached[0]} at ${reached[1].toFixed(1)} s`;
}

/** `, since 08:30:05`, in the reader's time; nothing where nobody noted it. */
export function sinceText(seconds: number | null): string {
  return seconds === null ? "" : `, since ${new Date(seconds * 1000).toTimeString().slice(0, 8)}`;
}

/** A bar on which each phase is as long as it took, the last one up to when it was reached. */
export function bootBar(page: Document, phases: Readonly<Record<string, number>>): SVGElement {
  const bar = page.createElementNS(SVG, "svg");
  bar.setAttribute("class", "boot-bar");
  bar.setAttribute("viewBox", "0 0 1000 12");
  bar.setAttribute("preserveAspectRatio", "none");
  bar.setAttribute("aria-hidden", "true");
  const longest = Math.max(LEAST_SECONDS, ...Object.values(phases));
  let before = 0;
  let phase = PHASES[0] as string;
  for (const next of PHASES) {
    const at = phases[next];
    if (at === undefined) continue;
    if (at > before) {
      const part = page.createElementNS(SVG, "rect");
      part.setAttribute("class", `phase-${phase}`);
      part.setAttribute("x", ((before / longest) * 1000).toFixed(1));
      part.setAttribute("width", (((at - before) / longest) * 1000).toFixed(1));
      part.setAttribute("height", "12");
      bar.append(part);
    }
    before = at;
    phase = next;
  }
  return bar;
}

/** `Switch off: done`, or what kept it from being so. */
export function actedText({ action, state, message, remedy }: Acted): string {
  const why = [message, remedy].filter((part) => part !== "").join(": ");
  return why === "" ? `${action}: ${state}` : `${action}: ${state}. ${why}`;
}

/** Says what became of the last action, where the page has room for it. */
export function tell(place: HTMLElement, text: string): void {
  fill(place, "last", place.ownerDocument.createTextNode(text));
}

function work(page: Document, { doing, doing_since, flash, phases, line }: Holding): HTMLElement[] {
  if (doing === null) return [];
  const box = page.createElement("div");
  box.className = "work";
  const text = page.createElement("p");
  if (doing === "flashing" && flash !== null) {
    const bar = page.createElement("progress");
    bar.setAttribute("aria-label", "Card");
    if (flash.total !== null && flash.total > 0) {
      bar.max = flash.total;
      bar.value = Math.min(flash.done ?? 0, flash.total);
    }
    text.textContent = progressText(flash);
    box.append(bar, text);
  } else {
    text.textContent = `${phaseText(doing, phases)}${sinceText(doing_since)}`;
    box.append(bootBar(page, phases), text);
    if (line !== "") {
      const said = page.createElement("code");
      said.textContent = line;
      box.append(said);
    }
  }
  return [box];
}

function word(place: HTMLElement, said: Said, words: Readonly<Record<string, string>> = {}): Node {
  const page = place.ownerDocument;
  if (said === null) return page.createTextNode("–");
  if (typeof said === "object") return unavailable(place, said.na);
  return status(page, said, words[said] ?? said);
}

function status(page: Document, kind: string, text: string): HTMLElement {
  const span = page.createElement("span");
  span.className = `status status-${/^[a-z]+$/.test(kind) ? kind : "other"}`;
  span.textContent = text;
  return span;
}

function unavailable(place: HTMLElement, why: string): Node {
  const span = place.ownerDocument.createElement("span");
  span.className = "absent";
  span.textContent = why;
  return span;
}

function fill(place: HTMLElement, field: string, ...content: Node[]): void {
  const target = place.querySelector<HTMLElement>(`[data-field="${field}"]`);
  target?.replaceChildren(...content);
}
