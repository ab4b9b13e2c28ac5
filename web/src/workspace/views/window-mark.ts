import type { Span } from "../../timeline/span";
import { make } from "./elements";
import type { Scale } from "./scales";

/** What the timeline shows, marked in a chart over time; it moves without the chart being drawn. */
export class WindowMark {
  private readonly element = make("div", { class: "point-window", hidden: true });

  constructor(stage: HTMLElement) {
    stage.append(this.element);
  }

  /** Null where the chart has no axis of time. `from` and `to` are pixels that the axis spans. */
  show(view: Span, x: Pick<Scale, "at"> | null, from: number, to: number): void {
    const begin = x === null ? to : Math.max(x.at(view.begin), from);
    const end = x === null ? from : Math.min(x.at(view.end), to);
    // All of the chart, or none of it: nothing to tell.
    this.element.hidden = end < begin || (begin <= from && end >= to);
    if (this.element.hidden) return;
    this.element.style.left = `${begin}px`;
    this.element.style.width = `${Math.max(end - begin, 2)}px`;
  }
}
