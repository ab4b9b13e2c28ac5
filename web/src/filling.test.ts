import { beforeEach, describe, expect, it, vi } from "vitest";

import type { ReportDocument } from "./base/document";
import { changeRow, curveFigure, latencyFigure, sampleFigure } from "./charts/fixtures";
import { fill } from "./filling";

const observed: Element[] = [];
let resized: (entries: { target: Element }[]) => void;

class FakeObserver {
  constructor(callback: typeof resized) {
    resized = callback;
  }

  observe(element: Element): void {
    observed.push(element);
  }
}

const REPORT: ReportDocument = {
  format: 1,
  curves: [curveFigure()],
  latencies: [latencyFigure()],
  samples: [sampleFigure()],
  changes: [
    { id: "c", base: "a", other: "b", rows: Array.from({ length: 80 }, () => changeRow()) },
  ],
};

function slot(id: string, width: number): HTMLElement {
  const element = document.createElement("div");
  element.dataset["figure"] = id;
  element.dataset["paper"] = "690";
  Object.defineProperty(element, "clientWidth", { value: width, configurable: true });
  document.body.append(element);
  return element;
}

const widths = (element: Element): (string | null)[] =>
  [...element.children].map((chart) => chart.getAttribute("width"));

describe("filling a page", () => {
  beforeEach(() => {
    document.body.replaceChildren();
    observed.length = 0;
    vi.stubGlobal("ResizeObserver", FakeObserver);
  });

  it("draws into each slot and watches it", () => {
    const curve = slot("curve0", 800);
    const samples = slot("series0", 330);
    const changes = slot("c", 900);
    const latencies = slot("latency0", 500);
    fill(document, REPORT);
    expect(curve.children.length).toBe(1);
    expect(samples.children.length).toBe(2);
    // In pieces that fit a printed page each.
    expect(changes.children.length).toBe(3);
    expect(latencies.children.length).toBe(1);
    expect(observed).toEqual([curve, samples, changes, latencies]);
  });

  it("leaves a slot alone that has no figure or no room", () => {
    const unknown = slot("nonsense", 800);
    const hidden = slot("curve0", 0);
    fill(document, REPORT);
    expect(unknown.children.length + hidden.children.length).toBe(0);
  });

  it("draws anew when the width changes, and only then", () => {
    const curve = slot("curve0", 800);
    fill(document, REPORT);
    const before = curve.firstElementChild;
    resized([{ target: curve }]);
    expect(curve.firstElementChild).toBe(before);
    Object.defineProperty(curve, "clientWidth", { value: 500 });
    resized([{ target: curve }]);
    expect(widths(curve)).toEqual(["500"]);
  });

  it("draws for paper and back", () => {
    const curve = slot("curve0", 800);
    fill(document, REPORT);
    dispatchEvent(new Event("beforeprint"));
    expect(widths(curve)).toEqual(["690"]);
    dispatchEvent(new Event("afterprint"));
    expect(widths(curve)).toEqual(["800"]);
  });
});
