// The timeline of a capture.

import { startCapture } from "../capture/capture";

/** `data` says where the capture's answers are. */
export async function start(element: HTMLElement, data: unknown): Promise<void> {
  const { api } = data as { api: string };
  await startCapture(element, api);
}
