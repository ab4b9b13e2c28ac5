import type { Panel, Workspace } from "../panel";
import { link, reveal } from "./actors";
import type { Found } from "./answers";
import { address, Answer, askDocument, nothing } from "./answer";
import { labelled, make } from "./elements";
import { count, duration, moment, plural } from "./words";

/** Finds actors and events by name, and events by the values that they carry. */
export const search: Panel = {
  id: "search",
  title: "Search",
  mount(host, workspace) {
    const result = make("div", { class: "view-result" });
    const field = make("input", { type: "search", placeholder: "eth0, or prev_comm==make", spellcheck: "false" });
    field.value = workspace.parameter("search-text") ?? "";
    const form = make(
      "form",
      { class: "view-bar", role: "search" },
      labelled("Find", field),
      make("button", { type: "submit" }, "Search"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      workspace.setParameter("search-text", field.value.trim() || null);
      answer.again();
    });
    host.append(form, result);
    const answer = new Answer<Found>(
      result,
      (signal) => {
        const text = workspace.parameter("search-text");
        if (text === null || text.trim() === "") {
          result.replaceChildren(nothing(HELP));
          return null;
        }
        return askDocument(address(workspace, "search", { text }), signal);
      },
      (found) => {
        result.replaceChildren(...drawing(workspace, found));
      },
    );
    answer.again();
    const unsubscribe = workspace.selection.subscribe((_, changed) => {
      if (changed.range) answer.again();
    });
    return () => {
      unsubscribe();
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
