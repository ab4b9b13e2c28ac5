import { askJson } from "../base/answers";
import type { Arrow } from "../timeline/arrows";
import { laneOf } from "../timeline/calls";
import { lossText } from "../timeline/overlay";
import { formatLength, formatTime } from "../timeline/time-format";
import { type CallAnswer, callParts } from "./calls";
import { pathArrows, rowOn, showPath } from "./critical-path";
import type { Instance, ItemAnswer, Woken } from "./item";
import type { Workspace } from "./panel";
import { link } from "./views/actors";
import { address, askDocument } from "./views/answer";
import type { Log, LogEvent } from "./views/answers";
import { button, make } from "./views/elements";
import { count, plural } from "./views/words";

/** Everything about what is chosen, beside the timeline. Returns what ends it. */
export function showDetails(host: HTMLElement, workspace: Workspace): () => void {
  let under: AbortController | null = null;
  const update = (): void => {
    under?.abort();
    under = new AbortController();
    const { place } = workspace.selection.value;
    workspace.showArrows([]);
    if (place === null) host.replaceChildren(...overall(workspace));
    else void showItem(host, workspace, place.row, place.time, under.signal);
  };
  update();
  const end = workspace.selection.subscribe((_, changed) => {
    if (changed.place) update();
  });
  return () => {
    under?.abort();
    end();
  };
}

async function showItem(
  host: HTMLElement,
  workspace: Workspace,
  row: number,
  time: number,
  signal: AbortSignal,
): Promise<void> {
  const lane = laneOf(row);
  if (lane !== null) {
    const where = `thread=${lane.key}&lane=${lane.lane}&t=${Math.floor(time)}&v=${workspace.info.tag}`;
    const call = await askJson(`${workspace.api}/call?${where}`, signal);
    if (signal.aborted) return;
    host.replaceChildren(...(call.ok
      ? callParts(workspace, lane.key, call.value as CallAnswer)
      : [make("p", { role: "alert" }, call.error)]));
    return;
  }
  const question = `row=${row}&t=${Math.floor(time)}&v=${workspace.info.tag}`;
  const answer = await askJson(`${workspace.api}/item?${question}`, signal);
  if (signal.aborted) return;
  if (!answer.ok) {
    host.replaceChildren(make("p", { role: "alert" }, answer.error));
    return;
  }
  const details = answer.value as ItemAnswer;
  host.replaceChildren(...itemParts(workspace, row, time, details));
  void fillFields(host, workspace, details, signal);
  const path = host.querySelector<HTMLElement>(".ws-path");
  const { instance } = details;
  if (instance === null || instance === undefined || path === null) return;
  const arrows = instanceArrows(workspace, row, instance);
  workspace.showArrows(arrows);
  const found = await showPath(path, workspace, instance.instance, signal);
  if (found !== null) workspace.showArrows([...pathArrows(workspace, found), ...arrows]);
}

/** From what woke the activation to its begin, and from it to what it woke. */
export function instanceArrows(
  workspace: Pick<Workspace, "rows" | "rowOf">,
  row: number,
  { waker, woke, ready, begin }: Pick<Instance, "waker" | "woke" | "ready" | "begin">,
): Arrow[] {
  const from = waker === null ? null : rowOn(workspace, waker.actor, waker.cpu);
  const since = waker?.time ?? ready;
  const cause: Arrow[] = from === null || since === null || begin === null ? [] : [
    { from: { row: from.id, time: since }, to: { row, time: begin }, kind: "cause" },
  ];
  const effects = woke.flatMap(({ actor, cpu, time, begin: began }): Arrow[] => {
    const to = rowOn(workspace, actor, cpu);
    if (to === null || time === null) return [];
    return [{ from: { row, time }, to: { row: to.id, time: began }, kind: "effect" }];
  });
  return [...cause, ...effects];
}

