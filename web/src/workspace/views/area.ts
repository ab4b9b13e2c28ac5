import type { Row } from "../../timeline/source";
import { type GroupedBy, groupingOf, groupings, usualGrouping } from "../groups";
import type { Panel, Workspace } from "../panel";
import { link, reveal } from "./actors";
import type { AreaSums } from "./answers";
import { address, Answer, askDocument, nothing } from "./answer";
import { button, choice, labelled, make } from "./elements";
import { appendInTurn } from "./in-turn";
import { count, duration, plural, share } from "./words";

/** One row of the timeline over the selected span, or several; times in ns, null where it means nothing. */
export interface AreaRow {
  readonly name: string;
  /** Of several, that with the longest piece. */
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

const BY: Readonly<Record<GroupedBy, string>> = {
  none: "row", process: "process", container: "container", name: "name of the thread",
};

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
      const by = groupedBy(workspace);
      const possible = groupings(workspace.rows);
      const field = possible.length < 2 ? [] : [labelled("Sum by", choice(
        [...possible].reverse().map((each) => [each, BY[each]] as const), by, (value) => {
          workspace.setParameter("area-by", value === usualGrouping(workspace.rows) ? null : value);
          draw();
        }))];
      bar.replaceChildren(...field, ...summary(workspace, latest, rows));
      const shown = areaGroups(workspace, rows, by);
      table.replaceChildren(rows.length === 0 ? nothing("Nothing happened in these rows meanwhile.") : drawTable(workspace, shown, latest));
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
    const name = row.detail === "" ? row.name : `${row.name} ${row.detail}`;
    const cpu = row.kind === "cpu" && row.cpu !== null ? cpus.get(row.cpu) : undefined;
    if (cpu !== undefined) {
      const foremost = cpu.foremost.map(({ actor, ran }) => [actor, ran] as const);
      const none = [null, null, null, null];
      const { ran, activations, others } = cpu;
      return [{ name, row, ran, activations, foremost, others, longest: null, longestAt: null, waits: none }];
    }
    const actor = row.actor === null ? undefined : actors.get(`${row.actor}/${row.cpu ?? ""}`);
    if (actor === undefined) return [];
    return [{
      name, row, ran: actor.ran, activations: actor.activations, foremost: [], others: 0,
      longest: actor.longest, longestAt: actor.longest_at,
      waits: [actor.runnable, actor.preempted, actor.uninterruptible, actor.sleeping],
    }];
  });
}

/** By what the threads are summed up: as the address says, else by process where that is known. */
function groupedBy(workspace: Workspace): GroupedBy {
  const asked = workspace.parameter("area-by");
  return groupings(workspace.rows).find((by) => by === asked) ?? usualGrouping(workspace.rows);
}

/** The same with the threads of a group together, those that ran most first behind the CPUs. */
export function areaGroups({ rows }: Pick<Workspace, "rows">, sums: readonly AreaRow[], by: GroupedBy): readonly AreaRow[] {
  if (by === "none") return sums;
  const names = new Map<number, string>();
  for (const { name, members } of groupingOf(rows, by, [], []).groups) {
    for (const order of members) {
      const row = rows[order];
      if (row !== undefined) names.set(row.id, name);
    }
  }
  const together = new Map<string, AreaRow[]>();
  const alone: AreaRow[] = [];
  for (const sum of sums) {
    const name = names.get(sum.row.id);
    if (name === undefined) alone.push(sum);
    else together.set(name, [...(together.get(name) ?? []), sum]);
  }
  const all = [...alone, ...[...together].map(([name, members]) => summedUp(name, members))];
  const isCpu = ({ row }: AreaRow): number => (row.kind === "cpu" ? 0 : 1);
  return all.sort((a, b) => isCpu(a) - isCpu(b) || (isCpu(a) === 0 ? 0 : b.ran - a.ran));
}

function summedUp(name: string, members: readonly AreaRow[]): AreaRow {
  const longest = members.reduce((most, sum) => ((sum.longest ?? -1) > (most.longest ?? -1) ? sum : most));
  const total = (value: (sum: AreaRow) => number | null): number => members.reduce((whole, sum) => whole + (value(sum) ?? 0), 0);
  return {
    name: `${name} (${plural(members.length, "thread")})`,
    row: longest.row, longest: longest.longest, longestAt: longest.longestAt,
    ran: total(({ ran }) => ran), activations: total(({ activations }) => activations),
    foremost: [], others: 0,
    waits: WAITS.map((_, at) => (members.every(({ waits }) => waits[at] == null) ? null : total(({ waits }) => waits[at] ?? null))),
  };
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

function drawRow(workspace: Workspace, { name, row, ran, activations, foremost, others, longest, longestAt, waits }: AreaRow, whole: number): HTMLElement {
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
