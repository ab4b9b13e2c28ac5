import { type Brush, brushOf, setFont, type Surface } from "./brush";
import { boxesBetween, type Box, type Heading, type Layout } from "./layout";
import { Texts } from "./texts";
import type { Theme } from "./theme";

/** What the names of the rows show. */
export interface NamesScene {
  readonly layout: Layout;
  readonly scroll: number;
  readonly theme: Theme;
  readonly chosen: number | null;
  readonly hovered: number | null;
  /** Whether rows can be pinned: the one that is pointed at has a pin then. */
  readonly pins: boolean;
}

/** Words beside a name, and where they end. */
interface Detail {
  readonly text: string;
  readonly right: number;
  readonly middle: number;
}

const EDGE = 12;
/** Rows of an open group stand in from its heading. */
const INDENT = 10;
/** From the right edge: a click there pins. */
export const PIN_PX = 24;
/** Columns narrower than this have their names turned. */
const TURNED_BELOW = 48;

/** Draws the names of rows beside (or above) their bars. */
export class Names {
  private readonly context: Brush;
  private plain: Texts | null = null;
  private small: Texts | null = null;

  constructor(readonly canvas: Surface) {
    this.context = brushOf(canvas);
  }

  paint(scene: NamesScene): void {
    const { canvas, context } = this;
    const { layout, theme, scroll } = scene;
    const ratio = canvas.width / canvas.clientWidth;
    const [width, height] = [canvas.width / ratio, canvas.height / ratio];
    const vertical = layout.orientation === "vertical";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.page;
    context.fillRect(0, 0, width, height);
    if (this.plain?.font !== `12px ${theme.sans}`) {
      this.plain = new Texts(context, `12px ${theme.sans}`);
      this.small = new Texts(context, `11px ${theme.sans}`);
    }
    context.textBaseline = "middle";
    for (const heading of layout.headings) this.heading(heading, scene, width, height);
    const boxes = boxesBetween(layout, scroll, scroll + (vertical ? width : height));
    if (vertical) for (const box of boxes) this.inHead(box, scene, height);
    else this.details(boxes.flatMap((box) => this.inLine(box, scene, width)), scene);
  }

  /** Words beside the names, all behind these: they have a font of their own, which is dear to set. */
  private details(details: readonly Detail[], { layout, theme }: NamesScene): void {
    const { context, small } = this;
    if (details.length === 0 || small === null) return;
    if (layout.density !== "compact") setFont(context, small.font);
    context.fillStyle = theme.muted;
    context.textAlign = "right";
    for (const { text, right, middle } of details) context.fillText(text, right, middle);
    context.textAlign = "left";
  }

  private heading({ text, from, size, group }: Heading, scene: NamesScene, width: number, height: number): void {
    const { context } = this;
    const { theme, scroll, layout } = scene;
    const at = from - scroll;
    context.fillStyle = group === undefined ? theme.panel : theme.page;
    if (layout.orientation === "vertical") context.fillRect(at, 0, size, height);
    else context.fillRect(0, at, width, size);
    context.fillStyle = group === undefined ? theme.muted : theme.ink;
    setFont(context, `${group === undefined ? 600 : 400} 11px ${theme.sans}`);
    if (layout.orientation === "vertical") this.turned(text, at + size / 2, height, this.small);
    else if (group === undefined) context.fillText(text, EDGE, at + size / 2 + 0.5);
    else {
      this.triangle(EDGE, at + size / 2, true, theme);
      context.fillStyle = theme.ink;
      this.small?.draw(text, EDGE + 14, at + size / 2 + 0.5, width - EDGE - 20);
    }
  }

  /** What opens and closes a group. */
  private triangle(x: number, y: number, open: boolean, theme: Theme): void {
    const { context } = this;
    context.fillStyle = theme.muted;
    context.beginPath();
    if (open) {
      context.moveTo(x, y - 2.5);
      context.lineTo(x + 8, y - 2.5);
      context.lineTo(x + 4, y + 3);
    } else {
      context.moveTo(x + 1.5, y - 4);
      context.lineTo(x + 7, y);
      context.lineTo(x + 1.5, y + 4);
    }
    context.fill();
  }

