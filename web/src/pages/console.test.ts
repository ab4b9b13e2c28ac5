import { describe, expect, it } from "vitest";

import { KEPT, Screen } from "./console";

describe("the screen of a console", () => {
  it("shows lines, and the one that is not at its end", () => {
    const screen = new Screen();
    screen.add({ lines: ["one", "two"], open: "login: ", skipped: 0 });
    expect(screen.text).toBe("one\ntwo\nlogin: ");
    screen.add({ lines: ["login: root"], open: "", skipped: 0 });
    expect(screen.text).toBe("one\ntwo\nlogin: root\n");
  });

  it("keeps the newest lines of a board that talks without end", () => {
    const screen = new Screen();
    screen.add({ lines: Array.from({ length: KEPT + 10 }, (_, n) => `${n}`), open: "", skipped: 0 });
    expect(screen.text.split("\n")).toHaveLength(KEPT + 1);
    expect(screen.text.startsWith("10\n")).toBe(true);
  });

  it("says that something was passed over, but not at the begin", () => {
    const screen = new Screen();
    screen.add({ lines: ["tail"], open: "", skipped: 900 });
    expect(screen.text).toBe("tail\n");
    screen.add({ lines: ["later"], open: "", skipped: 900 });
    expect(screen.text).toContain("900 bytes");
  });

  it("is empty when a new log begins", () => {
    const screen = new Screen();
    screen.add({ lines: ["old"], open: "x", skipped: 0 });
    screen.clear();
    expect(screen.text).toBe("");
  });
});
