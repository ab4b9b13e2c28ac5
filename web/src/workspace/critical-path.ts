import { askJson } from "../base/answers";
import type { Arrow } from "../timeline/arrows";
import { formatLength, formatTime } from "../timeline/time-format";
import type { Workspace } from "./panel";
import { link } from "./views/actors";
import { make } from "./views/elements";
import { plural, share } from "./views/words";

/** What the server tells of the path to the end of an activation, `GET critical-path`. Times in ns. */
export interface CriticalPath {
  readonly begin: number;
  readonly end: number;
  /** Why it begins there. */
  readonly origin: string;
  /** The earliest first. */
  readonly hops: readonly PathHop[];
  /** The most time first. */
  readonly parts: readonly {
    readonly state: string;
    readonly actor: string | null;
    readonly time: number;
    readonly share: number;
  }[];
  readonly other_parts: number;
  readonly longest: readonly {
    readonly begin: number;
    readonly end: number;
    readonly state: string;
    readonly actor: string | null;
    readonly actor_id: number | null;
    readonly cpu: number | null;
  }[];
  readonly incomplete: readonly string[];
}

interface PathHop {
  readonly actor: string;
  readonly actor_id: number;
  readonly cpu: number;
  readonly begin: number;
  readonly end: number;
}

/** Asks for the path of an activation, shows it in `host`, and returns it; nothing once `signal` is aborted. */
export async function showPath(
  host: HTMLElement,
  workspace: Workspace,
  instance: number,
  signal: AbortSignal,
): Promise<CriticalPath | null> {
  const question = `instance=${instance}&v=${workspace.info.tag}`;
  const answer = await askJson(`${workspace.api}/critical-path?${question}`, signal);
  if (signal.aborted) return null;
  if (!answer.ok) {
    host.replaceChildren(make("p", { role: "alert" }, answer.error));
    return null;
  }
  const path = answer.value as CriticalPath;
  host.replaceChildren(...pathParts(workspace, path));
  return path;
}

/** An arrow from each step of the path to the next, but for the last, which is what woke the chosen one. */
export function pathArrows(workspace: Pick<Workspace, "rows" | "rowOf">, { hops }: CriticalPath): Arrow[] {
  return hops.slice(0, -2).flatMap((hop, at): Arrow[] => {
    const next = hops[at + 1];
    const from = rowOn(workspace, hop.actor_id, hop.cpu);
    const to = next === undefined ? null : rowOn(workspace, next.actor_id, next.cpu);
    if (next === undefined || from === null || to === null) return [];
    return [{ from: { row: from.id, time: hop.end }, to: { row: to.id, time: next.begin }, kind: "path" }];
  });
}

/** The path as a list of who is on it, the time of its parts, and where it waited longest. */
export function pathParts(workspace: Workspace, path: CriticalPath): HTMLElement[] {
  const notes = [`It begins with ${path.origin}.`];
  if (path.other_parts > 0) notes.push(`${plural(path.other_parts, "smaller part")} not shown.`);
  if (path.incomplete.length > 0) notes.push(`Incomplete: ${path.incomplete.join("; ")}.`);
  return [
    make("h3", {}, `Critical path: ${formatLength(path.end - path.begin)}`),
    make("ol", { class: "ws-hops" }, ...path.hops.map((hop) => make("li", {}, hopLink(workspace, hop)))),
    make("table", { class: "view-table" },
      make("caption", {}, "Where the time went"),
      make("tbody", {}, ...path.parts.map((part) =>
        make("tr", {},
          make("th", { scope: "row" }, partText(part.state, part.actor)),
          make("td", { class: "num" }, formatLength(part.time)),
          make("td", { class: "num" }, share(part.share))))),
    ),
    ...(path.longest.length === 0 ? [] : [
      make("h3", {}, "Waited longest"),
      make("ol", {}, ...path.longest.map((segment) => make("li", { class: "ws-event" },
        link(formatLength(segment.end - segment.begin), () => {
          reveal(workspace, segment.actor_id, segment.cpu, segment.begin, segment.end);
        }, `Show it, at ${formatTime(segment.begin, 1)}`),
        make("span", {}, partText(segment.state, segment.actor))))),
    ]),
    make("p", {}, notes.join(" ")),
  ];
}

/** What happens on the path, and who has the CPU meanwhile. */
export function partText(state: string, actor: string | null): string {
  if (actor === null || state === "leaving idle") return state;
  if (state === "running") return `${actor} runs`;
  if (state === "interrupted" || state === "preempted") return `${state} by ${actor}`;
  return `${state}, behind ${actor}`;
}

function hopLink(workspace: Workspace, hop: PathHop): HTMLElement {
  return link(hop.actor, () => {
    reveal(workspace, hop.actor_id, hop.cpu, hop.begin, hop.end);
  }, `Show it, from ${formatTime(hop.begin, 1)} for ${formatLength(hop.end - hop.begin)}`);
}

function reveal(
  workspace: Workspace,
  actor: number | null,
  cpu: number | null,
  begin: number,
  end: number,
): void {
  const row = actor === null ? null : rowOn(workspace, actor, cpu);
  const place = row === null ? null : { row: row.id, time: begin + (end - begin) / 2 };
  workspace.selection.reveal({ begin, end }, place, actor);
}

/** The row of an actor; of a handler, that of the CPU on which it ran. */
export function rowOn(
  { rows, rowOf }: Pick<Workspace, "rows" | "rowOf">,
  actor: number,
  cpu: number | null,
): Workspace["rows"][number] | null {
  return rows.find((row) => row.actor === actor && row.cpu !== null && row.cpu === cpu) ?? rowOf(actor);
}
