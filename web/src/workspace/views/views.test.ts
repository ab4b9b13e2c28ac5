import { expect, test, vi } from "vitest";
import { eventually } from "../../eventually";

import { actorColour } from "../../timeline/colours";
import { failed } from "../../base/result";
import { Finds } from "../finds";
import { Selection } from "../selection";
import type { Workspace } from "../panel";
import { around, reveal } from "./actors";
import type { ActorRow, Distribution, Latency, OverTime } from "./answers";
import { address } from "./answer";
import { counters } from "./counters";
import { make } from "./elements";
import { hopText, latency, sharedFields } from "./latency";
import { momentOf, nearestTime } from "./log";
import { colourOf, corners, topOf } from "./overtime";
import { keyTarget, pointing, type Points } from "./pointing";
import { type Cloud, extent, nearest, plan } from "./scatter";
import { functions } from "./functions";
import { noise } from "./noise";
import { modes } from "./modes";
import { search } from "./search";
import { isNumber } from "./sql";
import { sorted, sorting } from "./statistics";

function workspace(selection = new Selection(1000)): Workspace {
  return {
    api: "/api/traces/k",
    info: { duration: 1000 },
    rows: [{ id: 7, kind: "irq", name: "eth0", detail: "", actor: 3, busy: 1, instances: 1 }],
    losses: [],
    selection,
    rowOf: (actor: number) => (actor === 3 ? { id: 7 } : null),
    actorName: String,
    parameter: () => null,
    setParameter: () => undefined,
    finds: new Finds(selection, () => Promise.resolve(failed("nobody was asked"))),
  } as unknown as Workspace;
}

test("text from a trace never becomes markup", () => {
  const made = make("p", { title: "<b>" }, "<img src=x onerror=alert(1)>");
  expect(made.querySelector("img")).toBeNull();
  expect(made.textContent).toBe("<img src=x onerror=alert(1)>");
});

test("a question has the chosen range and leaves out what is not said", () => {
  const selection = new Selection(1000, { range: { begin: 10, end: 20 } });
  const where = address(workspace(selection), "load", { bins: 5, by_name: false, actor: null, text: "" });
  expect(where).toBe("/api/traces/k/load?begin=10&end=20&bins=5");
  expect(address(workspace(), "actors", {})).toBe("/api/traces/k/actors");
});

test("a click on a point moves the timeline and chooses what is there", () => {
  const selection = new Selection(1_000_000, { view: { begin: 0, end: 100 } });
  reveal(workspace(selection), 3, 5000, 5200);
  const { view, place, actor } = selection.value;
  expect(place).toEqual({ row: 7, time: 5000 });
  expect(actor).toBe(3);
  expect(view.begin).toBeLessThan(5000);
  expect(view.end).toBeGreaterThan(5200);
});

test("a moment is shown in the middle of as much as now, or of a part of a long trace", () => {
  const now = { begin: 0, end: 100 };
  expect(around(500, now, 10_000)).toEqual({ begin: 490, end: 510 });
  const { begin, end } = around(500, { begin: 0, end: 10_000 }, 10_000);
  expect(end - begin).toBeCloseTo(10);
});

const row = (actor: string, busy: number, execution: number | null): ActorRow =>
  ({ actor, busy, execution: execution === null ? null : { median: execution } }) as ActorRow;

test("rows without a value stand last in either direction", () => {
  const rows = [row("a", 1, null), row("b", 3, 10), row("c", 2, 20)];
  const [execution] = sorting("execution");
  expect(sorted(rows, execution, true).map(({ actor }) => actor)).toEqual(["b", "c", "a"]);
  expect(sorted(rows, execution, false).map(({ actor }) => actor)).toEqual(["c", "b", "a"]);
  const [load, rising] = sorting(null);
  expect(sorted(rows, load, rising).map(({ actor }) => actor)).toEqual(["b", "c", "a"]);
});

test("an unknown column of the address is the load, from above", () => {
  expect(sorting("nonsense")[0].id).toBe("share");
  expect(sorting("nonsense")[1]).toBe(false);
  expect(sorting("-actor")[1]).toBe(false);
});

test("the log finds where the timeline stands", () => {
  expect(nearestTime([10, 20, 30], 20)).toBe(1);
  expect(nearestTime([10, 20, 30], 21)).toBe(2);
  expect(nearestTime([10, 20, 30], 5)).toBe(-1);
  expect(nearestTime([10, 20, 30], 31)).toBe(-1);
  expect(nearestTime([], 1)).toBe(-1);
});

