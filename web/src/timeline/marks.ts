import { formatCount } from "../base/units";
import type { Brush } from "./brush";
import type { Box } from "./layout";
import type { Scale } from "./raster";
import type { Scene } from "./stage";
import type { Texts } from "./texts";
import { BLOCK, levelOf } from "./tiles";

const TICK_PX = 4;
const LINE_PX = 12;
/** How far a name may be from its mark, in a column. */
const ASIDE_PX = 40;
const WIDEST_PX = 160;

/** A mark where it is drawn: CSS pixels along time. */
interface Placed {
  readonly at: number;
  readonly text: string;
}

/** Events as small ticks beside the bar, with their names where there is room. */
export function paintMarks(
  context: Brush,
  texts: Texts,
  scene: Scene,
  boxes: readonly Box[],
  scale: Scale,
  ratio: number,
  main: number,
): void {
  const level = levelOf(scale.perPixel);
  const vertical = scene.layout.orientation === "vertical";
  for (const box of boxes) {
    if (box.members !== undefined || box.track !== undefined || box.calls !== undefined) continue;
    const placed: Placed[] = [];
    for (const { tile, clip } of scene.marks.cover(level, scene.view, Math.floor(box.order / BLOCK))) {
      const range = tile.rows.get(box.row.id);
      if (range === undefined) continue;
      const { time, event, count } = tile.data;
      for (let at = range[0]; at < range[1]; at += 1) {
        const when = time[at] ?? 0;
        if (when < clip.begin || when >= clip.end) continue;
        const pixel = Math.floor((when - scale.begin) / scale.perPixel);
        if (pixel < 0 || pixel >= main) continue;
        const several = count[at] ?? 1;
        const name = several === 1 ? scene.source.look.eventName(event[at] ?? 0) : `${formatCount(several)} events`;
        placed.push({ at: pixel / ratio, text: name });
      }
    }
    context.fillStyle = scene.theme.muted;
    if (vertical) inColumn(context, texts, placed, box, scene, main / ratio);
    else inLane(context, texts, placed, box, scene, main / ratio);
  }
}

/** Beneath the bar: a name stands right of its mark, up to where the next has its own. */
function inLane(
  context: Brush,
  texts: Texts,
  placed: readonly Placed[],
  box: Box,
  { scroll, theme }: Scene,
  end: number,
): void {
  const top = box.from + box.bar - scroll;
  for (const { at } of placed) context.fillRect(at, top, 1, TICK_PX);
  context.fillStyle = theme.ink;
  let free = 0;
  for (const { at, text } of placed) {
    if (at < free) continue;
    const fitting = texts.cut(text, Math.min(WIDEST_PX, end - at));
    if (fitting === "") continue;
    context.fillText(fitting, at, top + TICK_PX + LINE_PX / 2);
    free = at + texts.width(fitting) + 8;
  }
}

/** Beside the bar: each name on a line of its own, with a line to its mark. */
function inColumn(
  context: Brush,
  texts: Texts,
  placed: readonly Placed[],
  box: Box,
  { scroll, theme }: Scene,
  end: number,
): void {
  const left = box.from + box.bar - scroll;
  for (const { at } of placed) context.fillRect(left, at, TICK_PX, 1);
  let free = 0;
  context.strokeStyle = theme.strong;
  context.lineWidth = 1;
  for (const { at, text } of placed) {
    const line = Math.max(at, free);
    if (line - at > ASIDE_PX || line + LINE_PX > end) continue;
    context.beginPath();
    context.moveTo(left + TICK_PX, at + 0.5);
    context.lineTo(left + TICK_PX + 8, line + 0.5);
    context.stroke();
    context.fillStyle = theme.ink;
    texts.draw(text, left + TICK_PX + 11, line + 1, box.lane - TICK_PX - 14);
    free = line + LINE_PX;
  }
}
