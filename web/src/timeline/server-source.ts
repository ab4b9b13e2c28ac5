import { askBytes, askJson } from "../base/answers";
import { type Columns, readArrow } from "../base/arrow";
import { failed, okay, type Result } from "../base/result";
import type { Items, Loss, Look, Marks, Overview, Row, Source } from "./source";
import type { Span } from "./span";
import { numberRuns } from "./tiles";

/** A trace on the server, by the address of its answers: `/api/traces/KEY`. */
export class ServerSource implements Source {
  private constructor(
    private readonly address: string,
    /** What the trace's contents are known by: the browser may keep an answer as long as it is so. */
    private readonly tag: string,
    readonly name: string,
    readonly duration: number,
    readonly rows: readonly Row[],
    readonly losses: readonly Loss[],
    readonly look: Look,
  ) {}

  /** Asks for what does not change, all at once; `look` is made of what the trace is, and of the rows. */
  static async open<Told extends { name: string; duration: number; tag: string }>(
    address: string,
    read: (info: unknown) => Result<Told>,
    look: (info: Told, rows: readonly Row[]) => Look,
  ): Promise<Result<{ info: Told; source: ServerSource }>> {
    const [told, rows, losses] = await Promise.all(
      ["info", "rows", "losses"].map((what) => askJson(`${address}/${what}`)),
    ) as [Result<unknown>, Result<unknown>, Result<unknown>];
    if (!told.ok) return told;
    const info = read(told.value);
    if (!info.ok) return info;
    if (!rows.ok) return rows;
    if (!losses.ok) return losses;
    const all = readRows(listOf(rows.value));
    if (all.length === 0) return failed("this trace holds no events");
    const lost = readLosses(listOf(losses.value));
    const { tag, name, duration } = info.value;
    const source = new ServerSource(address, tag, name, duration, all, lost, look(info.value, all));
    return okay({ info: info.value, source });
  }

  /** The same trace with its rows in another order; none may be missing. */
  inOrder(rows: readonly Row[]): ServerSource {
    return new ServerSource(this.address, this.tag, this.name, this.duration, rows, this.losses, this.look);
  }

  async items(
    span: Span,
    buckets: number,
    rows: readonly number[],
    signal: AbortSignal,
  ): Promise<Items> {
    const columns = await this.columns(
      `levels?${part(span, buckets)}&rows=${numberRuns(rows)}`,
      ["row", "begin", "end", "actor", "state", "count", "ran"],
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
      ran: columns.get("ran", Float64Array),
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
    const columns = await this.columns(`overview?width=${buckets}`, ["events"], signal);
    const lanes: Float32Array[] = [];
    while (columns.has(`cpu${lanes.length}`)) {
      lanes.push(columns.get(`cpu${lanes.length}`, Float32Array));
    }
    return { lanes, events: columns.get("events", Float64Array) };
  }

  private async columns(
    question: string,
    wanted: readonly string[],
    signal: AbortSignal,
  ): Promise<Columns> {
    const bytes = await askBytes(`${this.address}/${question}&v=${this.tag}`, signal);
    if (!bytes.ok) throw new Error(bytes.error);
    const columns = readArrow(bytes.value, wanted);
    if (!columns.ok) throw new Error(columns.error);
    return columns.value;
  }
}

const part = ({ begin, end }: Span, buckets: number): string =>
  `begin=${begin}&end=${end}&width=${buckets}`;

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? (value as Record<string, unknown>[]) : [];
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
    detail: detailOf(row["kind"], row["tid"], row["cpu"]),
    ...(typeof row["process"] === "number" ? { process: row["process"] } : {}),
    ...(typeof row["container"] === "string" ? { container: row["container"] } : {}),
    cpu: numberOr(row["cpu"], null),
    actor: numberOr(row["actor"], null),
    ...seenOf(row["first"], row["last"]),
    busy: numberOr(row["busy"], null),
    instances: numberOr(row["instances"], null),
  }));
}

/** Threads of one name differ by their numbers, handlers by where they ran. */
function detailOf(kind: unknown, tid: unknown, cpu: unknown): string {
  if (typeof tid === "number") return String(tid);
  return kind !== "cpu" && typeof cpu === "number" ? `CPU ${cpu}` : "";
}

const seenOf = (first: unknown, last: unknown): { seen?: Span } =>
  typeof first === "number" && typeof last === "number" ? { seen: { begin: first, end: last } } : {};

function readLosses(list: readonly Readonly<Record<string, unknown>>[]): Loss[] {
  return list.map((loss) => ({
    begin: numberOr(loss["begin"], 0),
    end: numberOr(loss["end"], 0),
    cpu: numberOr(loss["cpu"], null),
    count: numberOr(loss["count"], null),
    kind: textOr(loss["kind"], "events"),
  }));
}
