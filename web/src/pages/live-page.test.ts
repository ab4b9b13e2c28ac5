import { beforeEach, describe, expect, it } from "vitest";

import { renew } from "./live-page";

const page = (body: string): Document =>
  new DOMParser().parseFromString(`<title>Why?</title><div id="so-far">${body}</div>`, "text/html");

beforeEach(() => {
  document.body.innerHTML =
    '<div id="so-far"><section id="journal"><details open><summary>2 writes</summary></details>' +
    '<details><summary>other</summary></details></section><p>old</p></div>';
});

describe("a diagnosis that goes on", () => {
  it("shows what the fresh page says, and leaves open what was open", () => {
    const fresh = page(
      '<section id="journal"><details><summary>3 writes</summary></details>' +
      "<details><summary>other</summary></details></section><p>new</p>",
    );
    expect(renew(document, fresh)).toBe(true);
    const details = [...document.querySelectorAll("details")];
    expect(details.map(({ open }) => open)).toEqual([true, false]);
    expect(document.body.textContent).toContain("3 writes");
    expect(document.body.textContent).not.toContain("old");
    expect(document.title).toBe("Why?");
  });

  it("keeps what is shown when the answer is another page", () => {
    const other = new DOMParser().parseFromString("<p>an error</p>", "text/html");
    expect(renew(document, other)).toBe(false);
    expect(document.body.textContent).toContain("old");
  });
});
