import { csv, save } from "../../base/saving";
import type { Panel, Workspace } from "../panel";
import type { Chosen } from "../selection";
import { actorField, link, reveal } from "./actors";
import type { Log, LogEvent } from "./answers";
import { address, Answer, askDocument, nothing, type Words } from "./answer";
import { button, labelled, make, tick } from "./elements";
import { count, moment } from "./words";

const PAGE = 200;
const SAVED_AT_ONCE = 1000;
const MOST_SAVED = 100_000;
/** The log follows when the timeline has come to rest, not while it moves. */
const SETTLE_MS = 250;

/** All events in order of time, or some: by type, actor, CPU and value. It follows the timeline. */
export const log: Panel = {
  id: "log",
  title: "Event log",
  mount(host, workspace) {
    const pages = make("div", { class: "view-bar view-pages" });
    const list = make("div", { class: "view-scroll view-log" });
    const [actors, updateActors] = actorField(workspace, "all");
    let offset: number | null = null;
    let total = 0;
    let settling: ReturnType<typeof setTimeout> | undefined;
    const from = (start: number | null): void => {
      offset = start;
      answer.again();
    };
    const changed = (): void => {
      clearTimeout(settling);
      from(null);
    };
    const only = tick("Only what happened while it ran", ofActor(workspace), (on) => {
      workspace.setParameter("log-actor", on ? "1" : null);
      changed();
    });
    const typed = (): void => {
      clearTimeout(settling);
      settling = setTimeout(changed, SETTLE_MS);
    };
    const fields = {
      event: filter(workspace, "event", "sched_switch, irq_*", changed),
      field: filter(workspace, "field", "prev_comm==make", changed),
      cpu: filter(workspace, "cpu", "0, 1", changed),
    };
    // A part of a name is one, too: nothing is wrong while it is typed.
    fields.event.addEventListener("input", typed);
    host.append(
      make(
        "form",
        { class: "view-bar" },
        labelled("Events", fields.event),
        labelled("Fields", fields.field),
        labelled("CPUs", fields.cpu),
        actors,
        only,
      ),
      pages,
      list,
    );
    const said = make("span", { class: "view-note", role: "status" });
    const saving = new AbortController();
    host.querySelector("form")?.append(
      button("Save as CSV", () => { void saveEvents(workspace, query(), said, saving.signal); },
        { title: `The events that the filters leave, at most ${count(MOST_SAVED)}` }),
      said);
    host.querySelector("form")?.addEventListener("submit", (event) => {
      event.preventDefault();
    });
    const query = (): Words => ({
      event: fields.event.value.trim(),
      field: fields.field.value.trim(),
      cpu: fields.cpu.value.trim(),
      actor: ofActor(workspace) ? workspace.selection.value.actor : null,
    });
    const answer = new Answer<Log>(
      list,
      (signal) => {
        const at = offset === null ? momentOf(workspace.selection.value) : null;
        return askDocument(address(workspace, "log", { ...query(), offset, at, limit: PAGE }), signal);
      },
      (found) => {
        offset = found.offset;
        total = found.total;
        list.replaceChildren(found.events.length === 0 ? nothing("No such event in this span.") : drawTable(workspace, found));
        pages.replaceChildren(...drawPages(found, from));
        showPlace(list, workspace);
      },
    );
    answer.again();
    const unsubscribe = workspace.selection.subscribe((_, what) => {
      if (what.actor) updateActors();
      if (what.range || (what.actor && ofActor(workspace))) changed();
      else if (what.place && !showPlace(list, workspace) && total > 0) changed();
      else if (what.view && !isListed(list, momentOf(workspace.selection.value))) {
        clearTimeout(settling);
        settling = setTimeout(changed, SETTLE_MS);
      }
    });
    return () => {
      clearTimeout(settling);
      saving.abort();
      unsubscribe();
      answer.stop();
    };
  },
};

/** Saves the events that a query leaves as CSV, a page after another. */
export async function saveEvents(workspace: Workspace, query: Words, said: HTMLElement, signal: AbortSignal): Promise<void> {
  const lines: (readonly unknown[])[] = [["time_ns", "cpu", "event", "while", "fields"]];
  let total = Infinity;
  while (lines.length - 1 < Math.min(total, MOST_SAVED)) {
    said.textContent = `Asking … ${count(lines.length - 1)}`;
    const words = { ...query, offset: lines.length - 1, limit: SAVED_AT_ONCE };
    const answer = await askDocument<Log>(address(workspace, "log", words), signal);
    if (signal.aborted) return;
    if (!answer.ok) {
      said.textContent = answer.error;
      return;
    }
    ({ total } = answer.value);
    for (const { time, cpu, event, actor_name: actor, fields } of answer.value.events) {
      lines.push([time, cpu, event, actor, fields.map(([name, value]) => `${name}=${value}`).join(" ")]);
    }
    if (answer.value.events.length === 0) break;
  }
  save(csv(lines), `${workspace.info.name} events.csv`);
  const saved = lines.length - 1;
  said.textContent = saved < total ? `Saved the first ${count(saved)} of ${count(total)} events.` : `Saved ${count(saved)} events.`;
}

