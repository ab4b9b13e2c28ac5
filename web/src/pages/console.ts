// A board's console as it is recorded: its last lines, and each new one as it comes.

import { failureNote } from "./islands";
import { listen } from "./live";
import { type Attended, typing } from "./typing";

interface Lines {
  readonly lines: readonly string[];
  /** The line that is not at its end, such as a prompt. */
  readonly open: string;
  /** Bytes that were passed over. */
  readonly skipped: number;
}

/** Lines that are kept: a browser gets slow with more text in one element. */
export const KEPT = 3000;

/** What the console shows. */
export class Screen {
  private lines: string[] = [];
  private open = "";

  /** Begins anew. */
  clear(): void {
    this.lines = [];
    this.open = "";
  }

  /** Takes new output. */
  add({ lines, open, skipped }: Lines): void {
    if (skipped > 0 && this.lines.length > 0) {
      this.lines.push(`… ${skipped} bytes were said faster than can be log …`);
    }
    this.lines.push(...lines);
    this.lines.splice(0, this.lines.length - KEPT);
    this.open = open;
  }

  /** All of it as text. */
  get text(): string {
    return [...this.lines, this.open].join("\n");
  }
}

/**
 * Shows the console and follows it; whoever scrolls up stays where he is. `attended` is null where
 * pages may not type.
 */
export function start(element: HTMLElement, data: unknown): void {
  const { board, attended } = data as { readonly board: string; readonly attended: Attended | null };
  const page = element.ownerDocument;
  const screen = new Screen();
  const note = page.createElement("div");
  const title = page.createElement("p");
  title.className = "note";
  const log = page.createElement("pre");
  log.className = "console";
  log.tabIndex = 0;
  log.setAttribute("role", "log");
  log.setAttribute("aria-label", "Console");
  const below = attended === null ? [] : [typing(page, board, attended)];
  let pending = false;

  const show = (): void => {
    pending = false;
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
    log.textContent = screen.text;
    if (atEnd) log.scrollTop = log.scrollHeight;
  };
  const soon = (): void => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(show);
  };
  const begin = (): void => {
    if (!log.isConnected) element.replaceChildren(note, title, log, ...below);
  };

  listen(
    `/live/console/${encodeURIComponent(board)}`,
    {
      log: ({ started }: { started: string }) => {
        begin();
        screen.clear();
        title.textContent = `recorded since ${started.slice(0, 19).replace("T", " ")} UTC`;
        soon();
      },
      lines: (said: Lines) => {
        begin();
        screen.add(said);
        soon();
      },
      none: () => {
        const empty = page.createElement("div");
        empty.className = "state state-empty";
        const text = page.createElement("p");
        text.textContent = "Nothing was recorded yet. It begins with the next boot.";
        empty.append(text);
        element.replaceChildren(note, empty, ...below);
      },
    },
    (error) => {
      const notes = error === null ? [] : [failureNote(page, error.message, error.remedy)];
      note.replaceChildren(...notes);
      if (error !== null && !note.isConnected) element.prepend(note);
    },
  );
}
