import { formatCount } from "../base/units";
import type { ArrowShape } from "./arrows";
import type { Flag, FlagMark } from "./flags";
import type { Hit } from "./hit";
import type { Source } from "./source";
import type { Span } from "./span";
import { formatLength, formatTime } from "./time-format";
import { Tip, type TipLine } from "./tip";

/** Where the stage's pixels are, for what lies on top of it. */
export interface Frame {
  readonly view: Span;
  /** CSS pixels along time, and across it. */
  readonly main: number;
  readonly cross: number;
  readonly vertical: boolean;
}

const SVG = "http://www.w3.org/2000/svg";

/** A box along and across time, CSS pixels. */
interface Area {
  readonly from: number;
  readonly to: number;
  readonly top: number;
  readonly bottom: number;
}

/**
 * What lies on top of the bars: elements and not pixels, so that moving the pointer draws no bar
 * again.
 */
export class Overlay {
  private readonly cross: HTMLElement;
  private readonly chosen: HTMLElement;
  private readonly range: HTMLElement;
  private readonly rangeText: HTMLElement;
  private readonly tip: Tip;
  private readonly arrows: SVGSVGElement;
  private readonly flags: SVGSVGElement;

  constructor(
    stage: HTMLElement,
    private readonly source: Source,
  ) {
    const add = (name: string, parent = stage): HTMLElement => {
      const element = parent.appendChild(document.createElement("div"));
      element.className = name;
      element.hidden = true;
      return element;
    };
    this.range = add("tl-range");
    this.rangeText = add("tl-range-text", this.range);
    this.rangeText.hidden = false;
    this.chosen = add("tl-chosen");
    const drawing = (name: string): SVGSVGElement => {
      const element = stage.appendChild(document.createElementNS(SVG, "svg"));
      element.classList.add(name);
      element.setAttribute("aria-hidden", "true");
      return element;
    };
    this.flags = drawing("tl-flags");
    this.arrows = drawing("tl-arrows");
    this.cross = add("tl-cross");
    this.tip = new Tip(stage);
  }

  /** `across`: from where to where, for a range of some rows. */
  showRange(range: Span | null, frame: Frame, across: readonly [number, number] | null): void {
    const [top, bottom] = across ?? [0, frame.cross];
    const area = range === null ? null : areaOf(range, frame, top, bottom);
    this.put(this.range, area, frame);
    const text = range === null ? "" : formatLength(range.end - range.begin);
    if (this.rangeText.textContent !== text) this.rangeText.textContent = text;
  }

  showChosen(item: Span | null, top: number, bottom: number, frame: Frame): void {
    const area = item === null || bottom <= 0 ? null : areaOf(item, frame, top - 2, bottom + 2);
    this.put(this.chosen, area, frame);
  }

  showArrows(shapes: readonly ArrowShape[]): void {
    if (shapes.length === 0 && this.arrows.childElementCount === 0) return;
    this.arrows.replaceChildren(...shapes.map(({ kind, line, head }) => {
      const group = document.createElementNS(SVG, "g");
      group.setAttribute("class", `tl-arrow-${kind}`);
      for (const [name, shape] of [["line", line], ["head", head]] as const) {
        const path = group.appendChild(document.createElementNS(SVG, "path"));
        path.setAttribute("d", shape);
        path.setAttribute("class", `tl-arrow-${name}`);
      }
      return group;
    }));
  }

  /** Frames around what notes are about: of a row, or from the first to the last. */
  showFlags(boxes: readonly FlagBox[]): void {
    if (boxes.length === 0 && this.flags.childElementCount === 0) return;
    this.flags.replaceChildren(...boxes.map(({ x, y, width, height, chosen }) => {
      const element = document.createElementNS(SVG, "rect");
      for (const [name, value] of Object.entries({ x, y, width, height })) element.setAttribute(name, value.toFixed(1));
      element.setAttribute("class", chosen ? "tl-flag tl-flag-chosen" : "tl-flag");
      return element;
    }));
  }

  /** What is pointed at in the axis: a moment, and a note that is there. */
  showMoment(time: number, flag: Flag | null, frame: Frame, at: readonly [number, number]): void {
    this.put(this.cross, areaOf({ begin: time, end: time }, frame, 0, frame.cross), frame);
    const when = flag === null
      ? formatTime(time, (frame.view.end - frame.view.begin) / frame.main)
      : `${formatTime(flag.begin, 1)}${flag.end > flag.begin ? `, ${formatLength(flag.end - flag.begin)}` : ""}`;
    const lines: TipLine[] = flag === null ? [] : [{ text: flag.text, look: "text" }];
    this.showTip([...lines, { text: when, look: "plain" }], frame, at);
  }

  showHit(hit: Hit | null, frame: Frame, at: readonly [number, number]): void {
    const time = hit?.time ?? null;
    const area = time === null ? null : areaOf({ begin: time, end: time }, frame, 0, frame.cross);
    this.put(this.cross, area, frame);
    if (hit === null) this.tip.hide();
    else this.showTip(this.lines(hit, (frame.view.end - frame.view.begin) / frame.main), frame, at);
  }

