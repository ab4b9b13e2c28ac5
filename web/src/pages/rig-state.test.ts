import { beforeEach, describe, expect, it } from "vitest";

import { phaseText, progressText, showHolding, showState, type Holding } from "./rig-state";

const HOSTILE = "<img src=x onerror=alert(1)>";

const FREE = { power: "off", card: "dut", elsewhere: null, error: null };

const HELD: Holding = {
  what: "rig flash",
  pid: 4711,
  since: 0,
  leaving: false,
  doing: null,
  doing_since: null,
  flash: null,
  phases: {},
};

let place: HTMLElement;

function field(name: string): string {
  return place.querySelector(`[data-field="${name}"]`)?.textContent ?? "missing";
}

beforeEach(() => {
  place = document.createElement("div");
  for (const name of ["power", "card", "use", "work"]) {
    const part = document.createElement("span");
    part.dataset["field"] = name;
    place.append(part);
  }
});

describe("the state of a board", () => {
  it("is said in words", () => {
    showState(place, FREE);
    expect([field("power"), field("card")]).toEqual(["off", "board"]);
  });

  it("is not made up where it cannot be had", () => {
    showState(place, { ...FREE, power: { na: "the relay does not answer" }, card: null });
    expect([field("power"), field("card")]).toEqual(["the relay does not answer", "–"]);
  });

  it("is the error where the board could not be asked", () => {
    showState(place, { ...FREE, error: { message: HOSTILE, remedy: "" } });
    expect(field("power")).toBe(HOSTILE);
    expect(place.querySelector("img")).toBeNull();
  });

  it("leaves what the page does not show", () => {
    place.replaceChildren();
    showState(place, FREE);
    expect(place.textContent).toBe("");
  });
});

describe("who holds a board", () => {
  it("is nobody", () => {
    showHolding(place, null);
    expect([field("use"), field("work")]).toEqual(["free", ""]);
  });

  it("is named as text", () => {
    showHolding(place, { ...HELD, what: HOSTILE });
    expect(field("use")).toBe(HOSTILE);
    expect(place.querySelector("img")).toBeNull();
  });

  it("shows how far a card is", () => {
    const flash = { phase: "write", done: 5e6, total: 20e6, rate: 1e6, remaining_s: 15 } as const;
    showHolding(place, { ...HELD, doing: "flashing", flash });
    const bar = place.querySelector("progress");
    expect([bar?.value, bar?.max]).toEqual([5e6, 20e6]);
    showHolding(place, null);
    expect(place.querySelector("progress")).toBeNull();
  });
});

describe("progress in words", () => {
  it("says what is known, and only that", () => {
    const none = { done: null, total: null, rate: null, remaining_s: null };
    expect(progressText({ phase: "verify", ...none })).toBe("reading the card back");
    expect(progressText({ phase: "write", ...none, done: 3e6 })).toBe("writing the card, 3 MB");
    expect(
      progressText({ phase: "write", done: 3e6, total: 9e6, rate: 2e6, remaining_s: 3 }),
    ).toBe("writing the card, 3 of 9 MB, 2 MB/s, 3 s left");
  });

  it("names the phase that was reached last", () => {
    expect(phaseText("booting", {})).toBe("booting");
    expect(phaseText("booting", { kernel: 3.21, "power-on": 0 })).toBe("booting: kernel at 3.2 s");
  });
});
