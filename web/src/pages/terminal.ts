// A terminal (xterm.js) that shows what a board says on its console.
//
// Boards are not trusted. Of what escape sequences may ask of a terminal, this one does what changes
// its own screen: titles, the clipboard, links and the size of windows are left alone. It answers
// queries (such as where the cursor is) only where `answers` allows it, and only so many a second, as
// an answer is typed on the console.

import { type IFunctionIdentifier, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

import { onMediaChange } from "../base/media";

/** What boot loaders, and shells on a serial line that knows no size, take a terminal to be. */
const SIZE = { cols: 80, rows: 24 };

/**
 * Where the cursor is when a board asks for the size: its programs wait a tenth of a second, so the
 * server answers that (`web/rig/size_query.py`).
 */
const isInCorner = ({ buffer: { active } }: Terminal): boolean =>
  active.cursorX >= SIZE.cols - 1 && active.cursorY === SIZE.rows - 1;

/** Lines that can be scrolled back to. */
export const SCROLLBACK = 3000;

/** Queries of a board that are answered in a second; full-screen programs ask a few at their start. */
export const ANSWERS_PER_SECOND = 20;

const CSI_QUERIES: readonly IFunctionIdentifier[] = [
  { prefix: "?", final: "n" },
  { final: "c" },
  { prefix: ">", final: "c" },
  { prefix: "=", final: "c" },
  { intermediates: "$", final: "p" },
  { prefix: "?", intermediates: "$", final: "p" },
];
/** Colours that can be set and asked for. */
const OSC_COLOURS = [4, 10, 11, 12];

/** Whether there is room for one more answer in this second. */
export class AnswerBudget {
  private second = -Infinity;
  private given = 0;

  /** Takes one; false where there is none left. `now` is in milliseconds. */
  take(now: number): boolean {
    if (now - this.second >= 1000) {
      this.second = now;
      this.given = 0;
    }
    this.given += 1;
    return this.given <= ANSWERS_PER_SECOND;
  }
}

/** A terminal without input, not yet in the page. `answers` says whether queries are answered now. */
export function makeTerminal(answers: () => boolean): Terminal {
  const terminal = new Terminal({
    ...SIZE,
    scrollback: SCROLLBACK,
    disableStdin: true,
    linkHandler: { activate: () => undefined },
    minimumContrastRatio: 4.5,
    screenReaderMode: true,
    fontSize: 13,
    windowOptions: {},
  });
  // Where nobody types, Tab and all others are the browser's.
  terminal.attachCustomKeyEventHandler(() => terminal.options.disableStdin !== true);
  const budget = new AnswerBudget();
  /** A handler that says "done" keeps the terminal's own from answering. */
  const refused = (): boolean => !answers() || !budget.take(performance.now());
  terminal.parser.registerCsiHandler({ final: "n" }, () => isInCorner(terminal) || refused());
  for (const query of CSI_QUERIES) terminal.parser.registerCsiHandler(query, refused);
  for (const number of OSC_COLOURS) {
    terminal.parser.registerOscHandler(number, (text) => text.includes("?") && refused());
  }
  terminal.parser.registerDcsHandler({ intermediates: "$", final: "q" }, refused);
  return terminal;
}

/** Puts the terminal into an element of the page, in the page's colours, until the signal. */
export function openTerminal(terminal: Terminal, host: HTMLElement, signal: AbortSignal): void {
  const style = getComputedStyle(host);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const paint = (): void => {
    terminal.options.theme = {
      background: colour("--surface"),
      foreground: colour("--ink"),
      cursor: colour("--ink"),
      cursorAccent: colour("--surface"),
      selectionBackground: colour("--rule-strong"),
    };
  };
  terminal.options.fontFamily = colour("--mono");
  paint();
  styleByObjects(host.ownerDocument);
  terminal.open(host);
  onMediaChange(paint, signal);
}

type MakeElement = (name: string, options?: ElementCreationOptions) => HTMLElement;

/**
 * Has elements that are made from here on take their styles by the object model. xterm.js writes style
 * sheets and `style` attributes as text, which the policy of our pages forbids to everybody, itself
 * included; what it makes of a board's output stays what it was.
 */
export function styleByObjects(page: Document): void {
  const original: MakeElement = Reflect.get<Document, "createElement">(page, "createElement");
  const createElement: MakeElement = (name, options) => {
    if (name === "style") return constructedStyle(page, original.call(page, "span"));
    const element = original.call(page, name, options);
    if (name === "span") styleWithoutText(element);
    return element;
  };
  Object.defineProperty(page, "createElement", { value: createElement, configurable: true });
}

function styleWithoutText(element: HTMLElement): void {
  const setAttribute = element.setAttribute.bind(element);
  element.setAttribute = (attribute, value) => {
    if (attribute === "style") element.style.cssText = value;
    else setAttribute(attribute, value);
  };
}

/** Stands for a `<style>`: what becomes its text, the page takes for a constructed style sheet. */
function constructedStyle(page: Document, stand: HTMLElement): HTMLElement {
  stand.hidden = true;
  const sheet = new CSSStyleSheet();
  page.adoptedStyleSheets.push(sheet);
  Object.defineProperty(stand, "textContent", {
    set: (text: string) => {
      sheet.replaceSync(text);
    },
  });
  return stand;
}