test("the log stands where the timeline does", () => {
  const nothing = { range: null, area: null, place: null, actor: null };
  const view = { begin: 300, end: 400 };
  expect(momentOf({ ...nothing, view })).toBe(300);
  expect(momentOf({ ...nothing, view, place: { row: 1, time: 350 } })).toBe(350);
  expect(momentOf({ ...nothing, view, place: { row: 1, time: 20 } })).toBe(300);
  expect(momentOf({ ...nothing, view: { begin: -5, end: 400 }, range: { begin: 40, end: 90 } })).toBe(40);
});

test("a kind of event that was found leads to the log", async () => {
  const opened = vi.fn();
  const found = { actors: [], events: [{ name: "printk_console", count: 1 }], hits: [], found: 0, complete: true };
  const answer = { ok: true, json: () => Promise.resolve(found), text: () => Promise.resolve(JSON.stringify(found)) };
  vi.stubGlobal("fetch", () => Promise.resolve(answer));
  const host = document.createElement("div");
  const of = { ...workspace(), openPanel: opened, parameter: () => "printk" };
  const unmount = search.mount(host, of);
  await eventually(() => { expect(host.textContent).toContain("printk_console 1 time"); });
  expect(host.textContent).not.toContain("1 times");
  host.querySelector<HTMLButtonElement>(".view-link")?.click();
  expect(opened).toHaveBeenCalledWith("log", { "log-event": "printk_console", "log-field": null });
  unmount();
  vi.unstubAllGlobals();
});

test("an empty search is not asked, and says what can be found", async () => {
  const asked = vi.fn();
  vi.stubGlobal("fetch", asked);
  const host = document.createElement("div");
  const unmount = search.mount(host, { ...workspace(), parameter: () => " " });
  await eventually(() => { expect(host.textContent).toContain("Finds a text"); });
  expect(asked).not.toHaveBeenCalled();
  unmount();
  vi.unstubAllGlobals();
});

test("the address names the counters, and keeps those that are added", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (where: string) => {
    asked.push(new URL(where, "http://h").searchParams.get("counter") ?? "the usual ones");
    const found = { counters: [], names: [] };
    return Promise.resolve({ ok: true, json: () => Promise.resolve(found), text: () => Promise.resolve(JSON.stringify(found)) });
  });
  const words = new Map([["counter", "cpu_idle.state"]]);
  const host = document.createElement("div");
  const unmount = counters.mount(host, {
    ...workspace(),
    parameter: (name) => words.get(name) ?? null,
    setParameter: (name, value) => { if (value === null) words.delete(name); else words.set(name, value); },
  });
  await eventually(() => { expect(asked).toEqual(["cpu_idle.state"]); });
  const field = host.querySelector("input");
  if (field !== null) field.value = " load.value ";
  host.querySelector("form")?.dispatchEvent(new Event("submit", { cancelable: true }));
  await eventually(() => { expect(asked[1]).toBe("cpu_idle.state,load.value"); });
  expect([...words]).toEqual([["counter", "cpu_idle.state,load.value"]]);
  host.querySelector<HTMLButtonElement>("button[title]")?.click();
  await eventually(() => { expect(asked[2]).toBe("the usual ones"); });
  expect(words.size).toBe(0);
  unmount();
  vi.unstubAllGlobals();
});

test("modes say what distinguishes them, and lead to the typical and the longest", async () => {
  const mode = { share: 0.5, low: 300_000, execution: 1, latency: null, suspended: 0, traits: [] };
  const found = {
    begin: 0, end: 25, cautions: [],
    of: {
      actor: "task:iperf3/7", ids: [1], metric: "response", count: 20, unsure: 2,
      modes: [
        { ...mode, count: 10, median: 350_000, high: 400_000, typical_at: 5, longest_at: 9 },
        {
          ...mode, count: 10, median: 550_000, high: 600_000, typical_at: 15, longest_at: 19,
          traits: [{ kind: "woken by", what: "irq:eth0", share: 1, elsewhere: 0.1 }],
        },
      ],
    },
  };
  const asked: string[] = [];
  const answer = { ok: true, json: () => Promise.resolve(found), text: () => Promise.resolve(JSON.stringify(found)) };
  vi.stubGlobal("fetch", (where: string) => {
    asked.push(where);
    return Promise.resolve(answer);
  });
  const host = document.createElement("div");
  const unmount = modes.mount(host, { ...workspace(), parameter: (name) => (name === "modes-metric" ? "beauty" : null) });
  await eventually(() => { expect(host.textContent).toContain("woken by irq:eth0"); });
  expect(asked[0]).toContain("metric=response");
  expect(host.querySelector("caption")?.textContent).toBe("task:iperf3/7: response of 20 activations; 2 incomplete activations left out");
  expect([...host.querySelectorAll(".view-link")].map(({ textContent }) => textContent)).toEqual(["350.0 µs", "400.0 µs", "550.0 µs", "600.0 µs"]);
  unmount();
  vi.unstubAllGlobals();
});

