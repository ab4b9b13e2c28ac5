import type { Group, Grouping } from "../timeline/layout";
import type { Row } from "../timeline/source";
import { type Track, trackRow } from "../timeline/tracks";

/** By what threads are put together. */
export type GroupedBy = "process" | "container" | "name" | "none";

/** The words of the address for all groups. */
export const ALL_GROUPS = "all";

/** What the rows of traces may be grouped by, the best first: only what puts any two of a trace together. */
export function groupings(...traces: readonly (readonly Row[])[]): readonly GroupedBy[] {
  const useful = (["process", "container", "name"] as const).filter((by) =>
    traces.some((rows) => membersBy(rows, by).some(([, members]) => members.length > 1)));
  return [...useful, "none"];
}

/** What threads are grouped by where nothing is said: their processes, as far as these are known. */
export function usualGrouping(...traces: readonly (readonly Row[])[]): GroupedBy {
  return groupings(...traces)[0] === "process" ? "process" : "none";
}

/**
 * Rows with those of a group one behind the other, so that they are asked for together; the group
 * that was busiest first, as single rows are.
 */
export function inGroups(rows: readonly Row[], by: GroupedBy): readonly Row[] {
  if (by === "none") return rows;
  const busy = (members: readonly number[]): number =>
    members.reduce((sum, order) => sum + (rows[order]?.busy ?? 0), 0);
  const groups = membersBy(rows, by).map(([, members]) => ({ members, busy: busy(members) }));
  const others = rows.filter(({ kind }) => kind !== "thread");
  groups.sort((a, b) => b.busy - a.busy || (a.members[0] ?? 0) - (b.members[0] ?? 0));
  return [...others, ...groups.flatMap(({ members }) => members.flatMap((order) => rows[order] ?? []))];
}

/** Which rows stand first and together: `pinned` are ids of rows, `open` numbers of groups, or all. */
export function groupingOf(
  rows: readonly Row[],
  by: GroupedBy,
  pinned: readonly number[],
  open: readonly number[] | typeof ALL_GROUPS,
  tracks: readonly Track[] = [],
): Grouping {
  const orders = new Map(rows.map(({ id }, order) => [id, order]));
  const groups = by === "none" ? [] : membersBy(rows, by).flatMap(([key, members]): Group[] => {
    if (members.length < 2) return [];
    const id = members.reduce((least, order) => Math.min(least, rows[order]?.id ?? least), Infinity);
    const name = nameOf(rows, key, members, by);
    return [{ id, name, members, open: open === ALL_GROUPS || open.includes(id) }];
  });
  return { pinned: pinned.flatMap((id) => orders.get(id) ?? []), groups, tracks: tracks.map(trackRow) };
}

/** The orders of threads by what they share; a thread that shares nothing is alone. */
function membersBy(rows: readonly Row[], by: Exclude<GroupedBy, "none">): readonly (readonly [string, readonly number[]])[] {
  const groups = new Map<string, number[]>();
  rows.forEach((row, order) => {
    if (row.kind !== "thread") return;
    const key = keyOf(row, by) ?? `\0${row.id}`;
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [order]);
    else members.push(order);
  });
  return [...groups];
}

function keyOf({ process, container, name }: Row, by: Exclude<GroupedBy, "none">): string | null {
  if (by === "process") return process === undefined ? null : String(process);
  if (by === "container") return container ?? null;
  return baseName(name);
}

/** A name without the numbers of its end: all workers of a kind have one. */
export const baseName = (name: string): string => name.replace(/[\d:/_.+-]+[a-z]?$/i, "") || name;

function nameOf(
  rows: readonly Row[],
  key: string,
  members: readonly number[],
  by: Exclude<GroupedBy, "none">,
): string {
  if (by !== "process") return key;
  // The first thread of a process has its number.
  const main = members.find((order) => rows[order]?.detail === key) ?? members[0] ?? 0;
  return `${rows[main]?.name ?? ""} ${key}`.trim();
}
