import { type CallingThread, laneRow } from "./calls";
import { type Evidence, evidenceRow } from "./evidence";
import type { Row } from "./source";

/** How much room a row has: bars alone, bars with text, or events named beneath them too. */
export type Density = "compact" | "normal" | "events";

export type Orientation = "horizontal" | "vertical";

/** Pixels of CSS across the direction of time. */
export interface Box {
  readonly row: Row;
  /** Place in the source's rows; of a closed group, that of its first member. */
  readonly order: number;
  /** Of a closed group, the places of the rows that it stands for. */
  readonly members?: readonly number[];
  /** Of a counter, its place among those that are shown, evidence behind the others; its order is no row's. */
  readonly track?: number;
  /** Of calls: the thread's key, and the lane, which is their depth. */
  readonly calls?: { readonly key: number; readonly lane: number };
  /** Whether it stands below the heading of an open group. */
  readonly inGroup?: boolean;
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
  /** Of an open group: its number. */
  readonly group?: number;
}

export interface Layout {
  readonly boxes: readonly Box[];
  readonly headings: readonly Heading[];
  readonly size: number;
  readonly density: Density;
  readonly orientation: Orientation;
  /** Pixels of the pinned rows and of counters, which come first. */
  readonly pinned: number;
}

const KINDS: Readonly<Record<string, string>> = {
  cpu: "CPUs",
  irq: "Interrupts",
  softirq: "Soft interrupts",
  thread: "Threads",
  task: "Threads",
  line: "Lines",
  annotation: "Decoded",
};

/** Rows that belong together: threads of one process, container or name. */
export interface Group {
  /** The lowest id of its rows. */
  readonly id: number;
  readonly name: string;
  /** By their order. */
  readonly members: readonly number[];
  readonly open: boolean;
}

/** Which rows come first, and which are together. Rows by their order. */
export interface Grouping {
  readonly pinned: readonly number[];
  readonly groups: readonly Group[];
  /** Counters that are shown, as rows. */
  readonly tracks: readonly Row[];
  /** Threads whose calls are shown: each beneath its row, others behind all rows. */
  readonly calls?: readonly CallingThread[];
  /** What was read during a run. */
  readonly evidence?: Evidence | null;
}

export const UNGROUPED: Grouping = { pinned: [], groups: [], tracks: [] };

/** The order of what is no row of the source. */
const NO_ORDER = -2;
/** Pixels of a counter, across time. */
const TRACK = { horizontal: 34, vertical: 64 } as const;
/** Rows of evidence that may stand before those of threads. */
const MOST_EVIDENCE = 12;
/** Pixels of a lane of calls, which follow each other closely. */
const LANE = { horizontal: 13, vertical: 18 } as const;
const LANE_GAP = 1;

const SIZES: Readonly<Record<Orientation, Readonly<Record<Density, readonly [number, number]>>>> = {
  horizontal: { compact: [11, 0], normal: [20, 0], events: [20, 15] },
  vertical: { compact: [16, 0], normal: [64, 0], events: [56, 116] },
};
const HEADING = { horizontal: 22, vertical: 18 } as const;
const GAP = 3;

/** Whether nothing but events is known: the trace does not say what ran when. */
export function hasEventsAlone(rows: readonly Row[]): boolean {
  return rows.length > 0 && rows.every(({ kind, busy }) => kind === "cpu" && busy === 0);
}

/**
 * Those rows that `shown` names by their order, under a heading for each kind. Pinned ones come
 * first, whether shown or not; the rows of a group are together, or one box where it is closed.
 */
