/** A line of the tip, and how it looks. */
export interface TipLine {
  readonly text: string;
  readonly look: "plain" | "text" | "title" | "note" | "loss";
}

/** As the style sheet says. */
const WIDEST = 340;
/** Of nearly all tips; a higher one is moved up as far as it needs. */
const HIGH = 150;

/**
 * The box beside the pointer. It changes with each frame while the timeline moves, so its elements
 * stay, and where it is follows from its own size in the style sheet's terms: nothing is measured, and
 * the page is not laid out in the middle of a frame.
 */
export class Tip {
  private readonly element: HTMLElement;
  private readonly lines: HTMLElement[] = [];

  constructor(stage: HTMLElement) {
    this.element = stage.appendChild(document.createElement("div"));
    this.element.className = "tl-tip";
    this.element.hidden = true;
    // Read out by the status line instead.
    this.element.setAttribute("aria-hidden", "true");
  }

  hide(): void {
    if (!this.element.hidden) this.element.hidden = true;
  }

  /** Shows lines beside a place of a stage of so many pixels. */
  show(lines: readonly TipLine[], [x, y]: readonly [number, number], [width, height]: readonly [number, number]): void {
    lines.forEach(({ text, look }, at) => {
      const line = this.lines[at] ?? this.added();
      if (line.textContent !== text) line.textContent = text;
      const name = look === "plain" ? "" : `tl-tip-${look}`;
      if (line.className !== name) line.className = name;
      if (line.hidden) line.hidden = false;
    });
    for (const line of this.lines.slice(lines.length)) if (!line.hidden) line.hidden = true;
    // On the side where there is room, and as far in as it takes to be seen whole.
    const left = x + 16 + WIDEST > width && x > width / 2
      ? `max(0px, calc(${x - 12}px - 100%))`
      : `max(0px, min(${x + 16}px, calc(${width}px - 100%)))`;
    const top = y + 18 + HIGH > height && y > height / 2
      ? `max(0px, calc(${y - 10}px - 100%))`
      : `max(0px, min(${y + 18}px, calc(${height}px - 100%)))`;
    this.element.style.transform = `translate(${left}, ${top})`;
    if (this.element.hidden) this.element.hidden = false;
  }

  private added(): HTMLElement {
    const line = this.element.appendChild(document.createElement("div"));
    this.lines.push(line);
    return line;
  }
}
