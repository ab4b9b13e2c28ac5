import type { Brush } from "./brush";
import type { Orientation } from "./layout";
import type { Span } from "./span";
import type { Texts } from "./texts";
import type { Theme } from "./theme";

/** A note on a moment (its end is its begin) or a span: ns since the first event. */
export interface Flag extends Span {
  readonly id: string;
  /** The row that it is about, by its id; null is all of them. */
  readonly row: number | null;
  readonly text: string;
  readonly chosen: boolean;
}

/** Where a flag is seen: CSS pixels along time, from its begin to its end. */
export interface FlagMark {
  readonly flag: Flag;
  readonly from: number;
  readonly to: number;
}

/** Pixels of the pennant, along time and across it. */
const [LONG, HIGH] = [8, 9];
const BAR_PX = 3;
/** Pixels of the axis above its ticks, for the texts of flags. */
export const FLAG_ROOM = 16;

/** The flags of which anything lies on `main` pixels from `begin` on, in order of time. */
export function flagMarks(flags: readonly Flag[], begin: number, perPixel: number, main: number): FlagMark[] {
  return flags.flatMap((flag): FlagMark[] => {
    const [from, to] = [(flag.begin - begin) / perPixel, (flag.end - begin) / perPixel];
    return to < 0 || from > main ? [] : [{ flag, from: Math.max(from, -LONG), to: Math.min(to, main + LONG) }];
  }).sort((a, b) => a.from - b.from);
}

/** The flag at a time, or beside it within `reach` ns: the shortest of several. */
export function flagNear(flags: readonly Flag[], time: number, reach: number): Flag | null {
  let best: Flag | null = null;
  let least = Infinity;
  for (const flag of flags) {
    const away = Math.max(flag.begin - time, time - flag.end, 0);
    if (away > reach) continue;
    // What is pointed at by its pennant beats a span that reaches here.
    const cost = Math.min(Math.abs(time - flag.begin), reach) + (flag.end - flag.begin) * 1e-3;
    if (cost >= least) continue;
    least = cost;
    best = flag;
  }
  return best;
}

/** Pennants in the axis, each with as much of its text as there is room for before the next. */
export function paintFlags(
  context: Brush,
  marks: readonly FlagMark[],
  texts: Texts,
  theme: Theme,
  orientation: Orientation,
  main: number,
): void {
  const vertical = orientation === "vertical";
  marks.forEach(({ flag, from, to }, at) => {
    const x = Math.round(from);
    context.fillStyle = flag.chosen ? theme.ink : theme.flag;
    const box = (along: number, across: number, long: number, high: number): void => {
      if (vertical) context.fillRect(across, along, high, long);
      else context.fillRect(along, across, long, high);
    };
    box(x, 0, Math.max(Math.round(to) - x, 1), BAR_PX);
    box(x, 0, 1, FLAG_ROOM);
    context.beginPath();
    for (const [index, [along, across]] of ([[x, 1], [x + LONG, 1 + HIGH / 2], [x, 1 + HIGH]] as const).entries()) {
      const [left, top] = vertical ? [across, along] : [along, across];
      if (index === 0) context.moveTo(left, top);
      else context.lineTo(left, top);
    }
    context.fill();
    if (vertical) return;
    const room = Math.min(marks[at + 1]?.from ?? main, main) - x - LONG - 8;
    context.fillStyle = theme.ink;
    texts.draw(firstLine(flag.text), x + LONG + 3, FLAG_ROOM / 2, room);
  });
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";
