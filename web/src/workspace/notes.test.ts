import { afterEach, expect, test, vi } from "vitest";
import { eventually } from "../eventually";

import { row } from "../timeline/fixtures";
import { type Note, NoteBook, rowKey } from "./notes";
import type { Workspace } from "./panel";
import { notes as panel } from "./views/notes";

const thread = { ...row(8, "thread", "iperf3"), id: 80, detail: "412" };
const rows = [row(0, "cpu", "CPU 0"), thread];
const note = (id: string, more: Partial<Note> = {}): Note => ({
  id, begin: 10, end: 10, row: "", text: id, author: "ada", written: "2026-11-26T07:43:00Z", revision: 1, ...more,
});
const answered = (...notes: Note[]): Response => Response.json({ data: { notes } });

afterEach(() => { vi.unstubAllGlobals(); });

test("a note finds its row by what it is called, not by its number", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(answered(
    note("a", { row: rowKey({ ...thread, id: 7 }) }), note("b", { row: "thread 9 gone" }))));
  const book = new NoteBook("/traces/k/notes", rows);
  await book.load();
  expect(book.flags("b").map((flag) => [flag.id, flag.row, flag.chosen])).toEqual([["a", 80, false], ["b", null, true]]);
});

test("a note that was changed meanwhile is not overwritten, and what was written is kept", async () => {
  const fetch = vi.fn<(where: string, asked?: RequestInit) => Promise<Response>>(() =>
    Promise.resolve(Response.json({ error: { message: "the note was changed by somebody else meanwhile", remedy: "" } }, { status: 400 })));
  vi.stubGlobal("fetch", fetch);
  const book = new NoteBook("/traces/k/notes", rows);
  book.write({ begin: 1, end: 2, row: 80 }, note("a", { revision: 3 }));
  if (book.draft !== null) book.draft.text = "mine";
  expect(await book.keep(rows)).toBe("the note was changed by somebody else meanwhile");
  expect(book.draft?.text).toBe("mine");
  expect(fetch.mock.calls[0]?.[0]).toBe("/traces/k/notes/a");
  expect(JSON.parse(fetch.mock.calls[0]?.[1]?.body as string)).toEqual(
    { begin: 1, end: 2, text: "mine", row: "thread 412 iperf3", revision: 3 });
});

test("the list shows hostile texts as texts, writes by keys and asks before it deletes", async () => {
  const hostile = "<img src=x onerror=alert(1)>";
  const fetch = vi.fn<(where: string, asked?: RequestInit) => Promise<Response>>(() => Promise.resolve(answered(note("a", { text: hostile }))));
  vi.stubGlobal("fetch", fetch);
  const book = new NoteBook("/traces/k/notes", rows);
  await book.load();
  const host = document.body.appendChild(document.createElement("div"));
  const workspace = { notes: book, rows, parameter: () => null } as unknown as Workspace;
  const end = panel.mount(host, workspace);
  expect(host.querySelector("img")).toBeNull();
  expect(host.textContent).toContain(hostile);

  const [remove] = [...host.querySelectorAll("button")].filter(({ textContent }) => textContent === "Delete");
  remove?.click();
  expect(fetch).toHaveBeenCalledTimes(1);
  remove?.click();
  expect(fetch.mock.calls[1]?.[0]).toBe("/traces/k/notes/a/delete");

  book.write({ begin: 5, end: 9, row: 80 });
  const text = host.querySelector("textarea");
  if (text === null) throw new Error("no form");
  expect(document.activeElement).toBe(text);
  text.value = "a stall";
  text.dispatchEvent(new Event("input"));
  host.querySelector<HTMLInputElement>("input[type=checkbox]")?.click();
  text.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true }));
  await eventually(() => { expect(book.draft).toBeNull(); });
  expect(JSON.parse(fetch.mock.calls[2]?.[1]?.body as string)).toEqual({ begin: 5, end: 9, text: "a stall", row: "" });
  expect(host.querySelector("textarea")).toBeNull();
  end();
  host.remove();
});
