/**
 * Calls `redraw` when the colours of the style sheet or the medium change, for what is drawn on a
 * canvas. A page that is printed gets no frame and no resize before: only this event tells, when the
 * style and the layout are those of the paper already.
 */
export function onMediaChange(redraw: () => void, signal: AbortSignal): void {
  for (const query of ["print", "(prefers-color-scheme: dark)"]) {
    matchMedia(query).addEventListener("change", redraw, { signal });
  }
}
