/** What keys do in a workspace wherever the focus is, without a click or a Tab before. */
export interface Shortcuts {
  /** `?` */
  help(): void;
  /** `/` */
  search(): void;
  /** `c`: goes to what woke or raised what is chosen; false where that is not known. */
  cause(): boolean;
  /** Shift and `c`: goes to the first that it woke or raised. */
  effect(): boolean;
  /** `j` and `k`: the next event that the search found, the one before; false where there is none. */
  find(by: 1 | -1): boolean;
  /** Any other: true when the timeline knows it. */
  timeline(event: KeyboardEvent): boolean;
}

/** These are the page's, which scrolls by them, as long as the timeline has not the focus. */
const OF_PAGE = new Set(["ArrowUp", "ArrowDown", "Home", "End", "Enter"]);
/** Here keys are typed. */
const TYPED = "input, select, textarea, dialog, [contenteditable]";
/** Letters mean nothing to these, other keys press what has the focus, or move it. */
const PRESSED = "button, a, summary, [role=tab], [role=separator]";
/** These scroll by keys. */
const SCROLLED = ".ws-panel, .ws-details";

/** From what the search found to the next. */
const STEPS: Readonly<Record<string, 1 | -1>> = { j: 1, k: -1 };

/** Listens to all keys of the page until `signal`. */
export function listenForKeys(page: Document, shortcuts: Shortcuts, signal?: AbortSignal): void {
  page.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : page.body;
    if (target.closest(TYPED) !== null) return;
    if (target.closest(PRESSED) !== null && (event.key.length > 1 || event.key === " ")) return;
    if (event.key === "?") shortcuts.help();
    else if (event.key === "/") shortcuts.search();
    else if (event.key.toLowerCase() === "c") {
      if (!(event.shiftKey ? shortcuts.effect() : shortcuts.cause())) return;
    } else if (event.key.toLowerCase() in STEPS) {
      if (!shortcuts.find(STEPS[event.key.toLowerCase()] ?? 1)) return;
    } else if (OF_PAGE.has(event.key) || target.closest(SCROLLED) !== null || !shortcuts.timeline(event)) return;
    event.preventDefault();
  }, signal === undefined ? {} : { signal });
}
