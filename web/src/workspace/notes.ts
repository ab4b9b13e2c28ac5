import { askJson, csrfHeader, errorOf } from "../base/answers";
import { failed, okay, type Result } from "../base/result";
import type { Flag } from "../timeline/flags";
import type { Row } from "../timeline/source";
import type { Noted } from "../timeline/pointing";

/** A note on a trace, as the server keeps it: on a moment (its end is its begin) or a span, in ns. */
export interface Note {
  readonly id: string;
  readonly begin: number;
  readonly end: number;
  /** The row that it is about, by `rowKey`; empty for all of them. */
  readonly row: string;
  readonly text: string;
  /** Who wrote it last, and when (ISO 8601). */
  readonly author: string;
  readonly written: string;
  /** Counts its texts: who changes a note says which of them they have read. */
  readonly revision: number;
}

/** A note that is being written. */
export interface Draft {
  readonly begin: number;
  readonly end: number;
  /** The row that it will be about, by its id; null is all of them. */
  row: number | null;
  text: string;
  /** The note that it changes; null for a new one. */
  readonly of: Note | null;
}

/** What is told of a row on the server, where its number may be another one tomorrow. */
export const rowKey = ({ kind, name, detail }: Row): string => `${kind} ${detail} ${name}`.slice(0, 300);

/** The notes on one trace: asked for once, and again with each change. */
export class NoteBook {
  notes: readonly Note[] = [];
  /** Why there are none. */
  error: string | null = null;
  draft: Draft | null = null;
  private readonly listeners = new Set<() => void>();
  private readonly byKey: ReadonlyMap<string, Row>;

  /** `address` is where the notes are: `/traces/KEY/notes`. */
  constructor(private readonly address: string, rows: readonly Row[]) {
    this.byKey = new Map(rows.map((row) => [rowKey(row), row]));
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => { this.listeners.delete(listener); };
  }

  async load(signal?: AbortSignal): Promise<void> {
    const answer = await askJson(`${this.address}.json`, signal);
    if (signal?.aborted === true) return;
    this.take(answer.ok ? read(answer.value) : answer);
  }

  /** Begins a note, or to change one. */
  write(about: Noted, of: Note | null = null): void {
    this.draft = { begin: about.begin, end: about.end, row: about.row, text: of?.text ?? "", of };
    this.tell();
  }

  drop(): void {
    this.draft = null;
    this.tell();
  }

  /** Keeps the draft; what is wrong with it, or null. */
  async keep(rows: readonly Row[]): Promise<string | null> {
    const { draft } = this;
    if (draft === null) return null;
    const { begin, end, text, of } = draft;
    const row = rows.find(({ id }) => id === draft.row);
    const note = { begin, end, text, row: row === undefined ? "" : rowKey(row), ...(of === null ? {} : { revision: of.revision }) };
    const fault = await this.post(of === null ? "" : `/${of.id}`, note);
    if (fault === null && this.draft === draft) this.drop();
    return fault;
  }

  remove({ id }: Note): Promise<string | null> {
    return this.post(`/${id}/delete`, {});
  }

  /** The row that a note is about; null for all of them, and for one that this timeline has not. */
  rowOf({ row }: Note): Row | null {
    return this.byKey.get(row) ?? null;
  }

  flags(chosen: string | null): Flag[] {
    return this.notes.map((note) => ({
      id: note.id, begin: note.begin, end: note.end, row: this.rowOf(note)?.id ?? null, text: note.text,
      chosen: note.id === chosen,
    }));
  }

  private async post(where: string, content: object): Promise<string | null> {
    let told: Result<readonly Note[]>;
    try {
      const answer = await fetch(this.address + where, {
        method: "POST",
        headers: { Accept: "application/json", "Content-Type": "application/json", ...csrfHeader(document) },
        body: JSON.stringify(content),
      });
      told = answer.ok ? read(await answer.json()) : failed(await errorOf(answer));
    } catch (error) {
      told = failed(`the server does not answer (${String(error)}): is it still running?`);
    }
    if (!told.ok) return told.error;
    this.take(told);
    return null;
  }

  private take(answer: Result<readonly Note[]>): void {
    this.error = answer.ok ? null : answer.error;
    if (answer.ok) this.notes = answer.value;
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

function read(answer: unknown): Result<readonly Note[]> {
  const notes = (answer as { data?: { notes?: unknown } }).data?.notes;
  return Array.isArray(notes) ? okay(notes as Note[]) : failed("the server tells no notes: is the page older than the server?");
}