/** What there is to say where nothing is chosen. */
function overall({ api, info, rows }: Workspace): HTMLElement[] {
  const list = facts([
    ["Length", formatLength(info.duration)],
    ["Events", count(info.events)],
    ["CPUs", info.cpus.join(", ") || "not known"],
    ["Actors", count(info.actors)],
    ["Rows", count(rows.length)],
    ["Clock", info.clock.name],
    ["Format", info.format],
    ["First event", `${info.origin} ns`],
    ["Losses", info.losses === 0 ? "none" : `${plural(info.losses, "span")} of time without events`],
  ]);
  return [
    make("h2", {}, info.name),
    make("p", {}, "Click an item for its details. Drag moves; Shift and drag, or a drag on the " +
      "axis, filters all views; Ctrl and the wheel zooms."),
    list,
    make("p", {}, make("a", { href: `${api}/perfetto`, download: true }, "Save for Perfetto")),
    ...remarks("Remarks", info.remarks),
    ...remarks("Damage", info.damage),
  ];
}

function remarks(title: string, texts: readonly string[]): HTMLElement[] {
  if (texts.length === 0) return [];
  const items = texts.slice(0, MOST_REMARKS).map((text) => make("li", {}, text));
  return [make("h3", {}, title), make("ul", {}, ...items)];
}

const MOST_REMARKS = 12;

function itemParts(
  workspace: Workspace,
  rowId: number,
  time: number,
  { item, here, instance, events }: ItemAnswer,
): HTMLElement[] {
  const { selection } = workspace;
  const row = workspace.rows.find(({ id }) => id === rowId);
  if (item === null) {
    return [
      make("h2", {}, row?.name ?? ""),
      ...(here.length > 0 ? eventsHere(here) : [make("p", {}, `Nothing at ${formatTime(time, 1)}.`)]),
    ];
  }
  const { actor } = item;
  const length = item.end - item.begin;
  // Where an item begins or ends is an event that says so: it is the item that was meant.
  const isInside = time > item.begin && time < item.end;
  const acts = make("div", { class: "ws-acts" },
    button("Show", () => { selection.reveal(item); zoomTo(workspace, item.begin, item.end); },
      { title: "In full width" }),
    button("Filter views", () => { selection.setRange({ begin: item.begin, end: item.end }); },
      { title: "All views show this span only" }),
    button("Note", () => {
      workspace.note({ begin: Math.round(item.begin), end: Math.round(item.end), row: rowId });
    }, { title: "Write a note on it (N)" }),
  );
  return [
    make("h2", {}, actor.name),
    make("p", {}, [...new Set([actor.kind, item.state]), item.cpu === null ? "" : `on CPU ${item.cpu}`].filter(Boolean).join(" · ")),
    facts([
      ["From", formatTime(item.begin, 1)],
      ["To", formatTime(item.end, 1)],
      ["Length", formatLength(length)],
      ["Thread", actor.tid === null ? null : String(actor.tid)],
      ["Process", actor.process === null ? null : String(actor.process)],
      ["Priority", actor.priority === null ? null : String(actor.priority)],
    ]),
    acts,
    ...(isInside ? eventsHere(here) : []),
    ...lossesIn(workspace, item.begin, item.end),
    ...(instance === null || instance === undefined ? [] : instanceParts(workspace, instance)),
    ...(isInside ? [] : eventsHere(here)),
    ...(events === null || events === undefined ? [] : [
      make("h3", {}, plural(events.count, "event")),
      make("ol", {}, ...events.listed.map(({ time: at, event, index }) =>
        make("li", { class: "ws-event", "data-index": String(index) }, make("span", {}, `+${formatLength(at - item.begin)}`), make("div", {},
          link(event, () => { selection.choose({ row: rowId, time: at }); }, "Choose this event"))))),
    ]),
  ];
}

/** The events that are chosen, in full. */
function eventsHere(here: readonly LogEvent[]): HTMLElement[] {
  return here.flatMap(({ time, cpu, event, fields }) => [
    make("h3", {}, event),
    facts([
      ["At", formatTime(time, 1)],
      ["CPU", cpu === null ? null : String(cpu)],
      ...fields.map(([name, value]) => [name, value] as const),
    ]),
  ]);
}

