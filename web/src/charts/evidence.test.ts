import { describe, expect, it } from "vitest";

import { evidence, strip } from "./evidence";
import { evidenceFigure } from "./fixtures";

describe("the evidence of a series", () => {
  it("draws the samples, their distribution, and a strip for what else was read", () => {
    const [samples, columns, clock, ...more] = evidence(evidenceFigure(), 900);
    expect(more).toEqual([]);
    // The strip lines up with the samples, not with the distribution beside them.
    expect(clock?.getAttribute("width")).toBe(samples?.getAttribute("width"));
    expect(Number(columns?.getAttribute("width")) + Number(samples?.getAttribute("width"))).toBe(900);
  });

  it("stands below each other where there is no room", () => {
    for (const drawn of evidence(evidenceFigure(), 400)) {
      expect(drawn.getAttribute("width")).toBe("400");
    }
  });

  it("leaves out what could not be read", () => {
    const drawn = strip({ name: "clock", unit: "Hz", values: [null, 1e9, 1.1e9] }, 1, 500);
    expect(drawn.querySelectorAll("circle").length).toBe(2);
    expect(drawn.getAttribute("aria-label")).toBe("clock at each sample: 1.00 to 1.10 GHz");
  });
});
