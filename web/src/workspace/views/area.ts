import type { Row } from "../../timeline/source";
import type { Panel, Workspace } from "../panel";
import { link, reveal } from "./actors";
import type { AreaSums } from "./answers";
import { address, Answer, askDocument, nothing } from "./answer";
import { button, make } from "./elements";
import { appendInTurn } from "./in-turn";
import { count, duration, plural, share } from "./words";

/** One row of the timeline over the selected span; times in ns, null where it means nothing. */
export interface AreaRow {
  readonly row: Row;
  readonly ran: number;
  readonly activations: number;
  /** Of a CPU: who ran most, and for how long. */
  readonly foremost: readonly (readonly [actor: number, ran: number])[];
  readonly others: number;
  readonly longest: number | null;
  readonly longestAt: number | null;
  readonly waits: readonly (number | null)[];
}

const WAITS = [
  ["Runnable", "Woken, waiting for a CPU"],
  ["Preempted", "Another had the CPU"],
  ["Blocked", "Waiting uninterruptibly, most often for storage or a lock"],
  ["Sleeping", "Waiting for anything else"],
] as const;

/** What ran in each row of the selected span, for how long and how often. */
export const area: Panel = {
  id: "area",
  title: "Area",
  mount(host, workspace) {
    const bar = make("div", { class: "view-bar" });
    const table = make("div", { class: "view-scroll" });
    host.append(bar, table);
    let latest: AreaSums | null = null;
    const draw = (): void => {
      if (latest === null) return;
      const rows = areaRows(workspace, latest);
      bar.replaceChildren(...summary(workspace, latest, rows));
      table.replaceChildren(rows.length === 0 ? nothing("Nothing happened in these rows meanwhile.") : drawTable(workspace, rows, latest));
    };
    const answer = new Answer<AreaSums>(
      table,
      (signal) => askDocument(address(workspace, "area", {}), signal),
      (found) => {
        latest = found;
        draw();
      },
    );
    answer.again();
    const unsubscribe = workspace.selection.subscribe((_, changed) => {
      if (changed.range) answer.again();
      else if (changed.area) draw();
    });
    return () => {
      unsubscribe();
      answer.stop();
    };
  },
};

/** The sums of the rows of the selected area, in the order of the timeline. */
export function areaRows({ rows, selection }: Pick<Workspace, "rows" | "selection">, found: AreaSums): AreaRow[] {
  const { area: ids } = selection.value;
  const wanted = ids === null ? null : new Set(ids);
  const cpus = new Map(found.cpus.map((cpu) => [cpu.cpu, cpu]));
  const actors = new Map(found.actors.map((actor) => [`${actor.actor}/${actor.cpu ?? ""}`, actor]));
  return rows.flatMap((row): AreaRow[] => {
    if (wanted !== null && !wanted.has(row.id)) return [];
    const cpu = row.kind === "cpu" && row.cpu !== null ? cpus.get(row.cpu) : undefined;
    if (cpu !== undefined) {
      const foremost = cpu.foremost.map(({ actor, ran }) => [actor, ran] as const);
      const none = [null, null, null, null];
      const { ran, activations, others } = cpu;
      return [{ row, ran, activations, foremost, others, longest: null, longestAt: null, waits: none }];
    }
    const actor = row.actor === null ? undefined : actors.get(`${row.actor}/${row.cpu ?? ""}`);
    if (actor === undefined) return [];
    return [{
      row, ran: actor.ran, activations: actor.activations, foremost: [], others: 0,
      longest: actor.longest, longestAt: actor.longest_at,
      waits: [actor.runnable, actor.preempted, actor.uninterruptible, actor.sleeping],
    }];
  });
}

function summary(workspace: Workspace, found: AreaSums, rows: readonly AreaRow[]): Node[] {
  const { selection } = workspace;
  const { range, area: ids } = selection.value;
  const where = range === null
    ? "The whole trace. Shift and drag over rows of the timeline to select an area."
    : `${duration(found.end - found.begin)} of ${ids === null ? "all rows" : plural(ids.length, "row")}, in which something happened in ${count(rows.length)}.`;
  const parts: Node[] = [make("span", { class: "view-note", role: "status" }, where)];
  if (ids !== null) parts.push(button("All rows", () => { selection.setRange(range); }, { title: "The same time in all rows" }));
  return parts;
}

function drawTable(workspace: Workspace, rows: readonly AreaRow[], found: AreaSums): HTMLElement {
  const columns = ["Row", "Ran", "Share", "Activations", "Longest", ...WAITS.map(([name]) => name), "What ran most"];
  const titles: Readonly<Record<string, string>> = {
    Ran: "Time on a CPU, without the interrupts nested in it",
    Share: "Of one CPU, over the selected time",
    Activations: "That begin in the selected time",
    Longest: "The longest piece on a CPU: leads to it",
    ...Object.fromEntries(WAITS),
  };
  const head = make("tr", {}, ...columns.map((name, at) =>
    make("th", { scope: "col", title: titles[name] ?? null, class: at === 0 || at > 8 ? null : "num" }, name)));
  const body = make("tbody");
  const whole = Math.max(1, found.end - found.begin);
  appendInTurn(body, rows, (row) => drawRow(workspace, row, whole), () => undefined);
  const more = found.more > 0 ? [nothing(`${count(found.more)} more actors are left out: select a shorter time.`)] : [];
  return make("div", {}, make("table", { class: "view-table area" }, make("thead", {}, head), body), ...more);
}

function drawRow(workspace: Workspace, { row, ran, activations, foremost, others, longest, longestAt, waits }: AreaRow, whole: number): HTMLElement {
  const name = row.detail === "" ? row.name : `${row.name} ${row.detail}`;
  const long = longest === null || longestAt === null ? "–" : link(duration(longest), () => {
    reveal(workspace, row.actor, longestAt, longestAt + longest, row.cpu);
  }, "Move the timeline to it");
  const who = foremost.map(([actor, time]) => `${workspace.actorName(actor)} ${share(time / whole)}`);
  if (others > 0) who.push(plural(others, "other"));
  const cells = [duration(ran), share(ran / whole), count(activations), long, ...waits.map((time) => duration(time))];
  return make("tr", {},
    make("th", { scope: "row" }, name),
    ...cells.map((cell) => make("td", { class: "num" }, cell)),
    make("td", {}, who.join(", ")));
}
