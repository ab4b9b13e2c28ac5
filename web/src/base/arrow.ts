import { tableFromIPC } from "@uwdata/flechette";

import { failed, okay, type Result } from "./result";

/** Columns of an answer as typed arrays, by name. */
export interface Columns {
  readonly length: number;
  /** What the server says of all of it. */
  readonly metadata: ReadonlyMap<string, string>;
  has(name: string): boolean;
  /** A column, converted when the server's type is not the one that is wanted. */
  get<T extends TypedArray>(name: string, type: TypedArrayType<T>): T;
}

type TypedArray = Float64Array | Float32Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;

interface TypedArrayType<T> {
  new (length: number): T;
  from(values: ArrayLike<number>): T;
}

/** Reads an Arrow IPC stream; numbers of 64 bits become floats, as none of ours is above 2^53. */
export function readArrow(bytes: ArrayBuffer, wanted: readonly string[]): Result<Columns> {
  try {
    const table = tableFromIPC(bytes);
    const missing = wanted.filter((name) => !table.names.includes(name));
    if (missing.length > 0) return failed(`the answer has no column ${missing.join(", ")}`);
    return okay({
      length: table.numRows,
      metadata: table.schema.metadata ?? new Map<string, string>(),
      has: (name) => table.names.includes(name),
      get<T extends TypedArray>(name: string, type: TypedArrayType<T>): T {
        const values: unknown = table.getChild(name).toArray();
        // Without rows there is no batch, and then no typed array either.
        if (table.numRows === 0) return new type(0);
        return values instanceof type ? values : type.from(values as ArrayLike<number>);
      },
    });
  } catch (error) {
    return failed(`the answer is not Arrow: ${String(error)}`);
  }
}
