import type { Terminal } from "@xterm/xterm";
import { describe, expect, it } from "vitest";

import { ANSWERS_PER_SECOND, AnswerBudget, makeTerminal, styleByObjects } from "./terminal";

const written = (terminal: Terminal, text: string): Promise<void> =>
  new Promise((resolve) => { terminal.write(text, resolve); });

/** What the terminal sends to the board when the board says this. */
async function answersTo(text: string, answers: boolean): Promise<string[]> {
  const terminal = makeTerminal(() => answers);
  terminal.options.disableStdin = false;
  const sent: string[] = [];
  terminal.onData((answer) => { sent.push(answer); });
  await written(terminal, text);
  return sent;
}

const QUERIES = [
  "\x1b[6n", "\x1b[5n", "\x1b[?6n", "\x1b[c", "\x1b[>c", "\x1b[4$p", "\x1b[?7$p", "\x1bP$qm\x1b\\",
  "\x1b]10;?\x07", "\x1b]11;?\x07", "\x1b]4;1;?\x07",
];

describe("queries of a board", () => {
  it("for the place of the cursor are answered while one types", async () => {
    expect(await answersTo("ab\x1b[6n", true)).toEqual(["\x1b[1;3R"]);
  });

  it("for the size are the server's, since a late answer is taken for keys", async () => {
    expect(await answersTo("\x1b7\x1b[r\x1b[999;999H\x1b[6n\x1b8", true)).toEqual([]);
  });

  it.each(QUERIES)("are not answered to a reader: %j", async (query) => {
    expect(await answersTo(query, false)).toEqual([]);
  });

  it("are answered a few times a second only", async () => {
    expect(await answersTo("\x1b[6n".repeat(5000), true)).toHaveLength(ANSWERS_PER_SECOND);
    const budget = new AnswerBudget();
    const taken = Array.from({ length: 50 }, () => budget.take(0)).filter(Boolean);
    expect(taken).toHaveLength(ANSWERS_PER_SECOND);
    expect(budget.take(1000)).toBe(true);
  });

  it.each(["\x1b[21t", "\x1b[18t", "\x1b]52;c;?\x07", "\x1b]52;c;ZXZpbA==\x07", "\x05", "\x1b[0x"])(
    "that tell of more than the screen never are: %j",
    async (query) => {
      expect(await answersTo(`\x1b]2;rm -rf /\x07${query}`, true)).toEqual([]);
    },
  );
});

it("takes styles that are written as text by the object model", () => {
  const page = document.implementation.createHTMLDocument();
  styleByObjects(page);
  const span = page.createElement("span");
  span.setAttribute("style", "color: rgb(1, 2, 3);");
  span.setAttribute("title", "x");
  expect([span.style.color, span.title]).toEqual(["rgb(1, 2, 3)", "x"]);
});
