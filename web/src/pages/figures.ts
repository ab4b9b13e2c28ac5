// The charts of the report on a page of the workbench: fills all slots with what the island holds.

import { parseDocument } from "../base/document";
import { fill } from "../filling";

/** Fills the slots of the whole page; the island itself shows nothing. */
export function start(element: HTMLElement, data: unknown): void {
  const parsed = parseDocument(JSON.stringify(data));
  if (!parsed.ok) throw new Error(parsed.error);
  fill(element.ownerDocument, parsed.value);
  element.hidden = true;
}
