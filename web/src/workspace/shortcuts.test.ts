import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { listenForKeys } from "./shortcuts";

const acts = { help: vi.fn(), search: vi.fn(), cause: vi.fn(() => true), effect: vi.fn(() => true), find: vi.fn((by: 1 | -1) => Math.abs(by) === 1), timeline: vi.fn(() => true) };
let controller = new AbortController();

beforeEach(() => {
  controller = new AbortController();
  document.body.innerHTML = '<input><div class="ws-panel"><p>text</p></div><button>b</button>';
  listenForKeys(document, acts, controller.signal);
});

afterEach(() => {
  controller.abort();
  vi.clearAllMocks();
});

const press = (key: string, selector = "body", shiftKey = false): boolean => {
  const event = new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true });
  return !(document.querySelector(selector)?.dispatchEvent(event) ?? true);
};

it("gives keys to the timeline though nothing has the focus", () => {
  expect(press("w")).toBe(true);
  expect(acts.timeline).toHaveBeenCalledOnce();
  expect(press("?")).toBe(true);
  expect(acts.help).toHaveBeenCalledOnce();
  expect(press("/", ".ws-panel p")).toBe(true);
  expect(acts.search).toHaveBeenCalledOnce();
});

it("walks from one cause to the one before", () => {
  expect(press("c")).toBe(true);
  acts.cause.mockReturnValueOnce(false);
  expect(press("c")).toBe(false);
  expect(acts.cause).toHaveBeenCalledTimes(2);
  press("C", "body", true);
  expect(acts.cause).toHaveBeenCalledTimes(2);
  expect(acts.effect).toHaveBeenCalledOnce();
  expect(acts.timeline).not.toHaveBeenCalled();
});

it("goes from one event that was found to the next, and back", () => {
  expect(press("j", ".ws-panel p")).toBe(true);
  expect(press("K", "body")).toBe(true);
  expect(acts.find.mock.calls).toEqual([[1], [-1]]);
  acts.find.mockReturnValueOnce(false);
  expect(press("j")).toBe(false);
});

it("takes letters though a button was pressed last, and leaves it what presses it", () => {
  expect(press("c", "button")).toBe(true);
  for (const key of ["Enter", " ", "ArrowLeft", "Escape"]) expect(press(key, "button")).toBe(false);
});

it("leaves the page its own keys, and what is typed", () => {
  for (const [key, selector] of [["ArrowDown", "body"], ["w", "input"], ["/", "input"], ["Enter", "button"], ["d", ".ws-panel p"]] as const) {
    expect(press(key, selector)).toBe(false);
  }
  expect(acts.timeline).not.toHaveBeenCalled();
});