test("functions without times have dashes, and the longest call is a link", async () => {
  const total = { count: 2, mean: 5, minimum: 1, median: 5, interval: null, p95: 8, p99: 9, p999: 9, maximum: 9_000, total: 10_000 };
  const rows = [
    { name: "<b>vfs_read", calls: 2, incomplete: 0, total, self_time: 4000, self_share: 0.5, worst_at: 7, worst_cpu: 1 },
    { name: "vfs_write", calls: 3, incomplete: 0, total: null, self_time: null, self_share: null, worst_at: null, worst_cpu: null },
  ];
  const found = { begin: 0, end: 25, cautions: [], functions: rows, more: 4 };
  const answer = { ok: true, json: () => Promise.resolve(found), text: () => Promise.resolve(JSON.stringify(found)) };
  vi.stubGlobal("fetch", () => Promise.resolve(answer));
  const host = document.createElement("div");
  const unmount = functions.mount(host, workspace());
  await eventually(() => { expect(host.textContent).toContain("<b>vfs_read"); });
  expect(host.querySelector("caption")?.textContent).toContain("4 more not shown");
  const cells = [...host.querySelectorAll("tbody tr")].map((row) => [...row.children].map(({ textContent }) => textContent));
  expect(cells[0]?.at(-1)).toBe("9.00 µs");
  expect(cells[1]?.slice(3)).toEqual(["–", "–", "–", "–", "–", "–", "–"]);
  unmount();
  vi.unstubAllGlobals();
});

test("noise and latencies are tables, the longest lead to the timeline, names are texts", async () => {
  const time = { count: 2, mean: 5, minimum: 1, median: 5, interval: null, p95: 8, p99: 9, p999: 9, maximum: 9_000, total: 10_000 };
  const worst = {
    cpu: 1, activation: 7, context: "thread", latency: 9_000, due: 10, at: 9_010, running: "task:<b>cc1/7", incomplete: true,
    parts: [{ what: "blocking thread", who: "task:<b>cc1/7", count: 1, time: 6_000, share: 2 / 3 }, { what: "not told", who: "", count: 0, time: 3_000, share: 1 / 3 }],
    stack: ["timerlat_irq", "vfs_write"],
  };
  const found = {
    begin: 0, end: 25, cautions: [], more: 3, has_noises: true, worst: [worst],
    latencies: [{ context: "thread", cpu: null, latency: time, worst_at: 9_010, worst_cpu: 1 }],
    sources: [{ kind: "irq", name: "irq:eth0/24", duration: time, share: 0.5, worst_at: 7, worst_cpu: 1 }],
    cpus: [{ cpu: 0, periods: 2, runtime: null, noise: 380_000, available: 0.99981, most: 190_000, most_at: 4, longest: 9_000, longest_at: 5, hardware: 36, nmi: 0, irq: 2014, softirq: 36, thread: 2 }],
  };
  const answer = { ok: true, json: () => Promise.resolve(found), text: () => Promise.resolve(JSON.stringify(found)) };
  vi.stubGlobal("fetch", () => Promise.resolve(answer));
  const host = document.createElement("div");
  const here = workspace();
  const unmount = noise.mount(host, here);
  await eventually(() => { expect(host.textContent).toContain("task:<b>cc1/7"); });
  const tables = [...host.querySelectorAll("table")];
  expect(tables).toHaveLength(4);
  expect(host.querySelector("p.view-note")?.textContent).toContain("Incomplete");
  expect([...tables[2]?.querySelectorAll("tbody td") ?? []].map(({ textContent }) => textContent).slice(1, 4)).toEqual(["–", "380.0 µs", "99.981 %"]);
  expect(tables[3]?.caption?.textContent).toContain("3 more not shown");
  host.querySelector<HTMLButtonElement>("p.view-note button")?.click();
  expect(here.selection.value.view).not.toEqual({ begin: 0, end: 1000 });
  expect(noise.suits?.({ ...here.info, has_noise: false })).toBe(false);
  unmount();
  vi.unstubAllGlobals();
});

