import type { Panel, Workspace } from "../panel";
import { link, reveal } from "./actors";
import type { FunctionRow, Functions } from "./answers";
import { answerTables, nothing } from "./answer";
import { namedTable } from "./elements";
import { count, duration, share } from "./words";

/** Functions of the kernel and slices of programs: how often, their self and total times. */
export const functions: Panel = {
  id: "functions",
  title: "Functions",
  mount: (host, workspace) =>
    answerTables<Functions>(host, workspace, { view: "functions", draw: (found) => drawAll(workspace, found) }).end,
};

function drawAll(workspace: Workspace, { functions: rows, more }: Functions): HTMLElement[] {
  if (rows.length === 0) {
    return [nothing("No call of a function and no slice begins here. benchvise trace record BOARD --functions NAME --graph records calls.")];
  }
  const caption = "Self is without the traced functions, or slices, within. Both hold the time off the CPU.";
  return [namedTable("functions", more > 0 ? `${caption} ${count(more)} more not shown.` : caption,
    ["Function or slice", "Calls", "Incomplete", "Self", "Share", "Total", "Median", "p99", "p99.9", "Longest"],
    rows.map((row) => cells(workspace, row)), 1)];
}

function cells(workspace: Workspace, row: FunctionRow): readonly (Node | string)[] {
  const { total, worst_at: at } = row;
  return [
    row.name, count(row.calls), count(row.incomplete), duration(row.self_time),
    row.self_share === null ? "–" : share(row.self_share),
    duration(total?.total), duration(total?.median), duration(total?.p99), duration(total?.p999),
    total === null || at === null ? "–" : link(duration(total.maximum), () => {
      reveal(workspace, null, at, at + total.maximum, row.worst_cpu);
    }, "Move the timeline to the longest call"),
  ];
}
