import { failed, okay, type Result } from "../base/result";
import { ServerSource } from "../timeline/server-source";
import type { Row } from "../timeline/source";
import { traceLook } from "../timeline/trace-look";
import type { TraceInfo } from "./panel";

/** A trace as the workspace has it before anything is chosen. */
export interface OpenTrace {
  readonly key: string;
  readonly api: string;
  readonly info: TraceInfo;
  readonly source: ServerSource;
  readonly rowOf: (actor: number) => Row | null;
}

/** Asks the server for what a trace is and which rows it has. */
export async function openTrace(key: string): Promise<Result<OpenTrace>> {
  const api = `/api/traces/${encodeURIComponent(key)}`;
  const opened = await ServerSource.open(api, readInfo, (info, rows) =>
    traceLook(rows, info.states, info.event_types, info.idle_actors),
  );
  if (!opened.ok) return opened;
  const { info, source } = opened.value;
  const byActor = new Map<number, Row>();
  for (const row of source.rows) {
    // Of a handler that ran on several CPUs, the first row, which is the busiest.
    if (row.actor !== null && !byActor.has(row.actor)) byActor.set(row.actor, row);
  }
  return okay({
    key,
    api,
    info,
    source,
    rowOf: (actor) => byActor.get(actor) ?? null,
  });
}

function readInfo(told: unknown): Result<TraceInfo> {
  const info = told as TraceInfo;
  return typeof info.duration === "number" && Array.isArray(info.states)
    ? okay(info)
    : failed("the server tells nothing of this trace: is the page older than the server?");
}
