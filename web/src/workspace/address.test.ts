import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { Address, readChosen, writeChosen } from "./address";
import type { Chosen } from "./selection";

const CHOSEN: Chosen = {
  view: { begin: -12.5, end: 1e15 },
  range: { begin: 3, end: 9 },
  area: [3, 4, 5, 9],
  place: { row: 4, time: 1234.5 },
  actor: 7,
};

beforeEach(() => {
  vi.useFakeTimers();
  history.replaceState(null, "", "/traces/k?with=x");
});

afterEach(() => {
  vi.useRealTimers();
});

it("writes what is chosen so that it is read again", () => {
  const words = writeChosen(CHOSEN, "2");
  expect(words["view2"]).toBe("-12.5,1000000000000000");
  expect(readChosen((name) => words[name] ?? null, "2")).toEqual(CHOSEN);
});

it("takes nothing from an address that makes no sense", () => {
  const bad: Record<string, string> = { view: "9,1", range: "a,b", area: "1-99999999999", at: "1", actor: "x" };
  expect(readChosen((name) => bad[name] ?? null)).toEqual({});
});

it("makes steps of what one would take back, and none of where one looks", () => {
  const address = new Address(window);
  const before = history.length;
  address.set({ view: "1,2" }, false);
  expect(location.search).toBe("?with=x");
  vi.runAllTimers();
  expect(location.search).toBe("?with=x&view=1,2");
  expect(history.length).toBe(before);
  address.set({ range: "1,2", with: null }, true);
  expect(location.search).toBe("?view=1,2&range=1,2");
  expect(history.length).toBe(before + 1);
});

it("goes to another state as a link does, and tells all who listen", () => {
  const address = new Address(window);
  const told = vi.fn();
  address.subscribe(told);
  const before = history.length;
  address.go({ tab: "log", "log-event": "printk_console" });
  expect(told).toHaveBeenCalledOnce();
  expect(location.search).toBe("?with=x&tab=log&log-event=printk_console");
  expect(history.length).toBe(before + 1);
});

it("tells when the back button was used", () => {
  const address = new Address(window);
  const told = vi.fn();
  address.subscribe(told);
  address.set({ view: "5,6" }, false);
  history.replaceState(null, "", "/traces/k?tab=log");
  window.dispatchEvent(new PopStateEvent("popstate"));
  expect(told).toHaveBeenCalledOnce();
  expect(address.get("tab")).toBe("log");
  vi.runAllTimers();
  expect(location.search).toBe("?tab=log");
});
