import { ArraySource, type RowItems, type RowMarks } from "./array-source";
import type { Items, Row } from "./source";
import { traceLook } from "./trace-look";

/** Sources for tests: the same at each run. */

export const STATES = ["running", "runnable", "sleeping", "idle"];

/** Numbers from 0 to 1 that look random. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function row(id: number, kind = "thread", name = `task ${id}`): Row {
  return {
    id,
    kind,
    name,
    detail: String(1000 + id),
    cpu: kind === "cpu" ? id : null,
    actor: kind === "cpu" ? null : id,
    busy: 0,
    instances: 0,
  };
}

/** Items of a row over a duration: now running, now sleeping. */
export function rowItems(seed: number, duration: number, count: number): RowItems {
  const next = numbers(seed);
  const begin = new Float64Array(count);
  const end = new Float64Array(count);
  const state = new Uint8Array(count);
  const step = duration / count;
  for (let at = 0; at < count; at += 1) {
    begin[at] = Math.floor(at * step);
    end[at] = Math.min(Math.floor(at * step + step * next()) + 1, Math.floor((at + 1) * step));
    state[at] = next() > 0.3 ? 0 : 2;
  }
  return { begin, end, actor: seed, state };
}

export function source(rows: number, duration: number, count: number): ArraySource {
  const all = Array.from({ length: rows }, (_, id) => row(id, id === 0 ? "cpu" : "thread"));
  const held = new Map(all.map(({ id }) => [id, rowItems(id, duration, count)]));
  const marks = new Map<number, RowMarks>([
    [0, { time: Float64Array.of(0, 5, duration / 2), event: Uint16Array.of(0, 1, 0) }],
  ]);
  const look = traceLook(all, STATES, ["sched_switch", "sched_wakeup"]);
  return new ArraySource("generated", duration, all, look, held, marks, [
    { begin: duration / 4, end: duration / 4 + 10, cpu: 0, count: null, kind: "events" },
  ]);
}

/** Columns of items of one row: [begin, end, state, count] each. */
export function items(...each: readonly (readonly [number, number, number, number])[]): Items {
  return {
    length: each.length,
    row: Uint32Array.from(each, () => 1),
    begin: Float64Array.from(each, ([begin]) => begin),
    end: Float64Array.from(each, ([, end]) => end),
    actor: Int32Array.from(each, () => 1),
    state: Uint8Array.from(each, ([, , state]) => state),
    count: Uint32Array.from(each, ([, , , count]) => count),
    ran: Float64Array.from(each, ([begin, end]) => end - begin),
  };
}
