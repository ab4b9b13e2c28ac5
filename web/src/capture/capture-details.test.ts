import { describe, expect, it } from "vitest";

import { factsOf } from "./capture-details";
import { captureLook } from "./capture-look";

describe("what is at a place of a capture", () => {
  it("is a level with its edges, period and share", () => {
    const facts = new Map(factsOf({
      kind: "line", name: "TX", level: "low", begin: 920_000, end: 1_024_000,
      number: 5, of: 344, period: 208_000, duty: 0.5,
    }));
    expect(facts.get("Began with")).toBe("edge 5 of 344");
    expect(facts.get("Frequency")).toBe("4.81 kHz");
    expect(facts.get("Share of it")).toBe("50.0 %");
  });

  it("has no period at the ends of a line", () => {
    const facts = new Map(factsOf({
      kind: "line", name: "TX", level: "high", begin: 0, end: 10, number: 0, of: 1, period: null, duty: null,
    }));
    expect(facts.get("Began with")).toBe("the capture");
    expect(facts.get("Frequency")).toBeNull();
  });

  it("is what was decoded, or nothing", () => {
    expect(factsOf({ kind: "annotation", name: "TX", text: null })).toEqual([]);
    expect(factsOf({ kind: "annotation", name: "TX", text: "H", begin: 0, end: 8, number: 0, of: 56 })
      .map(([name]) => name)).toEqual(["From", "To", "Length", "Number"]);
  });
});

describe("the look of a capture", () => {
  const look = captureLook(["low", "high", "changes", "decoded"], ["missed"], ["H", "e"]);
  const row = (kind: string) => ({ id: 0, kind, name: "TX", detail: "", cpu: null, actor: null, busy: null, instances: null });

  it("names what was decoded where it is exactly one", () => {
    expect(look.label(row("annotation"), 1, 3, 100, true)).toBe("e");
    expect(look.label(row("annotation"), -1, 3, 100, false)).toBe("");
    expect(look.actorName(99)).toBe("…");
    expect(look.eventName(0)).toBe("missed");
  });

  it("writes nothing into levels", () => {
    expect(look.label(row("line"), -1, 1, 104_000, true)).toBe("");
    expect(look.states.map(({ name }) => name)).toEqual(["low", "high", "changes", "decoded"]);
  });
});