export function layoutOf(
  rows: readonly Row[],
  shown: readonly number[],
  density: Density,
  orientation: Orientation,
  { pinned, groups, tracks, calls = [], evidence = null }: Grouping = UNGROUPED,
): Layout {
  // Bars of rows in which nothing ran would be blank, whatever happened there.
  const shownAs = hasEventsAlone(rows) ? "events" : density;
  const [bar, lane] = SIZES[orientation][shownAs];
  const boxes: Box[] = [];
  const headings: Heading[] = [];
  let at = 0;
  const head = (text: string, group?: number): void => {
    const size = HEADING[orientation];
    headings.push({ text, from: at, size, ...(group === undefined ? {} : { group }) });
    at += size;
  };
  const add = (row: Row, order: number, more: Pick<Box, "members" | "inGroup"> = {}): void => {
    boxes.push({ row, order, from: at, bar, lane, ...more });
    at += bar + lane + GAP;
    const own = row.kind === "thread" ? waiting.get(row.detail) : undefined;
    if (own === undefined || more.members !== undefined) return;
    waiting.delete(row.detail);
    for (const thread of own) addCalls(thread, true, more);
  };
  /** By the thread's number, calls of each kind. */
  const waiting = new Map<string, readonly CallingThread[]>();
  for (const thread of calls) waiting.set(String(thread.thread), [...(waiting.get(String(thread.thread)) ?? []), thread]);
  const addCalls = (thread: CallingThread, own: boolean, more: Pick<Box, "inGroup"> = {}): void => {
    for (let depth = 0; depth < thread.lanes; depth += 1) {
      const ids = { key: thread.key, lane: depth };
      boxes.push({ row: laneRow(thread, depth, own), order: NO_ORDER, calls: ids, from: at, bar: LANE[orientation], lane: 0, ...more });
      at += LANE[orientation] + LANE_GAP;
    }
    at += GAP;
  };
  const above = new Set(pinned);
  const high = pinned.flatMap((order) => (rows[order] === undefined ? [] : [[rows[order], order] as const]));
  if (high.length > 0) head("Pinned");
  for (const [row, order] of high) add(row, order);
  if (tracks.length > 0) head("Counters");
  const addTrack = (row: Row, track: number): void => {
    boxes.push({ row, order: NO_ORDER, track, from: at, bar: TRACK[orientation], lane: 0 });
    at += TRACK[orientation] + GAP;
  };
  tracks.forEach(addTrack);
  const pinnedSize = at;
  /** Of a run: beside the CPUs that measured it, but behind all rows where there is much of it. */
  let behind = shown.length === rows.length ? evidence : null;
  const addEvidence = (most: number): void => {
    if (behind === null || behind.tracks.length > most) return;
    head(behind.title);
    behind.tracks.forEach((track, order) => { addTrack(evidenceRow(track, order), tracks.length + order); });
    behind = null;
  };
  const known = new Set(calls.length === 0 ? [] : rows.flatMap(({ kind: each, detail }) => (each === "thread" ? [detail] : [])));
  let kind = "";
  for (const part of partsOf(shown.filter((order) => !above.has(order)), groups)) {
    const [first = 0] = part.members;
    const row = rows[first];
    if (row === undefined) continue;
    const name = KINDS[row.kind] ?? row.kind;
    if (name !== kind) {
      if (kind === KINDS["cpu"]) addEvidence(MOST_EVIDENCE);
      kind = name;
      head(name);
    }
    if (part.group === null) add(row, first);
    else if (part.group.open) {
      head(`${part.group.name} · ${part.members.length}`, part.group.id);
      for (const order of part.members) {
        const member = rows[order];
        if (member !== undefined) add(member, order, { inGroup: true });
      }
    } else add(groupRow(part.group, part.members.length), first, { members: part.members });
  }
  // Threads that have no row: the trace does not say what ran when, or they idle.
  const rowless = shown.length < rows.length ? [] : [...waiting.values()].flat().filter(({ thread }) => !known.has(String(thread)));
  for (const [title, its] of [["Functions", "function"], ["User functions", "user function"], ["Tracks", "slice"]] as const) {
    const own = rowless.filter((thread) => thread.kind === its);
    if (own.length > 0) head(title);
    for (const thread of own) addCalls(thread, false);
  }
  addEvidence(Infinity);
  return { boxes, headings, size: at + GAP, density: shownAs, orientation, pinned: pinnedSize };
}

/** Shown rows in their order: each by itself, those of a group together where it is met first. */
function partsOf(
  shown: readonly number[],
  groups: readonly Group[],
): readonly { readonly group: Group | null; readonly members: readonly number[] }[] {
  const groupOf = new Map(groups.flatMap((group) => group.members.map((order) => [order, group] as const)));
  const members = new Map<Group, number[]>();
  for (const order of shown) {
    const group = groupOf.get(order);
    if (group === undefined) continue;
    const own = members.get(group);
    if (own === undefined) members.set(group, [order]);
    else own.push(order);
  }
  return shown.flatMap((order): readonly { readonly group: Group | null; readonly members: readonly number[] }[] => {
    const group = groupOf.get(order);
    const own = group === undefined ? [order] : (members.get(group) ?? []);
    // One alone needs no heading.
    if (group === undefined || own.length === 1) return [{ group: null, members: [order] }];
    return own[0] === order ? [{ group, members: own }] : [];
  });
}

/** The row that stands for a closed group. */
function groupRow({ id, name }: Group, members: number): Row {
  return {
    id: -1 - id, kind: "group", name, detail: String(members), cpu: null, actor: null, busy: null, instances: null,
  };
}

/** The box in which a row is: its own, or that of its closed group. */
export function boxOfRow({ boxes }: Layout, order: number): Box | null {
  if (order < 0) return null;
  return boxes.find((box) => box.members?.includes(order) ?? box.order === order) ?? null;
}

/** So much of what is seen may CPUs take that stay in sight, and so much rows that were pinned. */
const MOST_HELD = 0.4;
const MOST_PINNED = 0.7;

/**
 * Pixels of the pinned rows and of those of CPUs, which stay in sight; of the pinned alone, or none,
 * where they would leave too little of `room`.
 */
export function heldSize({ boxes, pinned }: Layout, room: number): number {
  const behind = boxes.findIndex(({ row, from }) => from >= pinned && row.kind !== "cpu");
  const next = behind < 0 ? undefined : boxes[behind - 1];
  const size = next === undefined ? 0 : next.from + next.bar + next.lane + GAP;
  if (size <= Math.max(room * MOST_HELD, pinned === size ? room * MOST_PINNED : 0)) return size;
  return pinned <= room * MOST_PINNED ? pinned : 0;
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

/** The heading at a place. */
export function headingAt({ headings }: Layout, at: number): Heading | null {
  return headings.find(({ from, size }) => at >= from && at < from + size) ?? null;
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
