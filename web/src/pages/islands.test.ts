import { beforeEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../eventually";

import { dataOf, failureNote, startIslands } from "./islands";

const HOSTILE = "<img src=x onerror=alert(1)>";

function island(inside: string): HTMLElement {
  document.body.innerHTML = inside;
  const found = document.querySelector<HTMLElement>("[data-island]");
  if (found === null) throw new Error("there is no island in the test");
  return found;
}

beforeEach(() => {
  document.body.replaceChildren();
});

describe("the data of an island", () => {
  it("is what the server put inside", () => {
    const element = island(
      '<div data-island="x"><script type="application/json">{"a":[1]}</script></div>',
    );
    expect(dataOf(element)).toEqual({ ok: true, value: { a: [1] } });
  });

  it("is nothing where there is none, also when an island inside has some", () => {
    const element = island(
      '<div data-island="x"><p><script type="application/json">{"a":1}</script></p></div>',
    );
    expect(dataOf(element)).toEqual({ ok: true, value: undefined });
  });

  it("is refused when it is no JSON", () => {
    const element = island(
      '<div data-island="x"><script type="application/json">{</script></div>',
    );
    expect(dataOf(element).ok).toBe(false);
  });
});

describe("starting", () => {
  it("says in its place that an island failed, and starts the others", async () => {
    const complaint = vi.spyOn(console, "error").mockReturnValue();
    document.body.innerHTML =
      '<div data-island="nobody">before</div><div data-island="nobody2">before</div>';
    startIslands(document);
    await eventually(() => {
      expect(document.querySelectorAll('[role="alert"]')).toHaveLength(2);
    });
    expect(document.body.textContent).toContain('there is no island "nobody2"');
    complaint.mockRestore();
  });
});

describe("a note of what failed", () => {
  it("takes words as words", () => {
    const note = failureNote(document, HOSTILE, HOSTILE);
    expect(note.querySelector("img")).toBeNull();
    expect(note.textContent).toBe(HOSTILE + HOSTILE);
  });
});