  private showTip(lines: readonly TipLine[], { main, cross, vertical }: Frame, at: readonly [number, number]): void {
    const [x, y] = vertical ? [at[1], at[0]] : at;
    this.tip.show(lines, [x, y], vertical ? [cross, main] : [main, cross]);
  }

  private lines({ row, time, item, mark, value, call }: Hit, perPixel: number): TipLine[] {
    const { look, losses } = this.source;
    const lines: TipLine[] = [];
    const add = (text: string, as: TipLine["look"] = "plain"): void => {
      lines.push({ text, look: as });
    };
    if (mark !== null) {
      add(mark.count === 1 ? look.eventName(mark.event) : `${formatCount(mark.count)} events`, "title");
      add(formatTime(mark.time, 1));
    } else if (call !== undefined) {
      add(call.name, "title");
      add(`${call.count > 1 ? "from the first to the last: " : ""}${formatLength(call.end - call.begin)}`);
      add(`from ${formatTime(call.begin, 1)}`);
      if (call.count > 1) add(`${formatCount(call.count)} calls here, the longest is named: zoom in`, "note");
      if (!call.complete) add("incomplete: its end, or what it called, is not known", "note");
    } else if (item !== null) {
      const several = item.count > 1;
      const who = item.actor >= 0 ? look.actorName(item.actor) : row.name;
      add(who, "title");
      const state = look.states[item.state]?.name ?? "";
      add(`${several ? "longest: " : ""}${state} ${formatLength(item.end - item.begin)}`.trim());
      add(`from ${formatTime(item.begin, 1)}`);
      if (several) add(`${formatCount(item.count)} items here: zoom in`, "note");
    } else {
      add(value === undefined ? row.name : `${row.name} ${row.detail}`.trim(), "title");
      if (value !== undefined) add(value);
      add(formatTime(time, perPixel));
    }
    const lost = losses.filter(
      (loss) => loss.begin <= time + perPixel && loss.end >= time - perPixel,
    );
    for (const loss of lost.slice(0, 3)) add(lossText(loss.kind, loss.count, loss.cpu), "loss");
    return lines;
  }

  private put(element: HTMLElement, area: Area | null, frame: Frame): void {
    if (element.hidden !== (area === null)) element.hidden = area === null;
    if (area === null) return;
    const { x, y, width, height } = placeOf(area, frame);
    const { style } = element;
    style.transform = `translate(${x}px, ${y}px)`;
    style.width = `${width}px`;
    style.height = `${height}px`;
  }
}

function placeOf({ from, to, top, bottom }: Area, { vertical }: Frame): { x: number; y: number; width: number; height: number } {
  const [along, across] = [to - from, bottom - top];
  return vertical
    ? { x: top, y: from, width: across, height: along }
    : { x: from, y: top, width: along, height: across };
}

/** Where a span is seen on the stage, from `top` to `bottom` across time; null when it is outside. */
export function frameOf(span: Span | null, frame: Frame, top: number, bottom: number): ReturnType<typeof placeOf> | null {
  const area = span === null || bottom <= 0 ? null : areaOf(span, frame, top, bottom);
  return area === null ? null : placeOf(area, frame);
}

/** A frame on the stage, CSS pixels. */
export interface FlagBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly chosen: boolean;
}

/** The frames of flags; `placeOf` says where a row is across time, null for one that is not shown. */
export function flagBoxes(
  marks: readonly FlagMark[],
  placeOf: (row: number) => readonly [number, number] | null,
  { cross, vertical }: Frame,
): FlagBox[] {
  return marks.flatMap(({ flag, from, to }): FlagBox[] => {
    const across = flag.row === null ? [0, cross] as const : placeOf(flag.row);
    if (across === null || across[1] <= 0) return [];
    const [main, size] = [Math.round(from) + 0.5, Math.max(Math.round(to) - Math.round(from), 0)];
    const [top, high] = flag.row === null ? [-2, cross + 4] : [across[0] - 1.5, across[1] - across[0] + 3];
    // A moment is a line, which a frame without width is; of a row it has to be seen beside its item.
    const [begin, long] = size > 0 || flag.row === null ? [main, size] : [main - 2, 4];
    return [vertical
      ? { x: top, y: begin, width: high, height: long, chosen: flag.chosen }
      : { x: begin, y: top, width: long, height: high, chosen: flag.chosen }];
  });
}

/** What is missing, in words. */
export function lossText(kind: string, count: number | null, cpu: number | null): string {
  const what = count === null ? `an unknown number of ${kind}` : `${formatCount(count)} ${kind}`;
  return `${what} lost${cpu === null ? "" : ` on CPU ${cpu}`}`;
}

/** Where a span is seen; null when it is outside. Never wider than a little beyond the view. */
function areaOf(span: Span, { view, main }: Frame, top: number, bottom: number): Area | null {
  const perPixel = (view.end - view.begin) / main;
  const from = (span.begin - view.begin) / perPixel;
  const to = (span.end - view.begin) / perPixel;
  if (to < 0 || from > main) return null;
  const left = Math.max(Math.floor(from), -4);
  return { from: left, to: Math.min(Math.max(Math.ceil(to), left + 1), main + 4), top, bottom };
}
