// A board's console as it is recorded, on a terminal: the end of its log, and what comes from there on.

import { failureNote } from "./islands";
import { listen } from "./live";
import { makeTerminal, openTerminal } from "./terminal";
import { type Attended, typing } from "./typing";

interface Output {
  /** What the board said, byte for byte, in base64. */
  readonly base64: string;
  /** Bytes that were passed over before. */
  readonly skipped: number;
}

/** Ends a sequence that is cut off, and what it may have switched on. */
const AFRESH = "\x18\x1b[m";

/** The bytes of a base64 text. */
export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/**
 * Shows the console and follows it; whoever scrolls up stays where he is. `attended` is null where
 * pages may not type.
 */
export function start(element: HTMLElement, data: unknown): void {
  const { board, attended } = data as { readonly board: string; readonly attended: Attended | null };
  const page = element.ownerDocument;
  const leaving = new AbortController();
  const note = page.createElement("div");
  const title = page.createElement("p");
  title.className = "note";
  const host = page.createElement("div");
  host.className = "console-terminal";
  host.setAttribute("role", "region");
  host.setAttribute("aria-label", "Console");
  /** Pieces that are not on the screen yet and were said before this page listened. */
  let earlier = 0;
  const terminal = makeTerminal(
    () => earlier === 0 && !terminal.options.disableStdin && host.contains(page.activeElement),
  );
  const below = attended === null ? [] : [typing(page, board, attended, terminal)];
  let begun = false;

  const begin = (): void => {
    if (host.isConnected) return;
    element.replaceChildren(note, title, host, ...below);
    if (terminal.element === undefined) openTerminal(terminal, host, leaving.signal);
  };
  const say = (text: string): void => {
    terminal.write(`${AFRESH}\r\n… ${text} …\r\n`);
  };

  listen(
    `/live/console/${encodeURIComponent(board)}`,
    {
      log: ({ started }: { started: string }) => {
        begin();
        begun = false;
        terminal.reset();
        title.textContent = `recorded since ${started.slice(0, 19).replace("T", " ")} UTC`;
      },
      output: ({ base64, skipped }: Output) => {
        begin();
        if (begun && skipped > 0) say(`${skipped} bytes were said faster than can be shown`);
        if (begun) {
          terminal.write(bytesOf(base64));
          return;
        }
        begun = true;
        earlier += 1;
        terminal.write(bytesOf(base64), () => { earlier -= 1; });
      },
      lost: () => {
        say("some output was said faster than this browser can show it");
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
