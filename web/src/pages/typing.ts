// Typing on a board's console, where the server was told to allow it: the board is held meanwhile.

import { csrfHeader } from "../base/answers";

/** Whether this workbench types on the console, and why that ended by itself. */
export interface Attended {
  readonly typing: boolean;
  readonly message: string;
  readonly remedy: string;
}

/** What Enter sends, as a terminal does. */
const ENTER = "\r";

/** Keys that a line of text cannot hold, by what the buttons say. */
const KEYS: readonly (readonly [string, string, string])[] = [
  ["Ctrl-C", "\x03", "Interrupts what runs in the foreground"],
  ["Ctrl-D", "\x04", "Ends the input: leaves a shell"],
  ["Esc", "\x1b", "Escape"],
];

/** What a key with Ctrl sends from the line; null when it is the line's own business. */
export function sentBy(
  { key, ctrlKey, altKey, metaKey }: Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "metaKey">,
  line: string,
  selected: boolean,
): string | null {
  if (!ctrlKey || altKey || metaKey) return null;
  // With something selected it copies, as everywhere.
  if (key === "c" && !selected) return "\x03";
  return key === "d" && line === "" ? "\x04" : null;
}

/** The controls beneath the console of a board. */
export function typing(page: Document, board: string, at: Attended): HTMLElement {
  const root = page.createElement("div");
  root.className = "typing";
  const notice = page.createElement("p");
  notice.className = "note";
  notice.setAttribute("role", "status");
  const begin = button(page, "Type on the console", "Holds the board: nobody else can use it meanwhile");
  const form = page.createElement("form");
  form.className = "typing-line";
  const line = page.createElement("input");
  line.type = "text";
  line.autocomplete = "off";
  line.spellcheck = false;
  line.setAttribute("aria-label", "What is typed on the console");
  line.placeholder = "Enter sends the line";
  const keys = KEYS.map(([name, text, title]) => {
    const key = button(page, name, title);
    key.addEventListener("click", () => void send(text));
    return key;
  });
  const cycle = button(page, "Power cycle", "Off and on again, with the console in hand from its first byte on");
  const leave = button(page, "Leave", "Lets the board go as it is");
  const enter = button(page, "Send", "The line, and Enter");
  form.append(line, enter, ...keys, cycle, leave);
  root.append(begin, form, notice);
  const all = [begin, enter, cycle, leave, ...keys];

  const show = ({ typing: goesOn, message, remedy }: Attended): void => {
    form.hidden = !goesOn;
    begin.hidden = goesOn;
    notice.textContent = message === "" ? "" : `${message}: ${remedy}`;
  };

  const post = async (to: string, body?: object): Promise<boolean> => {
    for (const control of all) control.disabled = true;
    try {
      const answer = await fetch(`/rig/${encodeURIComponent(board)}/console/${to}`, {
        method: "POST",
        headers: { Accept: "application/json", "Content-Type": "application/json", ...csrfHeader(page) },
        body: JSON.stringify(body ?? {}),
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
      notice.textContent = "the workbench does not answer: is `benchvise serve` still running?";
      return false;
    } finally {
      for (const control of all) control.disabled = false;
    }
  };

  /** One message after the other: keys arrive in the order in which they were typed. */
  let last: Promise<unknown> = Promise.resolve();
  const send = (text: string): Promise<boolean> => {
    const delivered = last.then(() => post("type", { text }));
    last = delivered;
    line.focus();
    return delivered;
  };

  begin.addEventListener("click", () => {
    void post("begin").then((taken) => {
      if (taken) line.focus();
    });
  });
  leave.addEventListener("click", () => void post("end").then(() => { begin.focus(); }));
  cycle.addEventListener("click", () => void post("cycle").then(() => { line.focus(); }));
  form.addEventListener("submit", (event) => { event.preventDefault(); });
  const sendLine = (): void => {
    void send(line.value + ENTER);
    line.value = "";
  };
  enter.addEventListener("click", sendLine);
  line.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      sendLine();
      return;
    }
    const text = sentBy(event, line.value, line.selectionStart !== line.selectionEnd);
    if (text === null) return;
    event.preventDefault();
    void send(text);
  });
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
