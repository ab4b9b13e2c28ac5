import { beforeEach, describe, expect, it } from "vitest";

import { actedText, bootBar, phaseText, progressText, queueText, showHolding, showState, type Holding } from "./rig-state";

const HOSTILE = "<img src=x onerror=alert(1)>";

const FREE = { power: "off", card: "dut", lock: "board one", elsewhere: null, error: null, waiting: [] };

const HELD: Holding = {
  what: "rig flash",
  pid: 4711,
  since: 0,
  leaving: false,
  doing: null,
  doing_since: null,
  flash: null,
  phases: {},
  line: "",
};

let place: HTMLElement;

function field(name: string): string {
  return place.querySelector(`[data-field="${name}"]`)?.textContent ?? "missing";
}

beforeEach(() => {
  place = document.createElement("div");
  for (const name of ["power", "card", "use", "queue", "work"]) {
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

  it("says who has it where no lock tells", () => {
    showState(place, { ...FREE, lock: "", elsewhere: "place of host/user" });
    expect(field("use")).toBe("place of host/user");
    showState(place, { ...FREE, lock: "" });
    expect(field("use")).toBe("–");
  });

  it("says who waits, the next one by name", () => {
    showState(place, { ...FREE, waiting: [HOSTILE, "run", "gate"] });
    expect(field("queue")).toBe(`${HOSTILE}, and 2 more`);
    expect(place.querySelector("img")).toBeNull();
    expect([queueText([]), queueText(["run"])]).toEqual(["–", "run"]);
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

describe("a board that boots", () => {
  it("shows the phase, since when, and the last line as text", () => {
    const phases = { "power-on": 0, kernel: 3.2 };
    showHolding(place, { ...HELD, doing: "booting", doing_since: 1e9, phases, line: HOSTILE });
    const since = new Date(1e12).toTimeString().slice(0, 8);
    expect(field("work")).toBe(`booting: kernel at 3.2 s, since ${since}${HOSTILE}`);
    expect(place.querySelector("img")).toBeNull();
    expect(place.querySelector("code")?.textContent).toBe(HOSTILE);
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

describe("what became of an action", () => {
  it("is a word, and why", () => {
    const said = { action: "Boot", state: "done", message: "", remedy: "" } as const;
    expect(actedText(said)).toBe("Boot: done");
    expect(actedText({ ...said, state: "failed", message: "no card", remedy: "put one in" })).toBe(
      "Boot: failed. no card: put one in",
    );
  });
});

describe("the bar of a boot", () => {
  it("has a part for each phase that is over, in order", () => {
    const bar = bootBar(document, { "power-on": 0, kernel: 10, spl: 5, login: 40 });
    const parts = [...bar.querySelectorAll("rect")].map((part) => [
      part.getAttribute("class"),
      part.getAttribute("x"),
      part.getAttribute("width"),
    ]);
    expect(parts).toEqual([
      ["phase-power-on", "0.0", "125.0"],
      ["phase-spl", "125.0", "125.0"],
      ["phase-kernel", "250.0", "750.0"],
    ]);
  });

  it("is empty before anything was seen", () => {
    expect(bootBar(document, {}).childElementCount).toBe(0);
  });
});
