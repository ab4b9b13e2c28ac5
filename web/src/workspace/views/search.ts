import { SEARCHED } from "../finds";
import type { Panel, Workspace } from "../panel";
import { link, reveal } from "./actors";
import type { Found } from "./answers";
import { address, Answer, askDocument, nothing } from "./answer";
import { button, labelled, make } from "./elements";
import { count, duration, moment, plural } from "./words";

/** Longer than between two letters that are typed. */
const TYPING_MS = 300;

/** Finds actors and events by name, and events by the values that they carry; marks them on the timeline. */
export const search: Panel = {
  id: "search",
  title: "Search",
  mount(host, workspace) {
    const { finds } = workspace;
    const result = make("div", { class: "view-result" });
    const status = make("span", { class: "view-note", role: "status" });
    const field = make("input", { type: "search", placeholder: "eth0, or prev_comm==make", spellcheck: "false" });
    field.value = workspace.parameter(SEARCHED) ?? "";
    const steps = ([["Previous", -1, "The one before (K, Shift+Enter)"], ["Next", 1, "The next one (J, Enter)"]] as const).map(([name, by, title]) =>
      button(name, () => { workspace.findNext(by); }, { title }));
    const form = make(
      "form",
      { class: "view-bar", role: "search" },
      labelled("Find", field),
      make("button", { type: "submit" }, "Search"),
      ...steps,
      status,
    );
    let typing: ReturnType<typeof setTimeout> | undefined;
    const update = (): void => {
      clearTimeout(typing);
      void finds.search(field.value.trim());
      answer.again();
    };
    const keep = (): void => {
      const text = field.value.trim() || null;
      if (text !== workspace.parameter(SEARCHED)) workspace.setParameter(SEARCHED, text);
    };
    const tell = (): void => {
      const { number, times, total } = finds;
      for (const step of steps) step.disabled = times.length === 0;
      const most = total !== null && total > times.length ? `; of those close together one is marked` : "";
      status.textContent = total === null ? "" : `${number === null ? "" : `${count(number)} of `}${plural(total, "event")}${most}`;
    };
    field.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(update, TYPING_MS);
    });
    field.addEventListener("change", keep);
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !event.shiftKey) return;
      event.preventDefault();
      workspace.findNext(-1);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const isNew = field.value.trim() !== finds.text;
      keep();
      if (isNew) update();
      else workspace.findNext(1);
    });
    host.append(form, result);
    const answer = new Answer<Found>(
      result,
      (signal) => {
        const text = field.value.trim();
        if (text === "") {
          result.replaceChildren(nothing(HELP));
          return null;
        }
        return askDocument(address(workspace, "search", { text }), signal);
      },
      (found) => {
        result.replaceChildren(...drawing(workspace, found));
      },
    );
    update();
    tell();
    const ends = [finds.subscribe(tell), workspace.selection.subscribe((_, changed) => {
      if (changed.range) answer.again();
      if (changed.place) tell();
    })];
    return () => {
      clearTimeout(typing);
      for (const end of ends) end();
      answer.stop();
    };
  },
};

const HELP =
  "Finds a text in the names of actors and events and in the texts that events carry. " +
  'field==5, field>=0x20 or field~"eth*" finds events by their values.';

function drawing(workspace: Workspace, found: Found): Node[] {
  const parts: Node[] = [];
  if (found.actors.length > 0) {
    const items = found.actors.map(({ actor, name, busy, first }) =>
      make(
        "li",
        {},
        link(name, () => {
          workspace.selection.setActor(actor);
          reveal(workspace, actor, first);
        }, "Bring it out, and move the timeline to where it is first seen"),
        ` ${duration(busy)} busy`,
      ),
    );
    parts.push(group(plural(found.actors.length, "actor"), items));
  }
  if (found.events.length > 0) {
    const items = found.events.map(({ name, count: times }) =>
      make(
        "li",
        {},
        link(name, () => {
          workspace.openPanel("log", { "log-event": name, "log-field": null });
        }, "List them in the event log"),
        ` ${plural(times, "time")}`,
      ),
    );
    parts.push(group(plural(found.events.length, "kind") + " of events", items));
  }
  if (found.hits.length > 0) {
    const items = found.hits.map((hit) =>
      make(
        "li",
        {},
        link(moment(hit.time), () => {
          reveal(workspace, null, hit.time, hit.time, hit.cpu);
        }, "Move the timeline here"),
        ` ${hit.event}${hit.cpu === null ? "" : ` on CPU ${hit.cpu}`}: `,
        make("span", { class: "view-field" }, hit.says),
      ),
    );
    const more = found.found > found.hits.length ? `, the first ${count(found.hits.length)}` : "";
    parts.push(group(plural(found.found, "value") + more, items));
  }
  if (parts.length === 0) parts.push(nothing("Nothing found in this span."));
  if (!found.complete) {
    parts.push(nothing("Time was up before all events had been looked at: choose a range of time."));
  }
  return parts;
}

function group(title: string, items: readonly HTMLElement[]): HTMLElement {
  return make("section", {}, make("h3", {}, title), make("ul", { class: "view-hits" }, ...items));
}
