import { askBytes, askJson } from "../base/answers";
import { readArrow } from "../base/arrow";
import { okay, type Result } from "../base/result";
import type { CallingThread, CallKind, CallSource } from "../timeline/calls";
import { laneRow } from "../timeline/calls";
import { formatLength, formatTime } from "../timeline/time-format";
import type { Workspace } from "./panel";
import { link } from "./views/actors";
import { button, make } from "./views/elements";
import { count, duration, plural } from "./views/words";

/** Asks which threads have calls; null where there are none. */
export async function openCalls(api: string, tag: string, signal: AbortSignal): Promise<Result<CallSource | null>> {
  const answer = await askJson(`${api}/calling?v=${tag}`, signal);
  if (!answer.ok) return answer;
  const { threads, functions } = answer.value as { threads: CallingThread[]; functions: string[] };
  if (threads.length === 0) return okay(null);
  return okay({
    threads, functions,
    ask: async (key, { begin, end }, width, under) => {
      const bytes = await askBytes(`${api}/calls?thread=${key}&begin=${begin}&end=${end}&width=${width}&v=${tag}`, under);
      if (!bytes.ok) return bytes;
      const columns = readArrow(bytes.value, ["lane", "begin", "end", "function", "count", "complete"]);
      if (!columns.ok) return columns;
      const { value } = columns;
      return okay({
        lane: value.get("lane", Uint8Array),
        begin: value.get("begin", Float64Array),
        end: value.get("end", Float64Array),
        name: value.get("function", Int32Array),
        count: value.get("count", Uint32Array),
        complete: value.get("complete", Uint8Array),
      });
    },
  });
}

/** What the server tells of one call, `GET call`. Times and lengths in ns; null is not known. */
export interface CallAnswer {
  readonly kind: CallKind;
  readonly name: string;
  readonly thread: string;
  readonly lane: number;
  readonly begin: number;
  readonly end: number;
  readonly cpu: number | null;
  readonly total: number | null;
  readonly self_time: number | null;
  readonly around: readonly { readonly name: string; readonly lane: number; readonly begin: number; readonly end: number }[];
  readonly within: readonly { readonly name: string; readonly calls: number; readonly total: number }[];
  readonly within_more: number;
}

/** The details of a call: its times, the calls around it, and what it called. */
export function callParts(workspace: Workspace, key: number, call: CallAnswer): HTMLElement[] {
  const { selection } = workspace;
  const choose = ({ lane, begin, end }: Pick<CallAnswer, "lane" | "begin" | "end">): void => {
    const thread = { kind: call.kind, key, name: "", lanes: 0, calls: 0 };
    selection.reveal({ begin, end }, { row: laneRow(thread, lane, true).id, time: (begin + end) / 2 });
  };
  const known = (value: number | null): string => (value === null ? `not known: the ${call.kind === "slice" ? "slice" : "call"} is incomplete` : duration(value));
  const facts = [
    ["From", formatTime(call.begin, 1)],
    ["Total", known(call.total)],
    ["Self", known(call.self_time)],
    ["Thread", call.thread],
    ["CPU at its begin", call.cpu === null ? "not known" : String(call.cpu)],
    ["Depth", String(call.lane)],
  ].flatMap(([name = "", value = ""]) => [make("dt", {}, name), make("dd", {}, value)]);
  return [
    make("h2", {}, call.name),
    make("p", {}, `${call.kind} · ${formatLength(call.end - call.begin)}`),
    make("dl", {}, ...facts),
    make("div", { class: "ws-acts" },
      button("Show", () => {
        const margin = Math.max(call.end - call.begin, 1) * 0.15;
        selection.look({ begin: call.begin - margin, end: call.end + margin });
      }, { title: "In full width" }),
      button("Filter views", () => { selection.setRange({ begin: call.begin, end: call.end }); },
        { title: "All views show this span only" }),
      button("Note", () => { workspace.note({ begin: call.begin, end: call.end, row: null }); },
        { title: "Write a note on it (N)" })),
    ...(call.around.length === 0 ? [] : [
      make("h3", {}, call.kind === "slice" ? "Within" : "Called within"),
      make("ol", {}, ...call.around.map((outer) => make("li", {}, link(outer.name, () => { choose(outer); }, "Show this call")))),
    ]),
    ...(call.within.length === 0 ? [] : [
      make("h3", {}, call.kind === "slice" ? "In it" : "It called"),
      make("ul", { class: "ws-woke" }, ...call.within.map(({ name, calls, total }) =>
        make("li", {}, `${name}: ${plural(calls, "time")}, ${duration(total)}`))),
      ...(call.within_more === 0 ? [] : [make("p", {}, `${count(call.within_more)} more names`)]),
    ]),
    make("p", {}, call.kind === "slice"
      ? "Self is without the slices in it. Both times hold what the thread was off its CPU."
      : "Self is without the traced functions that it called. Both times hold what the thread was off its CPU."),
  ];
}
