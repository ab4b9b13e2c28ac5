/** What a boundary returns instead of throwing: a value, or the reason why there is none. */
export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: string };

export const okay = <T>(value: T): Result<T> => ({ ok: true, value });

export const failed = <T>(error: string): Result<T> => ({ ok: false, error });
