import { expect, it } from "vitest";

import { Tip } from "./tip";

it("keeps its elements while its lines change", () => {
  const stage = document.createElement("div");
  const tip = new Tip(stage);
  tip.show([{ text: "kworker", look: "title" }, { text: "running 2 ms", look: "plain" }], [10, 10], [1000, 400]);
  const before = [...stage.querySelectorAll("div")];
  tip.show([{ text: "CPU 0", look: "title" }], [11, 10], [1000, 400]);
  tip.show([{ text: "lost", look: "loss" }, { text: "3 s", look: "plain" }], [12, 10], [1000, 400]);
  expect([...stage.querySelectorAll("div")]).toEqual(before);
  expect(stage.textContent).toBe("lost3 s");
  expect(stage.querySelector(".tl-tip-loss")?.textContent).toBe("lost");
  tip.hide();
  expect(stage.querySelector<HTMLElement>(".tl-tip")?.hidden).toBe(true);
});

it("goes to the side of the pointer where there is room", () => {
  const stage = document.createElement("div");
  const tip = new Tip(stage);
  const transform = (at: readonly [number, number]): string => {
    tip.show([{ text: "x", look: "plain" }], at, [1000, 400]);
    return stage.querySelector<HTMLElement>(".tl-tip")?.style.transform ?? "";
  };
  expect(transform([100, 50])).toBe("translate(max(0px, min(116px, calc(1000px - 100%))), max(0px, min(68px, calc(400px - 100%))))");
  expect(transform([900, 350])).toBe("translate(max(0px, calc(888px - 100%)), max(0px, calc(340px - 100%)))");
});
