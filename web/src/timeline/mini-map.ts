import { type Brush, brushOf, type Surface } from "./brush";
import { foundPixels, paintFound } from "./finds";
import { lossBands } from "./losses";
import type { Loss, Overview } from "./source";
import { centreOf, lengthOf, shiftSpan, type Span, spanOf } from "./span";
import type { Theme } from "./theme";

/** Pixels beside an edge of the window that still take hold of it. */
const GRIP = 6;

/**
 * The whole trace in one strip: how busy it was, where events are missing, and the window that the
 * timeline shows. The window is dragged, its edges too; a drag elsewhere shows what it spans.
 */
export class MiniMap {
  private readonly context: Brush;
  private readonly window: HTMLElement;
  private readonly marked: HTMLElement;

  constructor(
    private readonly host: HTMLElement,
    private readonly canvas: Surface,
    private readonly duration: number,
    private readonly look: (view: Span) => void,
  ) {
    this.context = brushOf(canvas);
    this.marked = host.appendChild(document.createElement("div"));
    this.marked.className = "tl-map-range";
    this.window = host.appendChild(document.createElement("div"));
    this.window.className = "tl-map-window";
    this.listen();
  }

  /** What does not change with the view. */
  paint(overview: Overview | null, losses: readonly Loss[], found: Float64Array, theme: Theme): void {
    const { canvas, context } = this;
    const ratio = canvas.width / canvas.clientWidth;
    const [width, height] = [canvas.width / ratio, canvas.height / ratio];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.panel;
    context.fillRect(0, 0, width, height);
    if (overview !== null) this.lanes(overview, theme, width, height);
    context.fillStyle = theme.loss;
    const perPixel = this.duration / Math.max(width, 1);
    const scale = { begin: 0, perPixel };
    for (const { from, to } of lossBands(losses, scale, width, 2)) {
      context.fillRect(from, 0, to - from, 4);
    }
    context.fillStyle = theme.accent;
    paintFound(context, foundPixels(found, scale, width), [0, 7], false);
  }

  place(view: Span, range: Span | null): void {
    this.put(this.window, view);
    if (this.marked.hidden !== (range === null)) this.marked.hidden = range === null;
    if (range !== null) this.put(this.marked, range);
  }

  /** Busy share of all lanes together as an area; where there are no lanes, the events. */
  private lanes({ lanes, events }: Overview, theme: Theme, width: number, height: number): void {
    const buckets = lanes[0]?.length ?? events.length;
    const most = Math.max(1, events.reduce((a, b) => Math.max(a, b), 0));
    const { context } = this;
    context.fillStyle = theme.line;
    context.globalAlpha = 0.75;
    for (let x = 0; x < width; x += 1) {
      const first = Math.floor((x / width) * buckets);
      const last = Math.max(first + 1, Math.floor(((x + 1) / width) * buckets));
      let share = 0;
      for (let at = first; at < last; at += 1) {
        if (lanes.length === 0) share += (events[at] ?? 0) / most;
        else for (const lane of lanes) share += (lane[at] ?? 0) / lanes.length;
      }
      const size = (share / (last - first)) * (height - 6);
      if (size > 0) context.fillRect(x, height - Math.max(size, 1), 1, Math.max(size, 1));
    }
    context.globalAlpha = 1;
  }

  private put(element: HTMLElement, { begin, end }: Span): void {
    const part = (time: number): number => Math.min(Math.max(time / this.duration, 0), 1) * 100;
    element.style.left = `${part(begin)}%`;
    element.style.width = `${part(end) - part(begin)}%`;
  }

  private listen(): void {
    const timeAt = (event: PointerEvent): number => {
      const { left, width } = this.host.getBoundingClientRect();
      return ((event.clientX - left) / Math.max(width, 1)) * this.duration;
    };
    this.host.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      this.host.setPointerCapture(event.pointerId);
      const view = this.shown();
      const grab = this.grabbed(event);
      const start = timeAt(event);
      let moved = false;
      const move = (to: PointerEvent): void => {
        const time = timeAt(to);
        moved ||= Math.abs(to.clientX - event.clientX) > 2;
        if (!moved) return;
        if (grab === "window") this.look(shiftSpan(view, time - start));
        else if (grab === "begin") this.look(spanOf(time, view.end));
        else if (grab === "end") this.look(spanOf(view.begin, time));
        else this.look(spanOf(start, time));
      };
      const end = (): void => {
        this.host.removeEventListener("pointermove", move);
        // A click elsewhere brings the window there.
        if (!moved && grab === null) this.look(shiftSpan(view, start - centreOf(view)));
      };
      this.host.addEventListener("pointermove", move);
      this.host.addEventListener("pointerup", end, { once: true });
      this.host.addEventListener("pointercancel", end, { once: true });
    });
  }

  /** What is seen, by where the window stands. */
  private shown(): Span {
    const begin = (parseFloat(this.window.style.left) / 100) * this.duration;
    return { begin, end: begin + (parseFloat(this.window.style.width) / 100) * this.duration };
  }

  private grabbed({ clientX }: PointerEvent): "window" | "begin" | "end" | null {
    const { left, right } = this.window.getBoundingClientRect();
    // A window that is all of the map is not in the way of drawing a new one.
    if (lengthOf(this.shown()) > this.duration * 0.98) return null;
    if (Math.abs(clientX - left) <= GRIP) return "begin";
    if (Math.abs(clientX - right) <= GRIP) return "end";
    return clientX > left && clientX < right ? "window" : null;
  }
}
