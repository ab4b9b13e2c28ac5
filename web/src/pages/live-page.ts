// A page of what goes on, as a diagnosis or runs: at each progress the page is fetched again, and what
// it says by then takes the place of what is shown. So there is one way only to show it.

import { parseDocument } from "../base/document";
import { addCopyButtons } from "../copying";
import { fill } from "../filling";

/** At least so many milliseconds between two requests, as a board may answer many times a second. */
const PAUSE = 1000;
const SHOWN = "so-far";
const FIGURES = "so-far-figures";

/** Follows what this page shows; where that has come to an answer of its own, goes to that. */
export function start(element: HTMLElement, data: unknown): void {
  const page = element.ownerDocument;
  const { events } = data as { readonly events: string };
  element.hidden = true;
  let stop = draw(page);
  const now = { busy: false, waiting: false };

  const reload = async (): Promise<void> => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected) {
      source.close();
      location.replace(answer.url);
      return;
    }
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!renew(page, fresh)) return;
    stop();
    stop = draw(page);
    addCopyButtons(page);
  };

  /** Reloads now, or once more when what is under way has ended and a pause is over. */
  const renewSoon = async (): Promise<void> => {
    now.waiting = true;
    if (now.busy) return;
    now.busy = true;
    while (now.waiting) {
      now.waiting = false;
      // What failed is fetched again at the next progress.
      await reload().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
    now.busy = false;
  };

  const source = new EventSource(events);
  source.addEventListener("progress", () => { void renewSoon(); });
}

/** Puts what the fresh page says into the shown one; what a reader had opened stays open. */
export function renew(page: Document, fresh: Document): boolean {
  const shown = page.getElementById(SHOWN);
  const next = fresh.getElementById(SHOWN);
  if (shown === null || next === null) return false;
  const open = openDetails(shown);
  for (const details of next.querySelectorAll("details")) {
    if (open.has(placeOf(details))) details.open = true;
  }
  const focused = page.activeElement;
  const label = focused !== null && shown.contains(focused) ? focused.getAttribute("aria-label") : null;
  shown.replaceChildren(...next.childNodes);
  if (label !== null) {
    shown.querySelector<HTMLElement>(`[aria-label="${CSS.escape(label)}"]`)?.focus({ preventScroll: true });
  }
  page.title = fresh.title;
  return true;
}

/** The charts of what is shown; the function that is returned ends their redrawing. */
function draw(page: Document): () => void {
  const figures = page.getElementById(FIGURES);
  if (figures === null) return () => undefined;
  const parsed = parseDocument(figures.textContent);
  if (parsed.ok) return fill(page, parsed.value);
  console.error(parsed.error);
  return () => undefined;
}

function openDetails(root: HTMLElement): Set<string> {
  return new Set([...root.querySelectorAll("details")].filter(({ open }) => open).map(placeOf));
}

/** Which one it is: its section, and its number there, since its words change as it grows. */
function placeOf(details: HTMLDetailsElement): string {
  const section = details.closest("section");
  const index = [...(section?.querySelectorAll("details") ?? [])].indexOf(details);
  return `${section?.id ?? ""}/${index}`;
}