/** Writes beside each listed event what it carries: asked for once all else is there. */
async function fillFields(host: HTMLElement, workspace: Workspace, { item, events }: ItemAnswer, signal: AbortSignal): Promise<void> {
  const listed = events?.listed.length ?? 0;
  if (item === null || listed === 0) return;
  const words = { cpu: item.cpu, limit: listed, v: workspace.info.tag };
  const span = { begin: item.begin, end: item.end + 1 };
  const answer = await askDocument<Log>(address(workspace, "log", words, span), signal);
  if (signal.aborted || !answer.ok) return;
  for (const { index, fields } of answer.value.events) {
    const text = fields.map(([name, value]) => `${name}=${value}`).join(" ");
    host.querySelector(`[data-index="${index}"] > div`)?.append(make("span", { class: "ws-fields" }, text));
  }
}

function instanceParts(workspace: Workspace, instance: Instance): HTMLElement[] {
  const long = (value: number | null | undefined): string | null =>
    value === null || value === undefined ? null : formatLength(value);
  const { waker } = instance;
  const who = waker === null ? null : button(waker.name, () => {
    const row = rowOn(workspace, waker.actor, waker.cpu);
    const at = waker.time ?? instance.begin ?? 0;
    const place = row === null ? null : { row: row.id, time: at };
    workspace.selection.reveal({ begin: at, end: at + 1 }, place, waker.actor);
  }, { title: "Show who woke it (C)", "data-cause": true });
  return [
    make("h3", {}, "Activation"),
    facts([
      ["Ready", instance.ready === null ? null : formatTime(instance.ready, 1)],
      ["Began", instance.begin === null ? null : formatTime(instance.begin, 1)],
      ["Ended", instance.end === null ? null : formatTime(instance.end, 1)],
      ["Wake-up to run", long(instance.latency)],
      ["Execution", long(instance.execution)],
      ["Response", long(instance.response)],
      ["Period", long(instance.period)],
      ["Preempted", instance.preemptions === null || instance.preemptions === undefined
        ? null : plural(instance.preemptions, "time")],
      ["Woken by", who],
      ["Woke", instance.woke.length === 0 ? null : wokenList(workspace, instance)],
      ["Incomplete", instance.unsure.length === 0 ? null : instance.unsure.join("; ")],
    ]),
    make("div", { class: "ws-path" }),
  ];
}

function wokenList(workspace: Workspace, { woke, woke_count: all }: Instance): HTMLElement {
  const list = make("ul", { class: "ws-woke" }, ...woke.map((one, at) => make("li", {},
    link(one.name, () => { showWoken(workspace, one); }, "Show it",
      at === 0 ? { "data-effect": true, title: "Show it (Shift+C)" } : {}))));
  if (all > woke.length) list.append(make("li", {}, `${count(all - woke.length)} more`));
  return list;
}

function showWoken(workspace: Workspace, { actor, cpu, begin }: Woken): void {
  const row = rowOn(workspace, actor, cpu);
  const place = row === null ? null : { row: row.id, time: begin };
  workspace.selection.reveal({ begin, end: begin + 1 }, place, actor);
}

function lossesIn({ losses }: Workspace, begin: number, end: number): HTMLElement[] {
  const lost = losses.filter((loss) => loss.begin < end && loss.end > begin);
  return lost.slice(0, 3).map(({ kind, count, cpu }) =>
    make("p", { class: "tl-tip-loss" }, `Incomplete: ${lossText(kind, count, cpu)} meanwhile`));
}

function zoomTo({ selection }: Workspace, begin: number, end: number): void {
  const margin = Math.max(end - begin, 1) * 0.15;
  selection.look({ begin: begin - margin, end: end + margin });
}

/** Names and values, one below the other; what is null is left out. */
function facts(pairs: readonly (readonly [string, Node | string | null])[]): HTMLElement {
  const rows = pairs.flatMap(([name, value]) =>
    value === null ? [] : [make("dt", {}, name), make("dd", {}, value)]);
  return make("dl", {}, ...rows);
}

/** Goes to what woke or raised the chosen activation, as its button does; false where none is known. */
export const showCause = (details: HTMLElement): boolean => press(details, "[data-cause]");

/** Goes to the first that the chosen activation woke or raised. */
export const showEffect = (details: HTMLElement): boolean => press(details, "[data-effect]");

function press(details: HTMLElement, which: string): boolean {
  const button = details.querySelector<HTMLButtonElement>(which);
  button?.click();
  return button !== null;
}
