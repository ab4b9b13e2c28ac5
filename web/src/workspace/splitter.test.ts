import { beforeEach, expect, it } from "vitest";

import { splitter } from "./splitter";

beforeEach(() => { localStorage.clear(); });

function make(): { whole: HTMLElement; bar: HTMLElement } {
  const whole = document.createElement("div");
  const bar = splitter({ label: "Size", property: "--part", direction: "rows", usual: 60, whole });
  return { whole, bar };
}

const press = (bar: HTMLElement, key: string): void => {
  bar.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
};

it("changes the size by keys, within bounds, and keeps it", () => {
  const { whole, bar } = make();
  expect(whole.style.getPropertyValue("--part")).toBe("60%");
  press(bar, "ArrowUp");
  expect(whole.style.getPropertyValue("--part")).toBe("57%");
  expect(bar.getAttribute("aria-valuenow")).toBe("57");
  expect(make().whole.style.getPropertyValue("--part")).toBe("57%");
  for (let time = 0; time < 40; time += 1) press(bar, "ArrowDown");
  expect(whole.style.getPropertyValue("--part")).toBe("85%");
  bar.dispatchEvent(new MouseEvent("dblclick"));
  expect(whole.style.getPropertyValue("--part")).toBe("60%");
});

it("leaves other keys to the page, and takes no size that is none", () => {
  localStorage.setItem("workspace--part", "wide");
  const { whole, bar } = make();
  press(bar, "ArrowLeft");
  expect(whole.style.getPropertyValue("--part")).toBe("60%");
});