const over: OverTime = {
  begin: 0,
  end: 25,
  cautions: [],
  unit: "share of a CPU",
  first: 0,
  width: 10,
  everything: { name: "all", ids: [], whole: 1, values: [1, 1, 1] },
  cpus: [],
  actors: [],
  others: null,
};

test("bins are steps, and the last ends with the span", () => {
  const line = { name: "a", ids: [1], whole: 0.5, values: [0.2, 0.4, 0.6] };
  expect(corners(over, [line], true).map(({ time }) => time)).toEqual([0, 10, 10, 20, 20, 25]);
  const [second] = corners(over, [line, line], true).slice(6);
  expect([second?.low, second?.high]).toEqual([0.2, 0.4]);
  expect(corners(over, [line, line], false).every(({ low }) => low === 0)).toBe(true);
  expect(topOf({ stacked: true }, over, [line, line])).toBeCloseTo(1.2 * 1.02);
  expect(topOf({ stacked: false }, over, [line, line])).toBeCloseTo(0.6 * 1.02);
  expect(topOf({ stacked: true }, over, [])).toBe(1);
});

const cloud: Cloud = {
  length: 3,
  x: Float64Array.of(0, 500, 1000),
  y: Float64Array.of(10, 1000, 100),
  flags: Uint8Array.of(0, 0, 4),
};

test("the nearest point is no farther than a fingertip", () => {
  const where = plan(cloud, { time: true, xDomain: [0, 1000], log: true }, 800, 300);
  const at = (point: number): [number, number] => [
    where.x.at(cloud.x[point] ?? 0),
    where.y.at(cloud.y[point] ?? 0),
  ];
  for (const point of [0, 1, 2]) {
    const [x, y] = at(point);
    expect(nearest(cloud, where, x + 5, y - 5)).toBe(point);
    expect(x).toBeGreaterThan(0);
    expect(y).toBeLessThan(300);
  }
  expect(nearest(cloud, where, 250, 5)).toBe(-1);
  expect(extent(new Float64Array(0))).toEqual([0, 1]);
});

test("keys go through the points and stay within them", () => {
  expect(keyTarget("ArrowRight", -1, 3)).toBe(0);
  expect(keyTarget("ArrowRight", 2, 3)).toBe(2);
  expect(keyTarget("ArrowLeft", -1, 3)).toBe(2);
  expect(keyTarget("ArrowLeft", 0, 3)).toBe(0);
  expect(keyTarget("End", 0, 3)).toBe(2);
  expect(keyTarget("x", 0, 3)).toBeNull();
});

test("a chart is used by keyboard alone", () => {
  const stage = make("div");
  const choose = vi.fn();
  const points: Points = {
    length: 2,
    nearest: () => 0,
    place: () => ({ x: 0, y: 0 }),
    text: (point) => `point ${point}`,
    choose,
    span: null,
    chooseSpan: () => undefined,
  };
  const end = pointing(stage, "Instances", () => points);
  const press = (key: string): void => {
    stage.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  };
  press("Enter");
  expect(choose).not.toHaveBeenCalled();
  press("ArrowRight");
  press("ArrowRight");
  expect(stage.querySelector("output")?.textContent).toBe("point 1");
  press("Enter");
  expect(choose).toHaveBeenCalledWith(1);
  end();
  press("Enter");
  expect(choose).toHaveBeenCalledTimes(1);
});

test("a hop that was not matched by cause says so loudly", () => {
  const hop = { start: "irq:a", end: "task:b", method: "next", starts: 10, starts_matched: 9, ends: 8, ends_matched: 7, few_by_cause: 1 } as const;
  expect(hopText(hop)).toContain("NOT BY CAUSE: each start with the next end after it; by cause only 1;");
  expect(hopText({ ...hop, method: "cause" })).toContain("by cause (who woke or raised whom)");
  expect(hopText({ ...hop, method: "fields" })).toContain("by field: each start with the next end");
});

test("fields that both events have are offered to pair them by", () => {
  const event = (name: string, ...fields: string[]) => ({ name, count: 1, fields });
  const names = { actors: [], events: [event("issue", "dev", "sector", "comm"), event("complete", "dev", "sector", "error")] };
  expect(sharedFields(names, "event:issue[dev==8]", "event:complete")).toEqual(["dev", "sector"]);
  expect(sharedFields(names, "event:issue", "task:x")).toEqual([]);
});

