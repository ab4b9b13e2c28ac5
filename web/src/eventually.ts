import { vi } from "vitest";

// What comes is waited for by itself, on a machine however slow; what never comes fails at last.
const PATIENCE = { timeout: 300_000, interval: 10 };

/** For tests: waits until `check` no longer throws; its last error where it always does. */
export const eventually = (check: () => void): Promise<void> => vi.waitFor(check, PATIENCE);
