/**
 * Of forms whose button takes a number of ticked boxes (`data-least` to `data-most` of
 * `data-things`): the button can be pressed when so many are ticked, and until then it says how many
 * are missing, or too many. Without scripts, the page that it leads to says so.
 */
export function watchTicks(page: Document): void {
  for (const bar of page.querySelectorAll<HTMLElement>("[data-least]")) {
    const form = bar.closest("form");
    const button = bar.querySelector("button");
    const reason = bar.querySelector("[role=status]");
    if (form === null || button === null || reason === null) continue;
    const { things = "" } = bar.dataset;
    const [least, most] = [Number(bar.dataset["least"]), Number(bar.dataset["most"])];
    const update = (): void => {
      const ticked = form.querySelectorAll("input[type=checkbox]:checked").length;
      button.disabled = ticked < least || ticked > most;
      reason.textContent = reasonOf(ticked, least, most, things);
    };
    form.addEventListener("change", update);
    // Browsers tick the boxes again when one comes back to the page, after it was made.
    page.defaultView?.addEventListener("pageshow", update);
    update();
  }
}

/** What is wrong with a number of ticked boxes; empty when nothing is. */
export function reasonOf(ticked: number, least: number, most: number, things: string): string {
  const wanted = least === most ? String(least) : `${least} to ${most}`;
  if (ticked > most) return `${ticked} ${things} are ticked, at most ${most} are compared at once`;
  if (ticked >= least) return "";
  return ticked === 0 ? `Tick ${wanted} ${things}` : `${ticked} ticked: tick ${least - ticked === 1 ? "one more" : `${least - ticked} more`}`;
}
