import { formatLength } from "../../timeline/time-format";
import type { Draft, Note } from "../notes";
import type { Panel, Workspace } from "../panel";
import { around, link } from "./actors";
import { failure, nothing } from "./answer";
import { button, make, tick } from "./elements";
import { moment, stamp } from "./words";

/** Notes on moments and spans of the trace, for all who use the store. */
export const notes: Panel = {
  id: "notes",
  title: "Notes",
  mount(host, workspace) {
    const { notes: book } = workspace;
    const form = make("div");
    const list = make("div", { class: "view-scroll" });
    host.append(form, list);
    let shown: Draft | null = null;
    const draw = (): void => {
      // A form that is written in stays as it is.
      if (book.draft !== shown || shown === null) {
        shown = book.draft;
        form.replaceChildren(shown === null ? starter(workspace) : draftForm(workspace, shown));
        form.querySelector("textarea")?.focus({ preventScroll: true });
      }
      list.replaceChildren(...listed(workspace));
    };
    draw();
    return book.subscribe(draw);
  },
};

const HELP =
  "No notes on this trace. N writes one on the chosen range, else on what is pointed at or chosen; so does a " +
  "double click on the axis. Notes are kept in the store, for this recording wherever its file lies.";

function starter(workspace: Workspace): HTMLElement {
  return make("div", { class: "view-bar" }, button("Add note", () => { workspace.noteAnything(); },
    { title: "On the range, else on what is chosen (N)" }));
}

function draftForm(workspace: Workspace, draft: Draft): HTMLElement {
  const { notes: book, rows } = workspace;
  const text = make("textarea", { rows: "3", maxlength: "2000", "aria-label": "Note", placeholder: "What is to be seen here?" });
  text.value = draft.text;
  text.addEventListener("input", () => { draft.text = text.value; });
  const said = make("span", { class: "view-note view-error", role: "alert" });
  const keep = async (): Promise<void> => {
    said.textContent = "";
    said.textContent = await book.keep(rows) ?? "";
  };
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void keep();
    else if (event.key === "Escape") book.drop();
    // What is typed is not meant for the timeline.
    event.stopPropagation();
  });
  const row = rows.find(({ id }) => id === draft.row);
  const onRow = row === undefined ? [] : [tick(`only ${row.name} ${row.detail}`.trim(), true, (on) => {
    draft.row = on ? row.id : null;
  })];
  return make("form", { class: "ws-note" },
    make("p", { class: "view-note" }, draft.of === null ? `Note on ${spanText(draft)}` : `Change the note on ${spanText(draft)}`),
    text,
    make("div", { class: "view-bar" },
      button("Save", () => { void keep(); }, { title: "Ctrl+Enter" }),
      button("Cancel", () => { book.drop(); }, { title: "Esc" }),
      ...onRow, said));
}

const spanText = ({ begin, end }: Pick<Note, "begin" | "end">): string =>
  (end > begin ? `${formatLength(end - begin)} from ${moment(begin)}` : moment(begin));

function listed(workspace: Workspace): HTMLElement[] {
  const { notes: book } = workspace;
  if (book.error !== null) return [failure(book.error)];
  if (book.notes.length === 0) return [nothing(HELP)];
  const head = ["From", "Length", "Note", "Row", "Written", "Change"].map((name, at) =>
    make("th", { scope: "col", class: at === 1 ? "num" : null }, name));
  return [make("table", { class: "view-table notes" },
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...book.notes.map((note) => line(workspace, note))))];
}

function line(workspace: Workspace, note: Note): HTMLElement {
  const { notes: book } = workspace;
  const row = book.rowOf(note);
  const said = make("span", { class: "view-note", role: "status" });
  const remove = button("Delete", () => {
    if (remove.dataset["sure"] === undefined) {
      remove.dataset["sure"] = "yes";
      remove.textContent = "Really delete";
      return;
    }
    void book.remove(note).then((fault) => { said.textContent = fault ?? ""; });
  }, { "aria-label": `Delete the note at ${moment(note.begin)}` });
  remove.addEventListener("blur", () => {
    delete remove.dataset["sure"];
    remove.textContent = "Delete";
  });
  return make("tr", { class: note.id === workspace.parameter("note") ? "picked" : null, "data-note": note.id },
    make("td", {}, link(moment(note.begin), () => { showNote(workspace, note); }, "Show it on the timeline")),
    make("td", { class: "num" }, note.end > note.begin ? formatLength(note.end - note.begin) : "–"),
    make("td", { class: "ws-note-text" }, note.text),
    make("td", {}, row === null ? rowText(note) : `${row.name} ${row.detail}`.trim()),
    make("td", {}, `${note.author}, ${stamp(note.written)}`),
    make("td", { class: "ws-acts" },
      button("Edit", () => {
        book.write({ begin: note.begin, end: note.end, row: row?.id ?? null }, note);
      }, { "aria-label": `Edit the note at ${moment(note.begin)}` }),
      remove,
      button("Copy link", () => { void copyLink(note, said); }, { title: "An address that shows this note" }),
      said));
}

/** Of a row that this timeline has not: what it was called. */
const rowText = ({ row }: Note): string => (row === "" ? "–" : `${row} (not in this timeline)`);

async function copyLink({ id }: Note, said: HTMLElement): Promise<void> {
  const { origin, pathname } = window.location;
  const address = `${origin}${pathname}?note=${id}`;
  try {
    await navigator.clipboard.writeText(address);
    said.textContent = "Copied";
  } catch {
    said.textContent = address;
  }
}

/** Moves the timeline to a note, and puts it into the address. */
export function showNote(workspace: Workspace, note: Note): void {
  const { selection, notes: book } = workspace;
  const row = book.rowOf(note);
  const place = row === null ? null : { row: row.id, time: (note.begin + note.end) / 2 };
  const span = note.end > note.begin ? note : around(note.begin, selection.value.view, selection.duration);
  workspace.setParameter("note", note.id);
  selection.reveal({ begin: span.begin, end: span.end }, place, row?.actor ?? null);
  workspace.flagsChanged();
}
