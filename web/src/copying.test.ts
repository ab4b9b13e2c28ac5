import { afterEach, expect, it, vi } from "vitest";
import { eventually } from "./eventually";

import { addCopyButtons } from "./copying";

afterEach(() => {
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

function button(): HTMLButtonElement {
  const text = document.createElement("pre");
  text.dataset["copy"] = "for Debian";
  text.textContent = "w /sys/x - - - - <never>";
  document.body.append(text);
  addCopyButtons(document);
  const added = document.querySelector("button");
  if (added === null) throw new Error("no button");
  return added;
}

it("copies the text as it is", async () => {
  const written: string[] = [];
  const writeText = (text: string): Promise<void> => {
    written.push(text);
    return Promise.resolve();
  };
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  const added = button();
  expect(added.getAttribute("aria-label")).toBe("Copy: for Debian");
  added.click();
  await eventually(() => {
    expect(added.textContent).toBe("Copied");
  });
  expect(written).toEqual(["w /sys/x - - - - <never>"]);
});

it("selects it where the clipboard is out of reach", async () => {
  vi.stubGlobal("navigator", {});
  const added = button();
  added.click();
  await eventually(() => {
    expect(added.textContent).toBe("Selected");
  });
  expect(getSelection()?.toString()).toBe("w /sys/x - - - - <never>");
});
