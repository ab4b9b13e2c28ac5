import { askBytes, askJson } from "../base/answers";
import { type Columns, readArrow } from "../base/arrow";
import { failed, okay, type Result } from "../base/result";
import type { Items, Loss, Look, Marks, Overview, Row, Source } from "./source";
import type { Span } from "./span";
import { numberRuns } from "./tiles";

/** What the server writes where an event's CPU is not known. */
const NO_CPU = 65_535;

/** A trace on the server, by the address of its answers: `/api/traces/KEY`. */
export class ServerSource implements Source {
  private constructor(
    private readonly address: string,
    readonly name: string,
    readonly duration: number,
    readonly rows: readonly Row[],
    readonly losses: readonly Loss[],
    readonly look: Look,
  ) {}

  /** Asks for what does not change; `look` is made of the rows. */
  static async open(
    address: string,
    name: string,
    duration: number,
    look: (rows: readonly Row[]) => Look,
  ): Promise<Result<ServerSource>> {
    const [rows, losses] = await Promise.all([
      askJson(`${address}/rows`),
      askJson(`${address}/losses`),
    ]);
    if (!rows.ok) return rows;
    if (!losses.ok) return losses;
    const read = readRows(listIn(rows.value, "rows"));
    if (read.length === 0) return failed("there is nothing to show on a time line in this trace");
    const lost = readLosses(listIn(losses.value, "losses"));
    return okay(new ServerSource(address, name, duration, read, lost, look(read)));
  }

  async items(
    span: Span,
    buckets: number,
    rows: readonly number[],
    signal: AbortSignal,
  ): Promise<Items> {
    const columns = await this.columns(
      `levels?${part(span, buckets)}&rows=${numberRuns(rows)}`,
      ["row", "begin", "end", "actor", "state", "count"],
      signal,
    );
    return {
      length: columns.length,
      row: columns.get("row", Uint32Array),
      begin: columns.get("begin", Float64Array),
      end: columns.get("end", Float64Array),
      actor: columns.get("actor", Int32Array),
      state: columns.get("state", Uint8Array),
      count: columns.get("count", Uint32Array),
    };
  }

  async marks(
    span: Span,
    buckets: number,
    rows: readonly number[],
    signal: AbortSignal,
  ): Promise<Marks> {
    const columns = await this.columns(
      `events?${part(span, buckets)}&rows=${numberRuns(rows)}`,
      ["row", "time", "event", "count", "index"],
      signal,
    );
    return {
      length: columns.length,
      row: columns.get("row", Uint32Array),
      time: columns.get("time", Float64Array),
      event: columns.get("event", Uint16Array),
      count: columns.get("count", Uint32Array),
      index: columns.get("index", Float64Array),
    };
  }

  async overview(buckets: number, signal: AbortSignal): Promise<Overview> {
    const wanted = ["cpu", "begin", "busy", "events"];
    const columns = await this.columns(`overview?width=${buckets}`, wanted, signal);
    const cpu = columns.get("cpu", Uint16Array);
    const begin = columns.get("begin", Float64Array);
    const busy = columns.get("busy", Float32Array);
    const seen = columns.get("events", Float64Array);
    const lanes = new Map<number, Float32Array>();
    const events = new Float64Array(buckets);
    for (let at = 0; at < columns.length; at += 1) {
      const bucket = Math.floor(((begin[at] ?? 0) / Math.max(this.duration, 1)) * buckets);
      const into = Math.min(Math.max(bucket, 0), buckets - 1);
      events[into] = (events[into] ?? 0) + (seen[at] ?? 0);
      if ((cpu[at] ?? NO_CPU) === NO_CPU) continue;
      const lane = lanes.get(cpu[at] ?? 0) ?? new Float32Array(buckets);
      lane[into] = busy[at] ?? 0;
      lanes.set(cpu[at] ?? 0, lane);
    }
    return { lanes: [...lanes.values()], events };
  }

  private async columns(
    question: string,
    wanted: readonly string[],
    signal: AbortSignal,
  ): Promise<Columns> {
    const bytes = await askBytes(`${this.address}/${question}`, signal);
    if (!bytes.ok) throw new Error(bytes.error);
    const columns = readArrow(bytes.value, wanted);
    if (!columns.ok) throw new Error(columns.error);
    return columns.value;
  }
}

const part = ({ begin, end }: Span, buckets: number): string =>
  `begin=${begin}&end=${end}&width=${buckets}`;

/** A list, by itself or under a name. */
function listIn(value: unknown, name: string): readonly Readonly<Record<string, unknown>>[] {
  const list = Array.isArray(value) ? value : (value as Record<string, unknown> | null)?.[name];
  return Array.isArray(list) ? (list as Record<string, unknown>[]) : [];
}

const numberOr = <T>(value: unknown, otherwise: T): number | T =>
  typeof value === "number" ? value : otherwise;

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === "string" ? value : otherwise;

function readRows(list: readonly Readonly<Record<string, unknown>>[]): Row[] {
  return list.map((row, at) => ({
    id: numberOr(row["id"], at),
    kind: textOr(row["kind"], "other"),
    name: textOr(row["name"], `row ${at}`),
    detail: typeof row["tid"] === "number" ? String(row["tid"]) : "",
    cpu: row["kind"] === "cpu" ? numberOr(row["cpu"], null) : null,
    actor: numberOr(row["actor"], null),
    busy: numberOr(row["busy"], null),
    instances: numberOr(row["instances"], null),
  }));
}

function readLosses(list: readonly Readonly<Record<string, unknown>>[]): Loss[] {
  return list.map((loss) => ({
    begin: numberOr(loss["begin"], 0),
    end: numberOr(loss["end"], 0),
    cpu: numberOr(loss["cpu"], null),
    count: numberOr(loss["count"], null),
    kind: textOr(loss["kind"], "events"),
  }));
}
