import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { appendInTurn } from "./in-turn";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const hundreds = Array.from({ length: 250 }, (_, at) => at);

const made = (at: number): HTMLElement => Object.assign(document.createElement("p"), { textContent: String(at) });

it("appends a screenful at once, and the rest in order", () => {
  const parent = document.body.appendChild(document.createElement("div"));
  const appended = vi.fn();
  appendInTurn(parent, hundreds, made, appended);
  expect(parent.childElementCount).toBeLessThan(100);
  vi.runAllTimers();
  expect([...parent.children].map(({ textContent }) => Number(textContent))).toEqual(hundreds);
  expect(appended.mock.calls.length).toBeGreaterThan(2);
});

it("ends when nobody sees it any more", () => {
  const parent = document.body.appendChild(document.createElement("div"));
  appendInTurn(parent, hundreds, made, vi.fn());
  parent.remove();
  vi.runAllTimers();
  expect(parent.childElementCount).toBeLessThan(100);
});
