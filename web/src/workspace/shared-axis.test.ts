import { expect, it } from "vitest";

import { clampSpan, wholeSpan } from "../timeline/span";
import { Pair } from "./pair";
import type { TraceInfo } from "./panel";
import { Selection } from "./selection";
import { alignmentCaution, extentsOf, measuredShift, titleOf } from "./shared-axis";

function info(origin: string, duration: number, uuid: string | null = "0x1f", doubt: number | null = null): TraceInfo {
  return {
    name: "b.dat", board: doubt === null ? "" : "ssh://b", origin, duration, clock_uncertainty: doubt,
    clock: { name: "mono", epoch_offset_ns: 0, uuid },
  } as unknown as TraceInfo;
}

it("knows where traces of one clock stand to each other, beyond 2^53", () => {
  const first = info("1764518400000000700", 1000);
  expect(measuredShift(first, info("1764518400000000900", 1000))).toBe(-200);
  expect(measuredShift(first, info("1764518400000000000", 1000))).toBe(700);
});

it("leaves traces of other clocks, and of other times, at their begins", () => {
  const first = info("5000", 1000);
  expect(measuredShift(first, info("5200", 1000, "0x20"))).toBe(0);
  expect(measuredShift(info("5000", 1000, null), info("5200", 1000, null))).toBe(0);
  expect(measuredShift(first, info("6000", 1000))).toBe(0);
  expect(measuredShift(first, info("4000", 1000))).toBe(0);
});

it("shows the same time of all, also where one has not begun yet", () => {
  const infos = [info("5000", 1000), info("4400", 900), info("5900", 800)];
  const [first, ...others] = infos;
  const shifts = [0, ...others.map((other) => measuredShift(first ?? other, other))];
  const extents = extentsOf(infos, shifts);
  expect(extents).toEqual([
    { earliest: -600, duration: 2300 }, { earliest: 0, duration: 2300 }, { earliest: -1500, duration: 2300 },
  ]);
  const [a, b, c] = extents.map(({ earliest, duration }) => new Selection(duration, {}, earliest));
  if (a === undefined || b === undefined || c === undefined) throw new Error("three");
  new Pair(a, b, "aligned", shifts[1] ?? 0);
  new Pair(a, c, "aligned", shifts[2] ?? 0);
  expect(b.value.view).toEqual(wholeSpan(2300, 0));
  c.look({ begin: -1480, end: -1400 });
  expect(a.value.view).toEqual({ begin: -580, end: -500 });
  expect(b.value.view).toEqual({ begin: 20, end: 100 });
  expect(clampSpan({ begin: -9000, end: -8900 }, 2300, -600)).toEqual({ begin: -605, end: -505 });
});

it("says how sure it is", () => {
  const lined = [info("1", 9, "0x1f", 40_000), info("2", 9, "0x1f", 25_000), info("2", 9, "0x1f", 60_000)];
  expect(titleOf(lined[0] ?? info("1", 9))).toBe("ssh://b (b.dat), clock ± 40.00 µs");
  expect(titleOf(info("1", 9))).toBe("b.dat");
  expect(alignmentCaution(lined)).toEqual([
    "The clocks of these boards are lined up: what stands at one time may be 100.0 µs apart",
  ]);
  expect(alignmentCaution([info("1", 9, "0x1f", 40_000), info("2", 9)])).toEqual([]);
  expect(alignmentCaution(lined.slice(1, 2))).toEqual([]);
});
