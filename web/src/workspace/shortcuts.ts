/** What keys do in a workspace wherever the focus is, without a click or a Tab before. */
export interface Shortcuts {
  /** `?` */
  help(): void;
  /** `/` */
  search(): void;
  /** `c`: goes to what woke or raised what is chosen; false where that is not known. */
  cause(): boolean;
  /** Any other: true when the timeline knows it. */
  timeline(event: KeyboardEvent): boolean;
}

/** These are the page's, which scrolls by them, as long as the timeline has not the focus. */
const OF_PAGE = new Set(["ArrowUp", "ArrowDown", "Home", "End", "Enter"]);
/** Here keys are typed, or press what has the focus. */
const OWN_KEYS = "input, select, textarea, button, a, dialog, summary, [role=tab], [contenteditable]";
/** These scroll by keys. */
const SCROLLED = ".ws-panel, .ws-details";

/** Listens to all keys of the page until `signal`. */
export function listenForKeys(page: Document, shortcuts: Shortcuts, signal?: AbortSignal): void {
  page.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : page.body;
    if (target.closest(OWN_KEYS) !== null) return;
    if (event.key === "?") shortcuts.help();
    else if (event.key === "/") shortcuts.search();
    else if (event.key.toLowerCase() === "c") {
      if (!shortcuts.cause()) return;
    }
    else if (OF_PAGE.has(event.key) || target.closest(SCROLLED) !== null || !shortcuts.timeline(event)) return;
    event.preventDefault();
  }, signal === undefined ? {} : { signal });
}
