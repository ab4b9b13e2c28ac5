import type { Panel, Workspace } from "../panel";
import { actorField, link, reveal } from "./actors";
import type { DelayRow, Delays, PreemptionRow } from "./answers";
import { answerTables, nothing } from "./answer";
import { type Cells, make, namedTable, tick } from "./elements";
import { count, duration, plural, share } from "./words";

/** What kept threads from running: who had the CPU while they waited for it, and who preempted them. */
export const delays: Panel = {
  id: "delays",
  title: "Delays",
  mount(host, workspace) {
    const [actors, updateActors] = actorField(workspace, "all threads");
    const byName = tick("Put threads of one name together", byNames(workspace), (on) => {
      workspace.setParameter("delays-names", on ? "1" : null);
      tables.again();
    });
    host.append(make("div", { class: "view-bar" }, actors, byName));
    const tables = answerTables<Delays>(host, workspace, {
      view: "delays",
      words: () => {
        const { actor } = workspace.selection.value;
        const isThread = actor !== null && workspace.rowOf(actor)?.kind === "thread";
        return { actor: isThread ? actor : null, by_name: byNames(workspace) };
      },
      actorChanged: updateActors,
      draw: (found) => drawAll(workspace, found),
    });
    return tables.end;
  },
};

const byNames = (workspace: Workspace): boolean => workspace.parameter("delays-names") === "1";

function drawAll(workspace: Workspace, found: Delays): HTMLElement[] {
  const left = found.unsure > 0 ? `, ${plural(found.unsure, "incomplete wait")} left out` : "";
  const summary = make("p", { class: "view-note" },
    `${duration(found.waited)} in ${plural(found.waits, "wait")} for a CPU${left}. Behind an idle task, the CPU was leaving idle.`);
  if (found.delays.length === 0) return [summary, nothing("No thread waited for a CPU here.")];
  return [
    summary,
    drawTable("Who had the CPU meanwhile", ["Thread", "Waited behind", "Time", "Share", "Preempted", "Waits", "Longest"],
      found.delays.map((row) => delayCells(workspace, row)), found.more_delays),
    ...(found.preemptions.length === 0 ? [] : [drawTable(
      "Who took the CPU from a thread that could have gone on", ["Thread", "Preempted by", "Times", "Waited", "Median", "p99", "p99.9", "Longest"],
      found.preemptions.map((row) => preemptionCells(workspace, row)), found.more_preemptions)]),
  ];
}

function delayCells(workspace: Workspace, row: DelayRow): Cells {
  return [
    row.thread, row.by, duration(row.time), share(row.share), duration(row.after_preemption), count(row.waits),
    longest(workspace, row.thread_ids, row.longest_at, row.longest),
  ];
}

function preemptionCells(workspace: Workspace, { thread, thread_ids, by, count: times, wait, longest_at }: PreemptionRow): Cells {
  return [
    thread, by, count(times), duration(wait?.total), duration(wait?.median), duration(wait?.p99), duration(wait?.p999),
    wait === null ? "–" : longest(workspace, thread_ids, longest_at, wait.maximum),
  ];
}

function longest(workspace: Workspace, ids: readonly number[], begin: number, length: number): HTMLElement {
  return link(duration(length), () => {
    reveal(workspace, ids.length === 1 ? (ids[0] ?? null) : null, begin, begin + length);
  }, "Move the timeline to this wait");
}

function drawTable(caption: string, columns: readonly string[], rows: readonly Cells[], more: number): HTMLElement {
  return namedTable("delays", more > 0 ? `${caption}; ${count(more)} more pairs not shown` : caption, columns, rows, 2);
}
