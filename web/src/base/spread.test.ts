import { describe, expect, it } from "vitest";

import { spread } from "./spread";

describe("moving labels apart", () => {
  it("leaves alone what does not touch", () => {
    expect(spread([10, 50, 90], 12, 0, 100)).toEqual([10, 50, 90]);
  });

  it("centres labels that touch on where they were", () => {
    expect(spread([50, 50], 10, 0, 100)).toEqual([45, 55]);
  });

  it("keeps the order, whatever order they come in", () => {
    expect(spread([52, 50, 51], 10, 0, 100)).toEqual([61, 41, 51]);
  });

  it("pushes a neighbour on only as far as needed", () => {
    expect(spread([20, 24, 80], 10, 0, 100)).toEqual([17, 27, 80]);
  });

  it("stays between the ends", () => {
    expect(spread([1, 2], 10, 0, 100)).toEqual([0, 10]);
    expect(spread([98, 99], 10, 0, 100)).toEqual([90, 100]);
  });

  it("takes nothing", () => {
    expect(spread([], 10, 0, 100)).toEqual([]);
  });
});
