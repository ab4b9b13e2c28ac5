import { expect, test } from "vitest";

import { count, duration, plural, share } from "./words";

test("what is not known is a dash, and zero is zero", () => {
  expect(duration(null)).toBe("–");
  expect(duration(NaN)).toBe("–");
  expect(duration(0)).toBe("0 ns");
  expect(duration(3_300_000)).toBe("3.30 ms");
});

test("shares and counts", () => {
  expect([share(0), share(0.0004), share(0.0412), share(1)]).toEqual([
    "0 %",
    "0.04 %",
    "4.12 %",
    "100.0 %",
  ]);
  expect(count(1234567)).toBe("1 234 567");
  expect([plural(1, "event"), plural(2, "event")]).toEqual(["1 event", "2 events"]);
});
