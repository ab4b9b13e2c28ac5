import { expect, it } from "vitest";

import { readTracks, writeTracks } from "./tracks";

it("finds counters again that an address names, whatever they are called", () => {
  const tracks = [{ name: "run-queue", cpu: 0 }, { name: "a:b,c%.<x>", cpu: null }, { name: "lib:ev.field", cpu: 12 }];
  expect(readTracks(writeTracks(tracks))).toEqual(tracks);
  expect(writeTracks([])).toBeNull();
  for (const bad of ["%", ":3", "x:y", "", null]) expect(readTracks(bad)).toEqual([]);
});
