import { expect, test } from "vitest";
import { eventually } from "../../eventually";

import { row } from "../../timeline/fixtures";
import { Selection } from "../selection";
import type { AreaSums } from "./answers";
import { area, areaGroups, areaRows } from "./area";
import type { Workspace } from "../panel";

const handler = { ...row(2, "irq", "<img src=x>"), cpu: 1, detail: "CPU 1" };
const ROWS = [row(0, "cpu", "CPU 0"), handler, row(5)];
const of = (actor: number, cpu: number | null, ran: number) => ({
  actor, cpu, ran, activations: 2, longest: ran, longest_at: 10,
  runnable: cpu === null ? 4 : null, preempted: null, uninterruptible: null, sleeping: null,
});
const FOUND: AreaSums = {
  begin: 0, end: 100, cautions: [], more: 0,
  cpus: [{ cpu: 0, ran: 60, activations: 9, foremost: [{ actor: 5, ran: 50 }], others: 3 }],
  actors: [of(5, null, 50), of(2, 1, 7), of(2, 0, 3)],
};

test("a row has its own sums: of a handler, those of its CPU", () => {
  const selection = new Selection(100);
  const rows = areaRows({ rows: ROWS, selection }, FOUND);
  expect(rows.map((each) => [each.row.id, each.ran])).toEqual([[0, 60], [2, 7], [5, 50]]);
  expect(rows[0]?.foremost).toEqual([[5, 50]]);
  selection.setRange({ begin: 0, end: 50 }, [5]);
  expect(areaRows({ rows: ROWS, selection }, FOUND).map((each) => each.row.id)).toEqual([5]);
  selection.setRange(null);
  expect(selection.value.area).toBeNull();
});

test("threads of a process are summed up, others stay as they are", () => {
  const thread = (id: number, name: string, process?: number) =>
    ({ ...row(id, "thread", name), detail: String(id), ...(process === undefined ? {} : { process }) });
  const rows = [{ ...row(0, "cpu", "CPU 0"), detail: "" }, thread(7, "nginx", 7), thread(8, "worker", 7), thread(9, "lone", 9)];
  const found = { ...FOUND, actors: [of(9, null, 60), of(8, null, 50), of(7, null, 30)] };
  const sums = areaRows({ rows, selection: new Selection(100) }, found);
  const groups = areaGroups({ rows }, sums, "process");
  expect(groups.map(({ name, ran, activations }) => [name, ran, activations])).toEqual([
    ["CPU 0", 60, 9], ["nginx 7 (2 threads)", 80, 4], ["lone 9", 60, 2],
  ]);
  expect(groups[1]?.longest).toBe(50);
  expect(groups[1]?.row.id).toBe(8);
  expect(groups[1]?.waits).toEqual([8, null, null, null]);
  expect(areaGroups({ rows }, sums, "none")).toBe(sums);
});

test("the table asks for the selected time, and names are texts", async () => {
  const asked: string[] = [];
  globalThis.fetch = ((where: string) => {
    asked.push(where);
    return Promise.resolve(new Response(JSON.stringify(FOUND)));
  }) as typeof fetch;
  const host = document.createElement("div");
  const selection = new Selection(100, { range: { begin: 5, end: 50 }, area: [2] });
  const leave = area.mount(host, {
    api: "/api/traces/k", rows: ROWS, selection, actorName: String, rowOf: () => null, parameter: () => null,
  } as unknown as Workspace);
  await eventually(() => { expect(host.querySelector("tbody th")?.textContent).toBe("<img src=x> CPU 1"); });
  expect(asked).toEqual(["/api/traces/k/area?begin=5&end=50"]);
  expect(host.querySelectorAll("tbody tr")).toHaveLength(1);
  expect(host.textContent).toContain("1 row");
  leave();
});
