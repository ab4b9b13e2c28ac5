import { describe, expect, it, vi } from "vitest";

import { Pair } from "./pair";
import { Selection } from "./selection";

describe("a selection", () => {
  it("tells all who listen what has changed, once", () => {
    const selection = new Selection(1e9);
    const told = vi.fn();
    const end = selection.subscribe(told);
    selection.choose({ row: 2, time: 50 }, 9);
    selection.choose({ row: 2, time: 50 }, 9);
    expect(told).toHaveBeenCalledOnce();
    expect(told.mock.calls[0]?.[1]).toEqual({ view: false, range: false, area: false, place: true, actor: true });
    end();
    selection.clear();
    expect(told).toHaveBeenCalledOnce();
  });

  it("shows what another view points at, and chooses it", () => {
    const selection = new Selection(1e9);
    selection.reveal({ begin: 5e8, end: 5e8 + 1000 }, { row: 1, time: 5e8 }, 3);
    const { view, place, actor } = selection.value;
    expect(view.begin).toBeLessThan(5e8);
    expect(view.end - view.begin).toBe(5000);
    expect([place?.row, actor]).toEqual([1, 3]);
  });

  it("takes all from an address, and nothing for what it does not name", () => {
    const selection = new Selection(1e9, { actor: 3, range: { begin: 1, end: 2 } });
    selection.restore({ actor: 4 });
    expect(selection.value).toMatchObject({ actor: 4, range: null, place: null });
  });
});

describe("two selections", () => {
  const pair = (): [Selection, Selection, Pair] => {
    const [a, b] = [new Selection(2e6), new Selection(2e6)];
    return [a, b, new Pair(a, b, "aligned", 1000)];
  };

  it("look at the same time, the second shifted, whichever is moved", () => {
    const [a, b] = pair();
    a.look({ begin: 10_000, end: 20_000 });
    expect(b.value.view).toEqual({ begin: 11_000, end: 21_000 });
    b.look({ begin: 51_000, end: 61_000 });
    expect(a.value.view).toEqual({ begin: 50_000, end: 60_000 });
    a.setRange({ begin: 5, end: 9 });
    expect(b.value.range).toEqual({ begin: 1005, end: 1009 });
    b.setRange(null);
    expect(a.value.range).toBeNull();
  });

  it("are released and laid onto each other again", () => {
    const [a, b, both] = pair();
    both.clocks = "separate";
    a.look({ begin: 10_000, end: 20_000 });
    expect(b.value.view.begin).not.toBe(11_000);
    expect(both.alignChosen()).toBe(false);
    a.choose({ row: 0, time: 12_000 });
    b.choose({ row: 0, time: 40_000 });
    expect(both.alignChosen()).toBe(true);
    expect([both.shift, b.value.view.begin]).toEqual([28_000, 38_000]);
  });
});
