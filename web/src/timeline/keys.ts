/** What a key does on a timeline, and how help names it. */
export type KeyAct =
  | "zoom-in"
  | "zoom-out"
  | "earlier"
  | "later"
  | "row-up"
  | "row-down"
  | "whole"
  | "begin"
  | "end"
  | "previous"
  | "next"
  | "open"
  | "mark"
  | "clear"
  | "turn"
  | "density"
  | "pin"
  | "note"
  | "group"
  | "groups";

export interface Key {
  readonly keys: readonly string[];
  readonly act: KeyAct;
  readonly help: string;
}

export const KEYS: readonly Key[] = [
  { keys: ["w", "+", "="], act: "zoom-in", help: "zoom in around the pointer, else the chosen item" },
  { keys: ["s", "-"], act: "zoom-out", help: "zoom out" },
  { keys: ["a", "ArrowLeft"], act: "earlier", help: "move to earlier times" },
  { keys: ["d", "ArrowRight"], act: "later", help: "move to later times" },
  { keys: ["ArrowUp"], act: "row-up", help: "choose in the row before" },
  { keys: ["ArrowDown"], act: "row-down", help: "choose in the row after" },
  { keys: [",", "["], act: "previous", help: "choose the item before in this row" },
  { keys: [".", "]"], act: "next", help: "choose the item after it in this row" },
  { keys: ["Enter", "f"], act: "open", help: "show the chosen item, or range, in full width" },
  { keys: ["m"], act: "mark", help: "filter all views to the chosen item, else to what is shown" },
  { keys: ["0"], act: "whole", help: "show the whole trace" },
  { keys: ["Home"], act: "begin", help: "go to the begin" },
  { keys: ["End"], act: "end", help: "go to the end" },
  { keys: ["v"], act: "turn", help: "turn the timeline: time runs to the right, or down" },
  { keys: ["e"], act: "density", help: "rows narrow, wide, or with the names of events" },
  { keys: ["p"], act: "pin", help: "pin the row on top, or unpin it" },
  { keys: ["n"], act: "note", help: "write a note on the range, else on what is pointed at or chosen" },
  { keys: ["g"], act: "group", help: "open or close the group of threads" },
  { keys: ["o"], act: "groups", help: "open or close all groups" },
  { keys: ["Escape"], act: "clear", help: "choose nothing, take the filter away" },
];

/** What a key press means here; null when it is not for the timeline. */
export function actOf(event: KeyboardEvent): KeyAct | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return KEYS.find(({ keys }) => keys.includes(key))?.act ?? null;
}
