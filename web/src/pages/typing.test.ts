import { Terminal } from "@xterm/xterm";
import { afterEach, expect, it, vi } from "vitest";
import { eventually } from "../eventually";

import { assertExists } from "../base/assert";
import { keyUse, MOST_WAITING, TypedText, typing } from "./typing";

afterEach(() => {
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

const key = (name: string, ctrlKey = false): Parameters<typeof keyUse>[0] => ({
  key: name, ctrlKey, altKey: false, metaKey: false,
});

it("sends every key to the board but those that leave or copy", () => {
  expect(keyUse(key("c", true), false)).toBe("board");
  expect(keyUse(key("c", true), true)).toBe("page");
  expect(keyUse(key("]", true), false)).toBe("leave");
  expect(keyUse(key("]"), false)).toBe("board");
  expect(keyUse(key("Tab"), true)).toBe("board");
});

it("sends what is typed meanwhile at once, in its order and in pieces that the server takes", async () => {
  const sent: string[] = [];
  let release: () => void = () => undefined;
  const typed = new TypedText((text) => {
    sent.push(text);
    return sent.length === 1 ? new Promise((resolve) => { release = () => { resolve(true); }; }) : Promise.resolve(true);
  });
  typed.add("a");
  typed.add("b");
  typed.add("ü".repeat(1500));
  release();
  await eventually(() => { expect(sent).toHaveLength(3); });
  expect(sent.join("")).toBe(`ab${"ü".repeat(1500)}`);
  expect(Math.max(...sent.map((text) => new TextEncoder().encode(text).length))).toBeLessThanOrEqual(4096);
});

it("drops what follows when the board is gone, and takes no file", async () => {
  const sent: string[] = [];
  const typed = new TypedText((text) => {
    sent.push(text);
    return Promise.resolve(false);
  });
  typed.add("x".repeat(1500));
  await Promise.resolve();
  typed.add("later");
  await eventually(() => { expect(sent).toHaveLength(2); });
  expect(sent).toEqual(["x".repeat(1000), "later"]);
  expect(typed.add("x".repeat(MOST_WAITING + 1))).toBe(false);
});

it("takes the board, types, and says why it was released", async () => {
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
  const terminal = new Terminal({ disableStdin: true });
  const made = typing(document, "a b", { typing: false, message: "", remedy: "" }, terminal);
  document.body.append(made);
  const [begin, keys, , said] = [...made.children] as [HTMLButtonElement, HTMLElement, HTMLElement, HTMLElement];
  terminal.input("nobody types yet");
  expect([begin.hidden, keys.hidden, terminal.options.disableStdin]).toEqual([false, true, true]);
  begin.click();
  await eventually(() => { expect(keys.hidden).toBe(false); });
  expect(terminal.options.disableStdin).toBe(false);
  terminal.input("u");
  await eventually(() => { expect(asked).toHaveLength(2); });
  const interrupt = assertExists([...keys.querySelectorAll("button")].find(({ textContent }) => textContent === "Ctrl-C"), "Ctrl-C");
  interrupt.click();
  await eventually(() => { expect(said.textContent).toBe("nobody types on this console: take it first"); });
  expect([begin.hidden, keys.hidden, terminal.options.disableStdin]).toEqual([false, true, true]);
  expect(asked).toEqual([
    ["/rig/a%20b/console/begin", {}],
    ["/rig/a%20b/console/type", { text: "u" }],
    ["/rig/a%20b/console/type", { text: "\x03" }],
  ]);
});
