/** Elements that are seen at once, and that are added in one go after them. */
const AT_ONCE = 60;
const PAUSE_MS = 40;

/**
 * Appends what `made` makes of each item: a screenful at once, the others a part at a time, so that
 * a long table holds up no frame of the timeline. Ends when `parent` has been taken from the page.
 */
export function appendInTurn<T>(
  parent: HTMLElement,
  items: readonly T[],
  made: (item: T) => HTMLElement,
  appended: () => void,
): void {
  const append = (from: number): void => {
    parent.append(...items.slice(from, from + AT_ONCE).map(made));
    appended();
    if (from + AT_ONCE >= items.length) return;
    setTimeout(() => {
      if (parent.isConnected) append(from + AT_ONCE);
    }, PAUSE_MS);
  };
  append(0);
}
