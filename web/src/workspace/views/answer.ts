import { askBytes, askJson } from "../../base/answers";
import { type Columns, readArrow } from "../../base/arrow";
import type { Result } from "../../base/result";
import type { Span } from "../../timeline/span";
import type { Workspace } from "../panel";
import { make } from "./elements";

const SETTLE_MS = 120;

/** Words of a question; what is null is not said. */
export type Words = Readonly<Record<string, string | number | boolean | null>>;

/** The address of a view's answer, for the chosen range. */
export function address(
  workspace: Workspace,
  view: string,
  words: Words,
  range: Span | null = workspace.selection.value.range,
): string {
  return questionOf(workspace.api, view, words, range);
}

/** The same by where the answers of a trace are. */
export function questionOf(api: string, view: string, words: Words, range: Span | null): string {
  const query = new URLSearchParams();
  const all: Words = { begin: range?.begin ?? null, end: range?.end ?? null, ...words };
  for (const [name, value] of Object.entries(all)) {
    if (value === null || value === "" || value === false) continue;
    query.set(name, value === true ? "1" : String(value));
  }
  const text = query.toString();
  return `${api}/${view}${text === "" ? "" : `?${text}`}`;
}

/** A JSON answer, whose shape is the server's word. */
export async function askDocument<T>(where: string, signal: AbortSignal): Promise<Result<T>> {
  return (await askJson(where, signal)) as Result<T>;
}

export async function columns(
  where: string,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<Result<Columns>> {
  const bytes = await askBytes(where, signal);
  return bytes.ok ? readArrow(bytes.value, wanted) : bytes;
}

/**
 * Keeps what a view shows up to date: asks again when told to, once things have settled, and
 * forgets answers that are no longer wanted. The old answer stays, faint, until the new one is
 * there; an error takes its place.
 */
export class Answer<T> {
  private controller: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly host: HTMLElement,
    private readonly ask: (signal: AbortSignal) => Promise<Result<T>> | null,
    private readonly show: (answer: T) => void,
  ) {}

  /** Asks soon; at once when nothing is shown yet. */
  again(): void {
    clearTimeout(this.timer);
    this.host.setAttribute("aria-busy", "true");
    if (this.host.childElementCount === 0) {
      this.host.replaceChildren(make("p", { class: "view-note" }, "Asking …"));
    }
    this.timer = setTimeout(() => void this.now(), SETTLE_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.controller?.abort();
    this.controller = null;
  }

  private async now(): Promise<void> {
    this.controller?.abort();
    const controller = new AbortController();
    this.controller = controller;
    const request = this.ask(controller.signal);
    if (request !== null) {
      const answer = await request;
      if (this.controller !== controller) return;
      if (answer.ok) this.show(answer.value);
      else this.host.replaceChildren(failure(answer.error));
    }
    this.host.removeAttribute("aria-busy");
  }
}

/** What tables show of one answer, and what they ask for besides the chosen range. */
export interface Tables<T> {
  /** The view's name in addresses. */
  readonly view: string;
  readonly words?: () => Words;
  /** Told when another actor is chosen; left out where the answer is not about one. */
  readonly actorChanged?: () => void;
  readonly draw: (found: T) => readonly HTMLElement[];
}

/** Tables of an answer, which follow the chosen range; `again` asks once more, `end` ends it. */
export function answerTables<T>(
  host: HTMLElement,
  workspace: Workspace,
  { view, words = () => ({}), actorChanged, draw }: Tables<T>,
): { readonly again: () => void; readonly end: () => void } {
  const tables = make("div", { class: "view-scroll" });
  host.append(tables);
  const answer = new Answer<T>(
    tables,
    (signal) => askDocument(address(workspace, view, words()), signal),
    (found) => { tables.replaceChildren(...draw(found)); },
  );
  answer.again();
  const unsubscribe = workspace.selection.subscribe((_, changed) => {
    const another = changed.actor && actorChanged !== undefined;
    if (another) actorChanged();
    if (changed.range || another) answer.again();
  });
  return {
    again: () => { answer.again(); },
    end: () => {
      unsubscribe();
      answer.stop();
    },
  };
}

export function failure(error: string): HTMLElement {
  return make("p", { class: "view-note view-error", role: "alert" }, error);
}

/** What stands where there is nothing to show, and why. */
export function nothing(text: string): HTMLElement {
  return make("p", { class: "view-note" }, text);
}
