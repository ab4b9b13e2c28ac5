import { afterEach, expect, it, vi } from "vitest";

import { assertExists } from "../base/assert";
import { sentBy, typing } from "./typing";

afterEach(() => {
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

const key = (name: string, ctrlKey = false): Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "metaKey"> => ({
  key: name, ctrlKey, altKey: false, metaKey: false,
});

it("sends what a terminal would", () => {
  expect(sentBy(key("c", true), "half a line", false)).toBe("\x03");
  expect(sentBy(key("c", true), "half a line", true)).toBeNull();
  expect(sentBy(key("d", true), "", false)).toBe("\x04");
  expect(sentBy(key("d", true), "x", false)).toBeNull();
  expect(sentBy(key("x"), "", false)).toBeNull();
});

it("takes the board, types in order, and says why it was released", async () => {
  const asked: [string, unknown][] = [];
  const answers: [number, unknown][] = [
    [200, { typing: true, message: "", remedy: "" }],
    [200, { typing: true, message: "", remedy: "" }],
    [403, { error: { message: "nobody types on this console", remedy: "take it first" } }],
  ];
  vi.stubGlobal("fetch", (address: string, { body }: { body: string }) => {
    asked.push([address, JSON.parse(body)]);
    const [status, told] = answers.shift() ?? [500, {}];
    return Promise.resolve(Response.json(told, { status }));
  });
  const made = typing(document, "a b", { typing: false, message: "", remedy: "" });
  document.body.append(made);
  const [begin, form, said] = [...made.children] as [HTMLButtonElement, HTMLFormElement, HTMLElement];
  expect([begin.hidden, form.hidden]).toEqual([false, true]);
  begin.click();
  await vi.waitFor(() => { expect(form.hidden).toBe(false); });
  const line = assertExists(made.querySelector("input"), "the line");
  line.value = "uname -r";
  line.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", cancelable: true }));
  expect(line.value).toBe("");
  const interrupt = [...form.querySelectorAll("button")].find(({ textContent }) => textContent === "Ctrl-C");
  interrupt?.click();
  await vi.waitFor(() => { expect(said.textContent).toBe("nobody types on this console: take it first"); });
  expect([begin.hidden, form.hidden]).toEqual([false, true]);
  expect(asked).toEqual([
    ["/rig/a%20b/console/begin", {}],
    ["/rig/a%20b/console/type", { text: "uname -r\r" }],
    ["/rig/a%20b/console/type", { text: "\x03" }],
  ]);
});
