import type { Panel, Workspace } from "../panel";
import { link, reveal } from "./actors";
import type { ActorRow, Distribution, Statistics } from "./answers";
import { address, Answer, askDocument, nothing } from "./answer";
import { button, make, tick } from "./elements";
import { appendInTurn } from "./in-turn";
import { count, duration, share } from "./words";

interface Column {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly value: (row: ActorRow) => number | string | null;
  readonly text: (row: ActorRow) => string;
}

const figure = (
  id: string,
  name: string,
  title: string,
  of: (row: ActorRow) => Distribution | null,
  part: "median" | "p99" | "p999" | "maximum",
): Column => ({
  id,
  name,
  title,
  value: (row) => of(row)?.[part] ?? null,
  text: (row) => duration(of(row)?.[part]),
});

/** How many times the median the 99th percentile is; null of none, and of an actor with one period. */
function spreadOf(period: Distribution | null): number | null {
  return period === null || period.count < 2 || period.median === 0 ? null : period.p99 / period.median;
}

const COLUMNS: readonly Column[] = [
  {
    id: "actor",
    name: "Actor",
    title: "Task, interrupt handler or softirq",
    value: ({ actor }) => actor,
    text: ({ actor, actors }) => (actors > 1 ? `${actor} (${actors})` : actor),
  },
  {
    id: "share",
    name: "Load",
    title: "Share of one CPU, without the interrupts nested in it",
    value: ({ busy }) => busy,
    text: (row) => share(row.share),
  },
  {
    id: "instances",
    name: "Instances",
    title: "Activations that begin here",
    value: ({ instances }) => instances,
    text: ({ instances }) => count(instances),
  },
  figure("execution", "Execution", "Median time on a CPU of one instance", (row) => row.execution, "median"),
  figure("execution-p99", "p99", "99th percentile of the execution time", (row) => row.execution, "p99"),
  figure("execution-p999", "p99.9", "99.9th percentile of the execution time", (row) => row.execution, "p999"),
  figure("execution-max", "Max", "Longest execution time", (row) => row.execution, "maximum"),
  figure("response", "Response", "Median time from the wake-up to the end", (row) => row.response, "median"),
  figure("response-p99", "p99", "99th percentile of the response time", (row) => row.response, "p99"),
  figure("response-p999", "p99.9", "99.9th percentile of the response time", (row) => row.response, "p999"),
  figure("response-max", "Max", "Longest response: leads to that instance", (row) => row.response, "maximum"),
  figure("latency", "Start latency", "Median time from the wake-up to the first moment on a CPU", (row) => row.latency, "median"),
  figure("period", "Period", "Median time from one begin to the next", (row) => row.period, "median"),
  {
    id: "period-spread",
    name: "Irregular",
    title: "99th percentile of the period over its median: 1 is regular",
    value: ({ period }) => spreadOf(period),
    text: ({ period }) => spreadOf(period)?.toFixed(2) ?? "–",
  },
  {
    id: "unsure",
    name: "Incomplete",
    title: "Instances that the statistics leave out: cut by an end of the trace, or events are missing",
    value: ({ unsure }) => unsure,
    text: ({ unsure }) => count(unsure),
  },
];

/** What took the CPUs, and how long the instances of each actor took. */
export const statistics: Panel = {
  id: "statistics",
  title: "Statistics",
  mount(host, workspace) {
    const table = make("div", { class: "view-scroll" });
    const byName = tick("Put threads of one name together", byNames(workspace), (on) => {
      workspace.setParameter("statistics-names", on ? "1" : null);
      answer.again();
    });
    host.append(make("div", { class: "view-bar" }, byName), table);
    let latest: Statistics | null = null;
    const draw = (): void => {
      if (latest !== null) table.replaceChildren(drawTable(workspace, latest, draw));
    };
    const answer = new Answer<Statistics>(
      table,
      (signal) => askDocument(address(workspace, "actors", { by_name: byNames(workspace) }), signal),
      (found) => {
        latest = found;
        draw();
      },
    );
    answer.again();
    const unsubscribe = workspace.selection.subscribe((now, changed) => {
      if (changed.range) answer.again();
      if (changed.actor) mark(table, now.actor);
    });
    return () => {
      unsubscribe();
      answer.stop();
    };
  },
};

const byNames = (workspace: Workspace): boolean => workspace.parameter("statistics-names") === "1";

function drawTable(workspace: Workspace, found: Statistics, again: () => void): HTMLElement {
  if (found.actors.length === 0) return nothing("No actor ran in this span.");
  const [order, rising] = sorting(workspace.parameter("statistics-sort"));
  const table = make("table", { class: "view-table statistics" });
  const head = make("tr");
  for (const column of COLUMNS) {
    const mine = column.id === order.id;
    const sort = button(
      column.name,
      () => {
        const up = mine ? !rising : column.id === "actor";
        workspace.setParameter("statistics-sort", `${up ? "" : "-"}${column.id}`);
        again();
      },
      { title: column.title, class: "view-sort" },
    );
    const direction = rising ? "ascending" : "descending";
    head.append(make("th", { scope: "col", "aria-sort": mine ? direction : null, class: column.id === "actor" ? null : "num" }, sort));
  }
  const body = make("tbody");
  table.append(make("thead", {}, head), body);
  const rows = sorted(found.actors, order, rising);
  appendInTurn(body, rows, (row) => drawRow(workspace, row), () => {
    mark(table, workspace.selection.value.actor);
  });
  const parts: Node[] = [table];
  if (found.more > 0) parts.push(nothing(`${count(found.more)} more actors ran less than these.`));
  return make("div", {}, ...parts);
}

function drawRow(workspace: Workspace, row: ActorRow): HTMLElement {
  const element = make("tr", { "data-actors": row.ids.join(" ") });
  for (const column of COLUMNS) {
    if (column.id === "actor") {
      const choose = link(column.text(row), () => {
        workspace.selection.setActor(row.ids[0] ?? null);
      }, "Bring it out in all views");
      element.append(make("th", { scope: "row" }, choose));
    } else if (column.id === "response-max" && row.worst !== null) {
      const { actor, begin, end, response } = row.worst;
      const lead = link(duration(response), () => {
        reveal(workspace, actor, begin, end);
      }, "Move the timeline to this instance");
      element.append(make("td", { class: "num" }, lead));
    } else {
      element.append(make("td", { class: "num" }, column.text(row)));
    }
  }
  return element;
}

/** Which rows are of the chosen actor. */
function mark(table: HTMLElement, actor: number | null): void {
  for (const row of table.querySelectorAll<HTMLElement>("tr[data-actors]")) {
    const mine = actor !== null && (row.dataset["actors"] ?? "").split(" ").includes(String(actor));
    row.classList.toggle("picked", mine);
  }
}

/** The column that a parameter of the address names, and whether upwards: `-execution`. */
export function sorting(text: string | null): readonly [Column, boolean] {
  const named = COLUMNS.find(({ id }) => id === text?.replace(/^-/, ""));
  const column = named ?? COLUMNS[1];
  if (column === undefined) throw new Error("a table without columns");
  return [column, named !== undefined && text?.startsWith("-") !== true];
}

/** Rows in the order of a column; those without a value stand last in either direction. */
export function sorted(
  rows: readonly ActorRow[],
  { value }: { readonly value: (row: ActorRow) => number | string | null },
  rising: boolean,
): ActorRow[] {
  const sign = rising ? 1 : -1;
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return sign * (typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y));
  });
}