const ofActor = (workspace: Workspace): boolean => workspace.parameter("log-actor") === "1";

function filter(workspace: Workspace, id: string, example: string, changed: () => void): HTMLInputElement {
  const field = make("input", { type: "text", placeholder: example, spellcheck: "false", autocomplete: "off" });
  field.value = workspace.parameter(`log-${id}`) ?? "";
  field.addEventListener("change", () => {
    workspace.setParameter(`log-${id}`, field.value.trim() || null);
    changed();
  });
  return field;
}

function drawTable(workspace: Workspace, found: Log): HTMLElement {
  const body = make("tbody");
  for (const event of found.events) body.append(drawRow(workspace, event));
  const head = make(
    "tr",
    {},
    make("th", { scope: "col", class: "num" }, "Time"),
    make("th", { scope: "col", class: "num" }, "CPU"),
    make("th", { scope: "col" }, "Event"),
    make("th", { scope: "col" }, "While"),
    make("th", { scope: "col" }, "Fields"),
  );
  return make("table", { class: "view-table events" }, make("thead", {}, head), body);
}

function drawRow(workspace: Workspace, event: LogEvent): HTMLElement {
  const lead = link(moment(event.time), () => {
    reveal(workspace, event.actor, event.time, event.time, event.cpu);
  }, "Move the timeline here");
  const fields = make("td", { class: "view-fields" });
  for (const [name, value] of event.fields) {
    fields.append(make("span", { class: "view-field" }, make("span", {}, `${name}=`), value), " ");
  }
  return make(
    "tr",
    { "data-time": String(event.time) },
    make("td", { class: "num" }, lead),
    make("td", { class: "num" }, event.cpu === null ? "–" : String(event.cpu)),
    make("th", { scope: "row" }, event.event),
    make("td", {}, event.actor_name ?? "–"),
    fields,
  );
}

function drawPages(found: Log, from: (offset: number) => void): Node[] {
  const last = Math.min(found.total, found.offset + found.events.length);
  const to = (text: string, offset: number, on: boolean): HTMLButtonElement =>
    button(
      text,
      () => {
        from(offset);
      },
      { disabled: !on },
    );
  return [
    to("First", 0, found.offset > 0),
    to("Earlier", Math.max(0, found.offset - PAGE), found.offset > 0),
    to("Later", found.offset + PAGE, last < found.total),
    to("Last", Math.max(0, found.total - PAGE), last < found.total),
    make(
      "span",
      { role: "status" },
      found.total === 0 ? "0 events" : `${count(found.offset + 1)} to ${count(last)} of ${count(found.total)} events`,
    ),
  ];
}

/** The moment that the log is at: what is chosen while it is in sight, else where the view begins. */
export function momentOf({ view, range, place }: Chosen): number {
  if (place !== null && place.time >= view.begin && place.time <= view.end) return place.time;
  return Math.max(view.begin, range?.begin ?? 0, 0);
}

/** Whether the page has events around a moment. */
function isListed(list: HTMLElement, time: number): boolean {
  const times = [...list.querySelectorAll<HTMLElement>("tr[data-time]")].map((row) => Number(row.dataset["time"]));
  return nearestTime(times, time) >= 0;
}

/** Brings out the events at the chosen place; false when the page does not reach there. */
function showPlace(list: HTMLElement, workspace: Workspace): boolean {
  const { place } = workspace.selection.value;
  const rows = [...list.querySelectorAll<HTMLElement>("tr[data-time]")];
  const times = rows.map((row) => Number(row.dataset["time"]));
  const at = place === null ? -1 : nearestTime(times, place.time);
  rows.forEach((row, number) => {
    row.classList.toggle("picked", number === at);
  });
  if (place === null) return true;
  // Beside the element, not the page: a view that follows must not take the reader along.
  const row = rows[at];
  if (row !== undefined) list.scrollTop = row.offsetTop - list.clientHeight / 3;
  return at >= 0;
}

/** Which of ascending times is the first at or after `time`; -1 when it lies beyond them. */
export function nearestTime(times: readonly number[], time: number): number {
  const first = times[0];
  if (first === undefined || time < first) return -1;
  return times.findIndex((one) => one >= time);
}