test("the latency view asks for pairs by fields, a line each, and for no other matching", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (where: string) => {
    asked.push(where);
    const answer = where.includes("/latency?")
      ? { hops: [], unsure: 0, total: null } : { actors: [], events: [] };
    return Promise.resolve(new Response(JSON.stringify(answer)));
  });
  const words: Record<string, string> = {
    "latency-from": "event:a", "latency-to": "event:b", "latency-by": "dev, sector=nr", "latency-match": "next",
  };
  const host = make("div");
  const end = latency.mount(host, { ...workspace(), parameter: (name: string) => words[name] ?? null });
  await eventually(() => { expect(asked.some((where) => where.includes("/latency?"))).toBe(true); });
  const query = new URL(asked.find((where) => where.includes("/latency?")) ?? "", "http://x").searchParams;
  expect(query.get("by")).toBe("dev\nsector=nr");
  expect(query.has("match")).toBe(false);
  expect(host.querySelector("select")?.disabled).toBe(true);
  end();
  vi.unstubAllGlobals();
});

test("numbers of SQL stand right", () => {
  expect(["BIGINT", "UINTEGER", "DOUBLE", "NUMBER", "DECIMAL(18,3)"].map(isNumber)).toEqual(Array(5).fill(true));
  expect(isNumber("VARCHAR")).toBe(false);
});

test("the latency view shows every hop, way, stage and occurrence of its answer", async () => {
  const time: Distribution = {
    count: 9, mean: 5, minimum: 1, median: 5, interval: null, p95: 8, p99: 9, p999: 9, maximum: 9,
  };
  const stage = (name: string) => ({ name, time, share: 0.5 });
  const hop = { start: "irq:a", end: "task:b", method: "cause", starts: 9, starts_matched: 9, ends: 9, ends_matched: 9, few_by_cause: 0 };
  const answer = {
    hops: [hop, { ...hop, start: "task:b", end: "task:c" }],
    occurrences: 9, unsure: 0, unsure_kept: false, total: time, more_ways: 0,
    ways: [
      { count: 6, stages: [stage("first"), stage("second")] },
      { count: 3, stages: [stage("third"), stage("fourth"), stage("fifth")] },
    ],
    steps: [{ low: 1, high: 9, share: 1 }],
    worst: [40, 30, 20].map((begin) => ({
      begin, end: begin + 9, latency: 9, begin_cpu: 0, end_cpu: 1, end_actor: `ends ${String(begin)}`, actor: 3,
      stages: [{ name: "first", time: 4 }, { name: "second", time: 5 }],
    })),
  } as unknown as Latency;
  const given: Record<string, unknown> = { latency: answer, names: { actors: ["irq:a", "task:b"], events: [{ name: "tick" }] } };
  vi.stubGlobal("fetch", (where: string) =>
    Promise.resolve(new Response(JSON.stringify(given[where.split("?")[0]?.split("/").at(-1) ?? ""]))),
  );
  const host = document.createElement("div");
  const set = { ...workspace(), parameter: () => "irq:a" } as unknown as Workspace;
  const leave = latency.mount(host, set);
  await eventually(() => {
    expect(host.querySelectorAll("table").length).toBeGreaterThan(0);
  });
  const texts = (query: string): string[] => [...host.querySelectorAll(query)].map((each) => each.textContent);
  const rows = texts("tbody tr");
  for (const name of ["first", "second", "third", "fourth", "fifth", "ends 40", "ends 30", "ends 20"]) {
    expect(rows.filter((row) => row.includes(name))).toHaveLength(1);
  }
  expect(texts("p").filter((text) => text.includes("task:b"))).toHaveLength(2);
  expect([...host.querySelectorAll("option")].map(({ value }) => value)).toEqual(expect.arrayContaining(["irq:a", "task:b", "event:tick"]));
  leave();
  vi.unstubAllGlobals();
});

test("an actor has its colour of the timeline, CPUs and the rest have none", () => {
  const lineOf = (...ids: number[]): OverTime["everything"] => ({ name: "x", ids, whole: 1, values: [1] });
  const [sensor, cpu, others] = [lineOf(7), lineOf(), lineOf(9)];
  const rowOf = (actor: number): never => ({ kind: "irq", name: actor === 7 ? "sensor" : "eth0" }) as never;
  const lines = [sensor, cpu, others];
  const colours = lines.map((_, at) => colourOf({ others }, lines, at, { rowOf }));
  expect(colours).toEqual([`var(${actorColour("irq", "sensor")})`, "var(--line-2)", "var(--rule-strong)"]);
});
