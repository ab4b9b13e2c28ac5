import type { Row } from "./source";

/** How much room a row has: bars alone, bars with text, or events named beneath them too. */
export type Density = "compact" | "normal" | "events";

export type Orientation = "horizontal" | "vertical";

/** Pixels of CSS across the direction of time. */
export interface Box {
  readonly row: Row;
  /** Place in the source's rows. */
  readonly order: number;
  readonly from: number;
  /** Of the bar. */
  readonly bar: number;
  /** Beneath the bar, for the names of events. */
  readonly lane: number;
}

export interface Heading {
  readonly text: string;
  readonly from: number;
  readonly size: number;
}

export interface Layout {
  readonly boxes: readonly Box[];
  readonly headings: readonly Heading[];
  readonly size: number;
  readonly density: Density;
  readonly orientation: Orientation;
}

const GROUPS: Readonly<Record<string, string>> = {
  cpu: "CPUs",
  irq: "Interrupts",
  softirq: "Soft interrupts",
  thread: "Threads",
  task: "Threads",
  line: "Lines",
  annotation: "Decoded",
};

const SIZES: Readonly<Record<Orientation, Readonly<Record<Density, readonly [number, number]>>>> = {
  horizontal: { compact: [11, 0], normal: [20, 0], events: [20, 15] },
  vertical: { compact: [16, 0], normal: [64, 0], events: [56, 116] },
};
const HEADING = { horizontal: 22, vertical: 18 } as const;
const GAP = 3;

/** Those rows that `shown` names by their order, under a heading for each kind. */
export function layoutOf(
  rows: readonly Row[],
  shown: readonly number[],
  density: Density,
  orientation: Orientation,
): Layout {
  const [bar, lane] = SIZES[orientation][density];
  const boxes: Box[] = [];
  const headings: Heading[] = [];
  let at = 0;
  let group = "";
  for (const order of shown) {
    const row = rows[order];
    if (row === undefined) continue;
    const name = GROUPS[row.kind] ?? row.kind;
    if (name !== group) {
      group = name;
      headings.push({ text: name, from: at, size: HEADING[orientation] });
      at += HEADING[orientation];
    }
    boxes.push({ row, order, from: at, bar, lane });
    at += bar + lane + GAP;
  }
  return { boxes, headings, size: at + GAP, density, orientation };
}

/** So much of what is seen may CPUs take that stay in sight. */
const MOST_HELD = 0.4;

/** Pixels of the rows of CPUs, which stay in sight; 0 where they would leave too little of `room`. */
export function heldSize({ boxes }: Layout, room: number): number {
  const behind = boxes.findIndex(({ row }) => row.kind !== "cpu");
  const next = behind < 0 ? undefined : boxes[behind - 1];
  const size = next === undefined ? 0 : next.from + next.bar + next.lane + GAP;
  return size <= room * MOST_HELD ? size : 0;
}

/** As it is seen at `scroll`: other rows go away beneath the CPUs, each as soon as it is not whole. */
export function seenAt(layout: Layout, scroll: number, room: number): Layout {
  const held = heldSize(layout, room);
  if (held === 0 || scroll === 0) return layout;
  const moved = <T extends { readonly from: number }>(all: readonly T[]): T[] =>
    all.flatMap((one) => {
      if (one.from < held) return [{ ...one, from: one.from + scroll }];
      return one.from < held + scroll ? [] : [one];
    });
  return { ...layout, boxes: moved(layout.boxes), headings: moved(layout.headings) };
}

/** The boxes of which something shows between two places. */
export function boxesBetween({ boxes }: Layout, from: number, to: number): readonly Box[] {
  let low = 0;
  let high = boxes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const box = boxes[middle];
    if (box !== undefined && box.from + box.bar + box.lane <= from) low = middle + 1;
    else high = middle;
  }
  let behind = low;
  while (behind < boxes.length && (boxes[behind]?.from ?? to) < to) behind += 1;
  return boxes.slice(low, behind);
}

/** The box at a place, also in the gap behind it. */
export function boxAt(layout: Layout, at: number): Box | null {
  const [box] = boxesBetween(layout, at - GAP, at + 1);
  return box !== undefined && box.from <= at ? box : null;
}

/** Where the three bands of a bar are: [from, size] each, within the bar. */
export function bandsOf(kind: string, bar: number): readonly (readonly [number, number])[] {
  if (kind === "line") {
    return [
      [2, 2],
      [4, bar - 6],
      [bar - 2, 2],
    ];
  }
  const upper = Math.round(bar * 0.5);
  const lower = Math.max(2, Math.round(bar * 0.14));
  return [
    [0, upper],
    [upper, bar - upper - lower],
    [bar - lower, lower],
  ];
}
