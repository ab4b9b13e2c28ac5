import { expect, it } from "vitest";

import { linear } from "./scales";
import { WindowMark } from "./window-mark";

it("marks what the timeline shows, within the chart, unless that is all or nothing of it", () => {
  const stage = document.createElement("div");
  const mark = new WindowMark(stage);
  const element = stage.querySelector<HTMLElement>(".point-window");
  const x = linear(100, 200, 50, 250, []);
  const shown = (begin: number, end: number): string => {
    mark.show({ begin, end }, x, 50, 250);
    return element?.hidden === false ? `${element.style.left} ${element.style.width}` : "";
  };
  expect(shown(120, 140)).toBe("90px 40px");
  expect(shown(0, 140)).toBe("50px 80px");
  expect(shown(150, 150.001)).toBe("150px 2px");
  expect(shown(0, 300)).toBe("");
  expect(shown(250, 300)).toBe("");
  mark.show({ begin: 120, end: 140 }, null, 50, 250);
  expect(element?.hidden).toBe(true);
});
