import { type Brush, brushOf, setFont, type Surface } from "./brush";
import { foundPixels, paintFound } from "./finds";
import { type FlagMark, paintFlags } from "./flags";
import type { Orientation } from "./layout";
import { lossBands } from "./losses";
import type { Loss } from "./source";
import type { Span } from "./span";
import { Texts } from "./texts";
import type { Theme } from "./theme";
import { baseLabel, type Ticks } from "./ticks";

/** How far marks of what a search found stand out of the edge of the axis. */
const FOUND_PX = 9;
const NONE_FOUND = new Float64Array(0);

/** Draws the axis of time: along the top, or down the left side. */
export class AxisView {
  private readonly context: Brush;

  constructor(
    readonly canvas: Surface,
    private readonly corner: Pick<HTMLElement, "textContent">,
  ) {
    this.context = brushOf(canvas);
  }

  paint(
    ticks: Ticks,
    view: Span,
    losses: readonly Loss[],
    theme: Theme,
    orientation: Orientation,
    flags: readonly FlagMark[] = [],
    found: Float64Array = NONE_FOUND,
  ): void {
    const { canvas, context } = this;
    const ratio = canvas.width / canvas.clientWidth;
    const [width, height] = [canvas.width / ratio, canvas.height / ratio];
    const vertical = orientation === "vertical";
    const main = vertical ? height : width;
    const perPixel = (view.end - view.begin) / main;
    const base = baseLabel(ticks, view);
    if (this.corner.textContent !== base) this.corner.textContent = base;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.page;
    context.fillRect(0, 0, width, height);
    setFont(context, `11px ${theme.sans}`);
    context.textBaseline = "middle";
    for (const { time, label } of ticks.ticks) {
      const at = Math.round((time - view.begin) / perPixel);
      const long = label === "" ? 4 : vertical ? 8 : 10;
      context.fillStyle = label === "" ? theme.rule : theme.strong;
      if (vertical) context.fillRect(width - long, at, long, 1);
      else context.fillRect(at, height - long, 1, long);
      if (label === "") continue;
      context.fillStyle = theme.ink;
      if (vertical) {
        context.textAlign = "right";
        if (at > 5 && at < main - 5) context.fillText(label, width - long - 3, at + 0.5);
      } else {
        context.textAlign = "left";
        context.fillText(label, at + 4, height - 14);
      }
    }
    context.textAlign = "left";
    if (flags.length > 0) paintFlags(context, flags, new Texts(context, context.font), theme, orientation, main);
    context.fillStyle = theme.accent;
    paintFound(context, foundPixels(found, { begin: view.begin, perPixel }, main), [(vertical ? width : height) - FOUND_PX, FOUND_PX], vertical);
    context.fillStyle = theme.loss;
    for (const { from, to } of lossBands(losses, { begin: view.begin, perPixel }, main, 3)) {
      if (vertical) context.fillRect(width - 3, from, 3, to - from);
      else context.fillRect(from, height - 3, to - from, 3);
    }
  }
}
