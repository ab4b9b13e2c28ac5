import { expect, it } from "vitest";

import { evidenceLines, evidenceRow, type EvidenceTrack } from "./evidence";
import { layoutOf } from "./layout";
import { valueAt } from "./tracks";

const TRACK: EvidenceTrack = {
  name: "CPU clock", unit: "Hz", reason: "",
  begin: [100, 105, 300, 900], end: [104, 109, 500, 950], low: [2, 1, 4, 7], high: [3, 2, 4, 8],
};

it("draws samples of one pixel together, others each, and nothing between them", () => {
  const lines = evidenceLines(TRACK, { begin: 0, end: 1000 }, 10);
  if (typeof lines === "string") throw new Error(lines);
  expect(lines).toEqual({ begin: [100, 300, 900], end: [109, 500, 950], low: [1, 4, 7], high: [3, 4, 8], minimum: 1, maximum: 8 });
  expect([50, 106, 200, 400, 925].map((time) => valueAt(lines, time))).toEqual([null, [1, 3], null, [4, 4], [7, 8]]);
});

it("draws what is seen, and measures it by the whole run", () => {
  const lines = evidenceLines(TRACK, { begin: 104, end: 320 }, 1000);
  expect(lines).toMatchObject({ begin: [105, 300], end: [109, 500], minimum: 1, maximum: 8 });
});

it("stands beneath the CPUs, much of it behind all rows, with the reason where it cannot be had", () => {
  const none = { name: "temperature", unit: "°C", reason: "no thermal zone", begin: [], end: [], low: [], high: [] };
  expect(evidenceLines(none, { begin: 0, end: 1 }, 10)).toBe("not available: no thermal zone");
  const row = { id: 0, kind: "cpu", name: "CPU 0", detail: "", cpu: 0, actor: null, busy: null, instances: null };
  const counter = { ...row, id: -1_000_000, kind: "counter", name: "run-queue" };
  const rows = [row, { ...row, id: 1, kind: "thread", name: "sleep" }];
  const laidOut = (tracks: readonly EvidenceTrack[]): ReturnType<typeof layoutOf> => layoutOf(
    rows, [0, 1], "normal", "horizontal",
    { pinned: [], groups: [], tracks: [counter], evidence: { title: "Evidence of run a", tracks } },
  );
  const layout = laidOut([TRACK, none]);
  expect(layout.boxes.map((box) => [box.row.name, box.track])).toEqual([
    ["run-queue", 0], ["CPU 0", undefined], ["CPU clock", 1], ["temperature", 2], ["sleep", undefined],
  ]);
  expect(layout.headings.map(({ text }) => text)).toEqual(["Counters", "CPUs", "Evidence of run a", "Threads"]);
  expect(laidOut(Array.from({ length: 40 }, () => TRACK)).headings.map(({ text }) => text).at(-1)).toBe("Evidence of run a");
  expect([evidenceRow(none, 1).detail, evidenceRow(TRACK, 0).detail]).toEqual(["", "Hz"]);
  // A search of rows shows those that it finds.
  const evidence = { title: "", tracks: [TRACK] };
  expect(layoutOf([row], [], "normal", "horizontal", { pinned: [], groups: [], tracks: [], evidence }).boxes).toEqual([]);
});
