import { assertExists } from "../base/assert";

interface Row {
  readonly element: HTMLTableRowElement;
  readonly id: string;
  readonly text: string;
  readonly tick: HTMLInputElement;
}

/**
 * The table of boards by metrics: search in both, sorting by a column, two boards to compare. All of
 * it is in the page before; this adds what a script is needed for.
 */
export function startMatrix(page: Document, table: HTMLTableElement): void {
  const part = (name: string): HTMLElement =>
    assertExists(page.querySelector<HTMLElement>(`[data-site=${name}]`), name);
  const body = assertExists(table.tBodies[0], "the boards");
  const heads = [...table.querySelectorAll<HTMLTableCellElement>("thead th")];
  const rows = [...body.rows].map((element) => rowOf(page, element));
  const compare = part("compare") as HTMLAnchorElement;
  const [boards, metrics] = ["boards", "metrics"].map((name) => part(name) as HTMLInputElement);
  const comparePage = compare.getAttribute("href") ?? "";

  const tell = (): void => {
    const left = rows.filter((row) => !row.element.hidden).length;
    const columns = heads.slice(1).filter((head) => !head.hidden).length;
    part("shown").textContent =
      left === rows.length && columns === heads.length - 1
        ? ""
        : `${left} of ${rows.length} boards, ${columns} of ${heads.length - 1} metrics`;
    part("none").hidden = left > 0;
  };
  const filterBoards = (): void => {
    const wanted = words(boards);
    for (const row of rows) row.element.hidden = !wanted.every((word) => row.text.includes(word));
    tell();
  };
  const filterMetrics = (): void => {
    const wanted = words(metrics);
    heads.forEach((head, column) => {
      if (column === 0) return;
      const text = `${head.textContent} ${head.title}`.toLowerCase();
      const hidden = !wanted.every((word) => text.includes(word));
      if (head.hidden === hidden) return;
      head.hidden = hidden;
      for (const row of rows) {
        const cell = row.element.cells[column];
        if (cell !== undefined) cell.hidden = hidden;
      }
    });
    tell();
  };
  boards?.addEventListener("input", filterBoards);
  metrics?.addEventListener("input", filterMetrics);

  body.addEventListener("change", () => {
    const ticked = rows.filter((row) => row.tick.checked).map((row) => row.id);
    const ready = ticked.length === 2;
    compare.href = ready ? `${comparePage}#${ticked.join(",")}` : comparePage;
    compare.setAttribute("aria-disabled", String(!ready));
    compare.textContent = ready ? "Compare these two" : `Compare: tick two boards (${ticked.length})`;
  });

  heads.forEach((head, column) => {
    const button = page.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const again = head.getAttribute("aria-sort") === "ascending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", again ? "descending" : "ascending");
      const sorted = bestFirst(rows, column, head.dataset["better"]);
      body.append(...(again ? sorted.reverse() : sorted).map((row) => row.element));
    });
  });
  part("tools").hidden = false;
}

function rowOf(page: Document, element: HTMLTableRowElement): Row {
  const head = assertExists(element.cells[0], "the board's name");
  const tick = page.createElement("input");
  tick.type = "checkbox";
  tick.setAttribute("aria-label", `Compare ${head.querySelector("a")?.textContent ?? ""}`);
  const text = `${head.textContent} ${head.title}`.toLowerCase();
  head.prepend(tick);
  return { element, id: element.dataset["board"] ?? "", text, tick };
}

function words(field: HTMLInputElement | undefined): string[] {
  return (field?.value ?? "").toLowerCase().split(/\s+/).filter((word) => word !== "");
}

/** Boards by the values of a column, the best first; those without one come last either way. */
function bestFirst(rows: readonly Row[], column: number, better: string | undefined): Row[] {
  const sign = better === "higher" ? -1 : 1;
  const key = (row: Row): number | string => {
    if (column === 0) return row.text;
    const text = row.element.cells[column]?.dataset["value"];
    return text === undefined ? Infinity : sign * Number(text);
  };
  const keyed = rows.map((row) => ({ row, key: key(row) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map(({ row }) => row);
}
