// The workspace of a trace, or of two beside each other.

import { startWorkspace } from "../workspace/workspace";

/** `data` names the traces by their keys. */
export async function start(element: HTMLElement, data: unknown): Promise<void> {
  const { keys } = data as { keys: readonly string[] };
  await startWorkspace(element, keys);
}
