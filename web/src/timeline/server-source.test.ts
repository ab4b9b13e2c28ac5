import { tableFromArrays, tableToIPC, uint8, uint16, uint32, int32, float64, uint64, columnFromArray, tableFromColumns } from "@uwdata/flechette";
import { afterEach, expect, it, vi } from "vitest";

import { okay } from "../base/result";
import { ServerSource } from "./server-source";
import { traceLook } from "./trace-look";

const asked: string[] = [];
const info = (): Response => Response.json({ name: "n", duration: 100, tag: "T" });

function serve(answers: Record<string, () => Response>): void {
  asked.length = 0;
  vi.stubGlobal("fetch", (address: string) => {
    asked.push(address);
    const name = /\/([a-z]+)(\?|$)/.exec(address)?.[1] ?? "";
    return Promise.resolve(({ info, ...answers } as Record<string, () => Response>)[name]?.() ?? new Response("{}", { status: 404 }));
  });
}

afterEach(() => {
  vi.unstubAllGlobals();
});

const ROWS = [
  { id: 0, kind: "cpu", name: "CPU 0", cpu: 0, tid: null, actor: null, busy: 9, instances: 2 },
  { id: 1, kind: "thread", name: "<img>", cpu: null, tid: 77, actor: 5, busy: 9, instances: 2 },
];

const json = (value: unknown) => (): Response => Response.json(value);
const arrow = (table: Parameters<typeof tableToIPC>[0]) => (): Response =>
  new Response((tableToIPC(table, { format: "stream" }) ?? new Uint8Array(0)) as BodyInit);

const open = (): ReturnType<typeof ServerSource.open> =>
  ServerSource.open(
    "/api/traces/k",
    (told) => okay(told as { name: string; duration: number; tag: string }),
    (_, rows) => traceLook(rows, ["running"], ["e"]),
  );

it("reads rows, losses and columns of the server", async () => {
  const wide = tableFromColumns({
    row: columnFromArray([1, 1], uint32()),
    begin: columnFromArray([0, 40], float64()),
    end: columnFromArray([30, 60], float64()),
    actor: columnFromArray([5, 5], int32()),
    state: columnFromArray([0, 0], uint8()),
    count: columnFromArray([1, 3], uint32()),
    ran: columnFromArray([30, 10], uint64()),
  });
  const marks = tableFromColumns({
    row: columnFromArray([1], uint32()),
    time: columnFromArray([7], float64()),
    event: columnFromArray([0], uint16()),
    count: columnFromArray([1], uint32()),
    index: columnFromArray([123_456_789_012], uint64()),
  });
  serve({
    rows: json(ROWS),
    losses: json([{ begin: 3, end: 9, cpu: 0, count: null, kind: "events" }]),
    levels: arrow(wide),
    events: arrow(marks),
    overview: arrow(tableFromArrays({ begin: Float64Array.of(0), events: Float64Array.of(4), cpu0: Float32Array.of(0.5) })),
  });
  const opened = await open();
  if (!opened.ok) throw new Error(opened.error);
  const { source, info: told } = opened.value;
  expect(told.name).toBe("n");
  expect(source.rows.map(({ name, detail, cpu }) => [name, detail, cpu])).toEqual([["CPU 0", "", 0], ["<img>", "77", null]]);
  expect(source.losses[0]?.count).toBeNull();
  const { signal } = new AbortController();
  const items = await source.items({ begin: 0, end: 64 }, 32, [0, 1], signal);
  expect(asked.at(-1)).toBe("/api/traces/k/levels?begin=0&end=64&width=32&rows=0-1&v=T");
  expect([items.length, ...items.begin, ...items.end, ...items.count]).toEqual([2, 0, 40, 30, 60, 1, 3]);
  expect((await source.marks({ begin: 0, end: 64 }, 32, [1], signal)).index[0]).toBe(123_456_789_012);
  const overview = await source.overview(8, signal);
  expect([overview.lanes.length, overview.lanes[0]?.[0], overview.events[0]]).toEqual([1, 0.5, 4]);
});

it("passes on what the server says is wrong", async () => {
  serve({ rows: () => Response.json({ error: { message: "it is damaged", remedy: "record it again" } }, { status: 422 }) });
  expect(await open()).toEqual({ ok: false, error: "it is damaged: record it again" });
  serve({ rows: json(ROWS), losses: json([]), levels: () => new Response("no arrow") });
  const opened = await open();
  if (!opened.ok) throw new Error(opened.error);
  const { signal } = new AbortController();
  await expect(opened.value.source.items({ begin: 0, end: 4 }, 4, [0], signal)).rejects.toThrow(/Arrow|column/);
  serve({ rows: json([]), losses: json([]) });
  expect(await open()).toEqual({ ok: false, error: "this trace holds no events" });
});
