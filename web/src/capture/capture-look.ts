import type { Look, StateLook } from "../timeline/source";

const LEVEL = { paint: "line", rank: 1, labelled: false } as const;
const DECODED = { bands: 7, faint: 0, rank: 2, labelled: true } as const;

/** How levels and what was decoded look; a high level is filled faintly beneath its line. */
const LOOKS: Readonly<Record<string, Omit<StateLook, "name">>> = {
  low: { ...LEVEL, bands: 4, faint: 0 },
  high: { ...LEVEL, bands: 1, faint: 6 },
  changes: { ...LEVEL, bands: 7, faint: 0, labelled: false },
  decoded: { ...DECODED, paint: "actor" },
  several: { ...DECODED, bands: 0, faint: 7, paint: "actor" },
  fault: { ...DECODED, paint: "warning" },
};

const UNKNOWN = { bands: 2, faint: 0, paint: "muted", rank: 1, labelled: false } as const;

/** The number of no text. */
const NOBODY = -1;

/** The look of a capture; states, marks and texts in the order of their numbers. */
export function captureLook(
  states: readonly string[],
  marks: readonly string[],
  texts: readonly string[],
): Look {
  const textOf = (actor: number): string => (actor === NOBODY ? "" : (texts[actor] ?? "…"));
  return {
    states: states.map((name) => ({ ...(LOOKS[name] ?? UNKNOWN), name })),
    actorName: textOf,
    // One colour for all that decoders say: the text tells, not the colour.
    actorKind: () => "decoded",
    eventName: (event) => marks[event] ?? `mark ${event}`,
    label: (_row, actor, _state, _length, exact) => (exact ? textOf(actor) : ""),
  };
}
