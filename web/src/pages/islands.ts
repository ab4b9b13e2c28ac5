// Islands: parts of a page that a script makes, where the server wrote `data-island="NAME"`.
//
// An island is a module that exports `start(element, data)`; it is loaded when a page has one of its
// name. `data` is what the server put inside as JSON, undefined when nothing. Until it has started,
// and where scripts are off, what the server wrote into the element stands.

import { failed, okay, type Result } from "../base/result";

/** Makes the island in its element. May be called for several elements of a page. */
export type Start = (element: HTMLElement, data: unknown) => void | Promise<void>;

interface Island {
  readonly start: Start;
}

/** All islands there are; a line each, in order of name. */
const ISLANDS: Readonly<Record<string, () => Promise<Island>>> = {
  board: () => import("./board"),
  capture: () => import("./capture"),
  console: () => import("./console"),
  figures: () => import("./figures"),
  "live-page": () => import("./live-page"),
  rig: () => import("./rig"),
  workspace: () => import("./workspace"),
};

/** Starts every island of the page. One that fails says so in its place; the others stand. */
export function startIslands(page: Document): void {
  for (const element of page.querySelectorAll<HTMLElement>("[data-island]")) {
    void startIsland(element);
  }
}

async function startIsland(element: HTMLElement): Promise<void> {
  const name = element.dataset["island"] ?? "";
  try {
    const load = ISLANDS[name];
    if (load === undefined) throw new Error(`there is no island "${name}"`);
    const data = dataOf(element);
    if (!data.ok) throw new Error(data.error);
    const { start } = await load();
    await start(element, data.value);
    element.dataset["started"] = "yes";
  } catch (error) {
    console.error(error);
    element.dataset["started"] = "failed";
    element.replaceChildren(failureNote(element.ownerDocument, "This part of the page failed", String(error)));
  }
}

/** What the server put into the island. */
export function dataOf(element: HTMLElement): Result<unknown> {
  const script = element.querySelector(':scope > script[type="application/json"]');
  if (script === null) return okay(undefined);
  try {
    return okay(JSON.parse(script.textContent) as unknown);
  } catch {
    return failed("its data is no JSON");
  }
}

/** What the macro `error` of pieces.html.j2 shows. */
export function failureNote(page: Document, message: string, remedy = ""): HTMLElement {
  const note = page.createElement("div");
  note.className = "state state-error";
  note.setAttribute("role", "alert");
  const title = page.createElement("p");
  title.className = "state-title";
  title.textContent = message;
  note.append(title);
  if (remedy !== "") {
    const text = page.createElement("p");
    text.textContent = remedy;
    note.append(text);
  }
  return note;
}
