import { expect, it } from "vitest";

import { formatLength, formatTime } from "./time-format";

it("tells lengths in the unit that reads best", () => {
  expect([0, 1, 999, 1000, 12_345, 999_960, 1_000_000, 59.9e9, 200e9, 7500e9].map(formatLength)).toEqual([
    "0 ns", "1 ns", "999 ns", "1.000 µs", "12.35 µs", "1.000 ms", "1.000 ms", "59.90 s", "3 min 20 s", "2 h 5 min",
  ]);
  expect(formatLength(-1500)).toBe("−1.500 µs");
});

it("tells times so that neighbours differ", () => {
  expect(formatTime(12_345_678_901, 1)).toBe("12.345\u2009678\u2009901 s");
  expect(formatTime(12_345_678_901, 1e6)).toBe("12.346 s");
  expect(formatTime(12_345_678_901, 1e9)).toBe("12 s");
  expect(formatTime(3_723_500_000_000, 1e8)).toBe("1:02:03.5");
  expect(formatTime(-61e9, 1e9)).toBe("−1:01");
});
