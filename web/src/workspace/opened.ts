import { askJson } from "../base/answers";
import { failed, okay, type Result } from "../base/result";
import { ServerSource } from "../timeline/server-source";
import type { Row } from "../timeline/source";
import { traceLook } from "../timeline/trace-look";
import type { TraceInfo } from "./panel";

/** A trace as the workspace has it before anything is chosen. */
export interface OpenTrace {
  readonly api: string;
  readonly info: TraceInfo;
  readonly source: ServerSource;
  readonly rowOf: (actor: number) => Row | null;
}

/** Asks the server for what a trace is and which rows it has. */
export async function openTrace(key: string): Promise<Result<OpenTrace>> {
  const api = `/api/traces/${encodeURIComponent(key)}`;
  const told = await askJson(`${api}/info`);
  if (!told.ok) return told;
  const info = told.value as TraceInfo;
  if (typeof info.duration !== "number" || !Array.isArray(info.states)) {
    return failed("the server tells nothing of this trace: is the page older than the server?");
  }
  const source = await ServerSource.open(api, info, (rows) =>
    traceLook(rows, info.states, info.event_types),
  );
  if (!source.ok) return source;
  const byActor = new Map<number, Row>();
  for (const row of source.value.rows) {
    // Of a handler that ran on several CPUs, the first row, which is the busiest.
    if (row.actor !== null && !byActor.has(row.actor)) byActor.set(row.actor, row);
  }
  return okay({
    api,
    info,
    source: source.value,
    rowOf: (actor) => byActor.get(actor) ?? null,
  });
}
