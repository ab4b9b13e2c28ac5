// Typing on a board's console, where the server was told to allow it: the board is held meanwhile.

import type { Terminal } from "@xterm/xterm";

import { csrfHeader } from "../base/answers";

/** Whether this workbench types on the console, and why that ended by itself. */
export interface Attended {
  readonly typing: boolean;
  readonly message: string;
  readonly remedy: string;
}

/** Characters of one message: the server takes 4096 bytes, and a character has up to four. */
const MOST_CHARACTERS = 1000;

/** Characters that may wait: a pasted script, not a file. */
export const MOST_WAITING = 64_000;

const NO_ANSWER = "the workbench does not answer: is `benchvise serve` still running?";

/** Keys that a phone does not have, by what the buttons say; `arrow` ends an arrow key's sequence. */
const KEYS: readonly { readonly name: string; readonly title: string; readonly text?: string; readonly arrow?: string }[] = [
  { name: "Ctrl-C", title: "Interrupts what runs in the foreground", text: "\x03" },
  { name: "Ctrl-D", title: "Ends the input: leaves a shell", text: "\x04" },
  { name: "Esc", title: "Escape", text: "\x1b" },
  { name: "Tab", title: "Tab: completes a word", text: "\t" },
  { name: "↑", title: "Up", arrow: "A" },
  { name: "↓", title: "Down", arrow: "B" },
];

type Key = Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "metaKey">;

/** Whose business a key is while one types: `leave` ends typing, `page` is the browser's own. */
export function keyUse({ key, ctrlKey, altKey, metaKey }: Key, selected: boolean): "leave" | "page" | "board" {
  if (!ctrlKey || altKey || metaKey) return "board";
  if (key === "]") return "leave";
  // With something selected it copies, as everywhere.
  return key === "c" && selected ? "page" : "board";
}

/** Sends what is typed in its order, one message after the other: what comes meanwhile, at once. */
export class TypedText {
  private waiting: string[] = [];
  private sending = false;

  /** `send` says whether the board has it; after a failure the rest is dropped. */
  constructor(private readonly send: (text: string) => Promise<boolean>) {}

  /** Takes more; false where that is too much. */
  add(text: string): boolean {
    const characters = Array.from(text);
    if (this.waiting.length + characters.length > MOST_WAITING) return false;
    for (const character of characters) this.waiting.push(character);
    if (!this.sending) void this.sendAll();
    return true;
  }

  private async sendAll(): Promise<void> {
    this.sending = true;
    while (this.waiting.length > 0) {
      const arrived = await this.send(this.waiting.splice(0, MOST_CHARACTERS).join(""));
      if (!arrived) this.waiting = [];
    }
    this.sending = false;
  }
}

/** The controls beneath the terminal of a board, through which what is typed there goes. */
export function typing(page: Document, board: string, at: Attended, terminal: Terminal): HTMLElement {
  const root = page.createElement("div");
  root.className = "typing";
  const notice = page.createElement("p");
  notice.className = "note";
  notice.setAttribute("role", "status");
  const begin = button(page, "Type on the console", "Holds the board: nobody else can use it meanwhile");
  const keys = page.createElement("div");
  keys.className = "typing-keys";
  const cycle = button(page, "Power cycle", "Off and on again, with the console in hand from its first byte on");
  const leave = button(page, "Leave", "Releases the board as it is (Ctrl-] in the terminal)");
  keys.append(
    ...KEYS.map(({ name, title, text, arrow }) => {
      const key = button(page, name, title);
      key.addEventListener("click", () => {
        const introducer = terminal.modes.applicationCursorKeysMode ? "\x1bO" : "\x1b[";
        terminal.input(text ?? `${introducer}${arrow ?? ""}`);
        terminal.focus();
      });
      return key;
    }),
    cycle,
    leave,
  );
  const help = page.createElement("p");
  help.className = "note";
  help.textContent = "Each key goes to the board. Ctrl-] leaves. The session is recorded.";
  root.append(begin, keys, help, notice);

  const show = ({ typing: goesOn, message, remedy }: Attended): void => {
    keys.hidden = help.hidden = !goesOn;
    begin.hidden = goesOn;
    terminal.options.disableStdin = !goesOn;
    notice.textContent = message === "" ? "" : `${message}: ${remedy}`;
  };

  const post = async (to: string, body: object = {}): Promise<boolean> => {
    try {
      const answer = await fetch(`/rig/${encodeURIComponent(board)}/console/${to}`, {
        method: "POST",
        headers: { Accept: "application/json", "Content-Type": "application/json", ...csrfHeader(page) },
        body: JSON.stringify(body),
      });
      const reply = (await answer.json()) as Attended | { readonly error: Omit<Attended, "typing"> };
      if ("error" in reply) {
        // Taken by somebody else, or released meanwhile.
        show({ ...reply.error, typing: to !== "begin" && answer.status !== 403 && answer.status !== 409 });
        return false;
      }
      show(reply);
      return true;
    } catch {
      notice.textContent = NO_ANSWER;
      return false;
    }
  };
  /** While one of these is under way, none can be pressed again. */
  const press = async (control: HTMLButtonElement, to: string, then: () => void): Promise<void> => {
    control.disabled = true;
    const done = await post(to);
    control.disabled = false;
    if (done) then();
  };
  const focusTerminal = (): void => { terminal.focus(); };
  const end = (): void => void press(leave, "end", () => { begin.focus(); });

  const typed = new TypedText((text) => post("type", { text }));
  terminal.onData((text) => {
    if (!typed.add(text)) notice.textContent = `more than ${MOST_WAITING} characters at once: send a file instead`;
  });
  terminal.attachCustomKeyEventHandler((event) => {
    if (terminal.options.disableStdin) return false;
    const use = keyUse(event, terminal.hasSelection());
    if (use === "leave" && event.type === "keydown") {
      event.preventDefault();
      end();
    }
    return use === "board";
  });
  begin.addEventListener("click", () => void press(begin, "begin", focusTerminal));
  leave.addEventListener("click", end);
  cycle.addEventListener("click", () => void press(cycle, "cycle", focusTerminal));
  show(at);
  return root;
}

function button(page: Document, name: string, title: string): HTMLButtonElement {
  const element = page.createElement("button");
  element.type = "button";
  element.textContent = name;
  element.title = title;
  return element;
}
