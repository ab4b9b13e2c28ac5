import { formatPlain } from "../../base/units";
import type { Panel, Workspace } from "../panel";
import { sameTrack } from "../tracks";
import { link, reveal } from "./actors";
import type { CounterRow, CounterTable } from "./answers";
import { address, Answer, askDocument, nothing } from "./answer";
import { button, labelled, make } from "./elements";
import { count, share } from "./words";

/** In the address as in the question to the server, so that one is a link to the other. */
const NAMES = "counter";

/** Values that hold until they change: run queues, frequencies, idle states, any field of an event. */
export const counters: Panel = {
  id: "counters",
  title: "Counters",
  mount(host, workspace) {
    const table = make("div", { class: "view-scroll" });
    const options = make("datalist", { id: "counter-names" });
    const field = make("input", {
      type: "text", list: "counter-names", placeholder: "EVENT.FIELD", spellcheck: "false", autocomplete: "off",
    });
    const names = (): string[] => (workspace.parameter(NAMES) ?? "").split(",").filter(Boolean);
    const form = make("form", { class: "view-bar" },
      labelled("Counter", field), make("button", { type: "submit" }, "Add"), options);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = field.value.trim();
      if (name === "") return;
      field.value = "";
      workspace.setParameter(NAMES, [...new Set([...names(), name])].join(","));
      answer.again();
    });
    form.append(button("Usual ones", () => {
      workspace.setParameter(NAMES, null);
      answer.again();
    }, { title: "Run queues, frequencies and idle states" }));
    host.append(form, table);
    let latest: CounterTable | null = null;
    const draw = (): void => {
      if (latest === null) return;
      table.replaceChildren(latest.counters.length === 0
        ? nothing("No counter has a value in this span. Name a field of an event.")
        : drawTable(workspace, latest.counters, draw));
    };
    const answer = new Answer<CounterTable>(
      table,
      (signal) => askDocument(address(workspace, "counters", { counter: names().join(",") }), signal),
      (found) => {
        latest = found;
        options.replaceChildren(...found.names.map((name) => make("option", { value: name })));
        draw();
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

function drawTable(workspace: Workspace, rows: readonly CounterRow[], again: () => void): HTMLElement {
  const head = make("tr", {}, ...[
    ["Counter", ""], ["CPU", ""], ["Changes", "New values in this span"], ["Least", "Leads to it"],
    ["Mean", "Each value weighs by the time for which it held"], ["Greatest", "Leads to it"],
    ["Known", "Share of the span in which the value is known"], ["Timeline", ""],
  ].map(([name = "", title = ""], at) =>
    make("th", { scope: "col", title: title || null, class: at === 0 || at === 7 ? null : "num" }, name)));
  const body = make("tbody", {}, ...rows.map((row) => drawRow(workspace, row, again)));
  return make("table", { class: "view-table counters" }, make("thead", {}, head), body);
}

function drawRow(workspace: Workspace, row: CounterRow, again: () => void): HTMLElement {
  const track = { name: row.name, cpu: row.cpu };
  const shown = workspace.tracks().some((each) => sameTrack(each, track));
  const to = (value: number, time: number): HTMLElement =>
    link(formatPlain(value), () => { reveal(workspace, null, time, time, row.cpu); }, "Move the timeline there");
  const cells: (Node | string)[] = [
    row.cpu === null ? "–" : String(row.cpu), count(row.changes), to(row.minimum, row.minimum_at),
    mean(row.mean), to(row.maximum, row.maximum_at), share(row.known),
  ];
  const toggle = button("Show", () => {
    workspace.toggleTrack(track);
    again();
  }, { "aria-pressed": String(shown), "aria-label": `Show ${row.name} ${row.cpu === null ? "" : `of CPU ${row.cpu} `}on the timeline` });
  return make("tr", {},
    make("th", { scope: "row" }, row.name),
    ...cells.map((cell) => make("td", { class: "num" }, cell)),
    make("td", {}, toggle));
}

/** A mean: of whole numbers, as many digits as tell it from them. */
const mean = (value: number): string =>
  (Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(4))));
