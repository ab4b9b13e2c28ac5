import type { Look, Row, StateLook } from "./source";
import { formatLength } from "./time-format";

const ACTIVE = { bands: 7, faint: 0, paint: "actor", labelled: true } as const;

/** How states of threads and CPUs look. What runs is full; what waits for a CPU is faint. */
const LOOKS: Readonly<Record<string, Omit<StateLook, "name">>> = {
  running: { ...ACTIVE, rank: 5 },
  irq: { ...ACTIVE, rank: 6 },
  softirq: { ...ACTIVE, rank: 6 },
  runnable: { bands: 0, faint: 7, paint: "actor", rank: 3, labelled: false },
  preempted: { bands: 4, faint: 3, paint: "actor", rank: 4, labelled: false },
  uninterruptible: { bands: 0, faint: 6, paint: "warning", rank: 2, labelled: false },
  sleeping: { bands: 0, faint: 4, paint: "muted", rank: 1, labelled: false },
  stopped: { bands: 0, faint: 4, paint: "muted", rank: 1, labelled: false },
  idle: { bands: 0, faint: 0, paint: "muted", rank: 0, labelled: false },
};

const UNKNOWN = { bands: 2, faint: 0, paint: "muted", rank: 1, labelled: false } as const;

/**
 * The look of a trace; names of states and events in the order of their numbers, `idle` those of
 * the CPUs' idle actors, which have no row, by the actors' numbers.
 */
export function traceLook(
  rows: readonly Row[],
  states: readonly string[],
  events: readonly string[],
  idle: Readonly<Record<string, string>> = {},
): Look {
  const byActor = new Map<number, Row>();
  for (const row of rows) if (row.actor !== null) byActor.set(row.actor, row);
  const looks = states.map((name) => ({ ...(LOOKS[name] ?? UNKNOWN), name }));
  const actorName = (actor: number): string => byActor.get(actor)?.name ?? idle[actor] ?? `actor ${actor}`;
  return {
    states: looks,
    actorName,
    actorKind: (actor) => byActor.get(actor)?.kind ?? "thread",
    eventName: (event) => events[event] ?? `event ${event}`,
    label: (row, actor, _state, length, exact) => {
      // The row of one actor says already who it is.
      const who = row.actor === null ? actorName(actor) : "";
      return [who, exact ? formatLength(length) : ""];
    },
  };
}
