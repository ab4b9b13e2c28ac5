import { csrfHeader, errorOf } from "../../base/answers";
import { failed, okay, type Result } from "../../base/result";
import { csv, save } from "../../base/saving";
import type { Panel, Workspace } from "../panel";
import { link, reveal } from "./actors";
import type { QueryAnswer, TableList } from "./answers";
import { address, Answer, askDocument, failure, nothing } from "./answer";
import { button, make } from "./elements";
import { count, plural } from "./words";

const EXAMPLES: readonly (readonly [string, string])[] = [
  [
    "The longest instances",
    `SELECT name, instances."begin", execution
FROM instances JOIN actors USING (actor), selection
WHERE instances."begin" BETWEEN selection."begin" AND selection."end" AND kind <> 'idle'
ORDER BY execution DESC LIMIT 20`,
  ],
  [
    "Who waits longest for a CPU",
    `SELECT name, count(*) AS waits, max(waits."end" - waits."begin") AS longest
FROM waits JOIN actors USING (actor), selection
WHERE state IN (0, 1) AND waits."begin" BETWEEN selection."begin" AND selection."end"
GROUP BY name ORDER BY longest DESC LIMIT 20`,
  ],
  [
    "How often each event occurs",
    `SELECT event, count(*) AS times
FROM events, selection
WHERE time BETWEEN selection."begin" AND selection."end"
GROUP BY event ORDER BY times DESC`,
  ],
];

/** SQL over the tables of the trace; rows that say when they were lead to the timeline. */
export const sql: Panel = {
  id: "sql",
  title: "SQL",
  mount(host, workspace) {
    const result = make("div", { class: "view-result" });
    const text = make("textarea", { rows: "6", spellcheck: "false", "aria-label": "Query" });
    text.value = workspace.parameter("sql-query") ?? EXAMPLES[0]?.[1] ?? "";
    const run = (): void => {
      workspace.setParameter("sql-query", text.value.trim() || null);
      answer.again();
    };
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
      // What is typed is not meant for the timeline.
      event.stopPropagation();
    });
    const examples = EXAMPLES.map(([name, query]) =>
      button(name, () => {
        text.value = query;
        run();
      }),
    );
    const tables = make("details", { class: "view-tables" }, make("summary", {}, "Tables"));
    const naming = new AbortController();
    tables.addEventListener("toggle", () => void listTables(workspace, tables, naming.signal), { once: true });
    host.append(
      make("div", { class: "view-query" }, text),
      make(
        "div",
        { class: "view-bar" },
        button("Run", run, { title: "Ctrl+Enter" }),
        make("span", { class: "view-note" }, "Examples:"),
        ...examples,
      ),
      tables,
      result,
    );
    const answer = new Answer<QueryAnswer>(
      result,
      (signal) => {
        const query = workspace.parameter("sql-query");
        if (query === null) {
          result.replaceChildren(nothing(HELP));
          return null;
        }
        return post(address(workspace, "query", {}), query, signal);
      },
      (found) => {
        result.replaceChildren(drawing(workspace, found));
      },
    );
    answer.again();
    const unsubscribe = workspace.selection.subscribe((_, changed) => {
      if (changed.range && workspace.parameter("sql-query")?.includes("selection") === true) answer.again();
    });
    return () => {
      unsubscribe();
      naming.abort();
      answer.stop();
    };
  },
};

const HELP =
  "One query in DuckDB's SQL. It reads the tables of the trace and nothing else. The table selection " +
  "holds the begin and end of the chosen range.";

async function post(where: string, query: string, signal: AbortSignal): Promise<Result<QueryAnswer>> {
  try {
    const answer = await fetch(where, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...csrfHeader(document) },
      body: JSON.stringify({ sql: query }),
      signal,
    });
    return answer.ok ? okay((await answer.json()) as QueryAnswer) : failed(await errorOf(answer));
  } catch (error) {
    return failed(`the server does not answer (${String(error)}): is it still running?`);
  }
}

async function listTables(workspace: Workspace, host: HTMLElement, signal: AbortSignal): Promise<void> {
  const answer = await askDocument<TableList>(`${workspace.api}/tables`, signal);
  if (signal.aborted) return;
  if (!answer.ok) {
    host.append(failure(answer.error));
    return;
  }
  const list = make("dl", { class: "view-columns", tabindex: "0", "aria-label": "Tables and their columns" });
  for (const { name, rows, columns } of answer.value.tables) {
    const size = rows === null ? "" : ` ${count(rows)}`;
    list.append(make("div", {}, make("dt", {}, name, make("span", {}, size)), make("dd", {}, columns)));
  }
  host.append(list);
}

/** Rows that are saved at most: many more than a table shows. */
const MOST_SAVED = 100_000;

/** Saves the answer as CSV: what is shown, or asked for anew where that is not all. */
async function saveAnswer(workspace: Workspace, found: QueryAnswer, said: HTMLElement): Promise<void> {
  let all = found;
  if (found.more) {
    said.textContent = "Asking for all rows …";
    const query = workspace.parameter("sql-query") ?? "";
    const answer = await post(address(workspace, "query", { rows: MOST_SAVED }), query, new AbortController().signal);
    if (!answer.ok) {
      said.textContent = answer.error;
      return;
    }
    all = answer.value;
  }
  save(csv([all.columns.map(({ name }) => name), ...all.rows]), `${workspace.info.name} query.csv`);
  said.textContent = all.more ? `Saved the first ${count(all.rows.length)} rows; there are more.` : `Saved ${plural(all.rows.length, "row")}.`;
}

function drawing(workspace: Workspace, found: QueryAnswer): HTMLElement {
  const head = make("tr");
  if (found.times !== null) head.append(make("th", { scope: "col" }, "Go to"));
  const numeric = found.columns.map(({ type }) => isNumber(type));
  found.columns.forEach(({ name, type }, at) => {
    head.append(make("th", { scope: "col", title: type, class: numeric[at] === true ? "num" : null }, name));
  });
  const body = make("tbody");
  found.rows.forEach((row, at) => {
    const line = make("tr");
    if (found.times !== null) line.append(make("td", {}, ...lead(workspace, found.times[at] ?? null)));
    row.forEach((value, column) => {
      line.append(make("td", { class: numeric[column] === true ? "num" : null }, value === null ? "–" : String(value)));
    });
    body.append(line);
  });
  const more = found.more ? ", the first of more" : "";
  const caption = make("caption", {}, `${plural(found.rows.length, "row")}${more}, ${found.seconds.toFixed(2)} s`);
  const table = make("table", { class: "view-table" }, caption, make("thead", {}, head), body);
  const said = make("span", { class: "view-note", role: "status" });
  const bar = make("div", { class: "view-bar" },
    button("Save as CSV", () => { void saveAnswer(workspace, found, said); }), said);
  return make("div", {}, bar, make("div", { class: "view-scroll" }, table));
}

function lead(workspace: Workspace, time: number | null): Node[] {
  if (time === null) return [];
  const show = (): void => {
    reveal(workspace, null, time);
  };
  return [link("show", show, "Move the timeline here")];
}

export function isNumber(type: string): boolean {
  return /^(NUMBER|DECIMAL|DOUBLE|FLOAT|REAL)|INT(EGER)?$/.test(type);
}
