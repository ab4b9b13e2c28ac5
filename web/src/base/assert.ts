/** The value, or an error that says what was expected: for what the code itself guarantees. */
export function assertExists<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`missing: ${what}`);
  return value;
}