  /** A pin: what a click beside the name does. */
  private pin(x: number, y: number, theme: Theme, pinned: boolean): void {
    const { context } = this;
    context.strokeStyle = context.fillStyle = theme.accent;
    context.lineWidth = 1.3;
    context.beginPath();
    context.arc(x, y - 2, 3.2, 0, Math.PI * 2);
    if (pinned) context.fill();
    context.moveTo(x, y + 1);
    context.lineTo(x, y + 6);
    context.stroke();
  }

  /** Draws a name; returns the words that stand beside it. */
  private inLine(box: Box, scene: NamesScene, width: number): readonly Detail[] {
    const { context } = this;
    const { theme, scroll, layout } = scene;
    const top = box.from - scroll;
    this.ground(box, scene, [0, top - 1, width, box.bar + box.lane + 2]);
    const middle = top + box.bar / 2 + 0.5;
    const texts = layout.density === "compact" || box.calls !== undefined ? this.small : this.plain;
    if (texts === null) return [];
    setFont(context, layout.density === "compact" ? texts.font.replace("11px", "9.5px") : texts.font);
    const isPinned = box.from < layout.pinned;
    const pinnable = scene.pins && box.track === undefined && box.calls === undefined && box.members === undefined && (box.order === scene.hovered || isPinned);
    if (pinnable) this.pin(width - PIN_PX / 2, middle, theme, isPinned);
    const detail = box.row.detail;
    const right = width - (pinnable ? PIN_PX : 8);
    const aside = detail === "" || this.small === null ? 0 : this.small.width(detail) + 10;
    const left = EDGE + (box.members !== undefined ? 14 : box.inGroup === true ? INDENT : 0) + (box.calls === undefined ? 0 : INDENT);
    if (box.members !== undefined) this.triangle(EDGE, middle, false, theme);
    context.fillStyle = theme.ink;
    texts.draw(box.row.name, left, middle, right - left - aside);
    return aside === 0 ? [] : [{ text: detail, right, middle }];
  }

  private inHead(box: Box, scene: NamesScene, height: number): void {
    const { context } = this;
    const { theme, scroll } = scene;
    const left = box.from - scroll;
    const size = box.bar + box.lane;
    this.ground(box, scene, [left - 1, 0, size + 2, height]);
    context.fillStyle = theme.ink;
    if (size < TURNED_BELOW) {
      setFont(context, this.small?.font ?? context.font);
      this.turned(box.row.name, left + size / 2, height, this.small);
      return;
    }
    setFont(context, this.plain?.font ?? context.font);
    this.plain?.draw(box.row.name, left + 4, height - (box.row.detail === "" ? 14 : 28), size - 8);
    context.fillStyle = theme.muted;
    setFont(context, this.small?.font ?? context.font);
    this.small?.draw(box.row.detail, left + 4, height - 13, size - 8);
  }

  private turned(text: string, x: number, height: number, texts: Texts | null): void {
    this.context.save();
    this.context.translate(x + 0.5, height - 6);
    this.context.rotate(-Math.PI / 2);
    texts?.draw(text, 0, 0, height - 10);
    this.context.restore();
  }

  private ground(
    { order, track, calls }: Box,
    { chosen, hovered, theme }: NamesScene,
    [x, y, width, height]: readonly [number, number, number, number],
  ): void {
    if (track !== undefined || calls !== undefined || (order !== chosen && order !== hovered)) return;
    this.context.fillStyle = theme.panel;
    this.context.fillRect(x, y, width, height);
    if (order !== chosen) return;
    this.context.fillStyle = theme.accent;
    this.context.fillRect(x, y, 3, height);
  }
}
