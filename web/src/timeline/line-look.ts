import type { Look, Row, StateLook } from "./source";

/** Numbers of the states of lines in a capture. */
export const LINE_STATE = { low: 0, high: 1, unknown: 2, text: 3 } as const;

const STATES: readonly StateLook[] = [
  { name: "low", bands: 4, faint: 0, paint: "line", rank: 1, labelled: false },
  { name: "high", bands: 1, faint: 6, paint: "line", rank: 1, labelled: false },
  { name: "not known", bands: 0, faint: 2, paint: "muted", rank: 1, labelled: false },
  { name: "", bands: 7, faint: 0, paint: "actor", rank: 2, labelled: true },
];

/** The look of a capture: digital lines, and annotations whose actor is a place in `texts`. */
export function lineLook(texts: readonly string[], kind: (text: number) => string = () => "line"): Look {
  const textOf = (text: number): string => texts[text] ?? "";
  return {
    states: STATES,
    actorName: textOf,
    actorKind: kind,
    eventName: (event) => texts[event] ?? "",
    label: (_row: Row, actor: number) => textOf(actor),
  };
}
