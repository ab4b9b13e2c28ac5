import { expect, it } from "vitest";

import { row } from "./fixtures";
import { bandsOf, boxAt, boxesBetween, boxOfRow, hasEventsAlone, headingAt, heldSize, layoutOf, seenAt } from "./layout";

const ROWS = [row(0, "cpu"), row(1, "cpu"), row(2, "irq"), row(3), row(4)];

it("puts rows one behind the other, under a heading for each kind", () => {
  const layout = layoutOf(ROWS, [0, 1, 2, 3, 4], "normal", "horizontal");
  expect(layout.headings.map(({ text }) => text)).toEqual(["CPUs", "Interrupts", "Threads"]);
  let last = 0;
  for (const { from, bar, lane } of layout.boxes) {
    expect(from).toBeGreaterThanOrEqual(last);
    last = from + bar + lane;
  }
  expect(layout.size).toBeGreaterThan(last);
});

it("keeps the order of the source when rows are left out", () => {
  const layout = layoutOf(ROWS, [1, 4], "events", "vertical");
  expect(layout.boxes.map(({ order, row: { id } }) => [order, id])).toEqual([[1, 1], [4, 4]]);
  expect(layout.boxes[0]?.lane).toBeGreaterThan(0);
});

it("finds rows by their place", () => {
  const layout = layoutOf(ROWS, [0, 1, 2, 3, 4], "normal", "horizontal");
  for (const box of layout.boxes) {
    expect(boxAt(layout, box.from)).toBe(box);
    expect(boxAt(layout, box.from + box.bar - 1)).toBe(box);
  }
  expect(boxAt(layout, 3)).toBeNull();
  expect(boxAt(layout, layout.size + 50)).toBeNull();
  const [, second, third] = layout.boxes;
  expect(boxesBetween(layout, (second?.from ?? 0) + 1, (third?.from ?? 0) + 1)).toEqual([second, third]);
});

it("divides a bar without a gap", () => {
  for (const kind of ["thread", "line"]) {
    for (const bar of [11, 20, 64]) {
      const bands = bandsOf(kind, bar);
      bands.reduce((end, [from, size]) => {
        if (end >= 0) expect(from).toBe(end);
        expect(size).toBeGreaterThan(0);
        return from + size;
      }, -1);
    }
  }
});

it("keeps CPUs in sight while other rows go away beneath them", () => {
  const all = [...ROWS, ...Array.from({ length: 40 }, (_, at) => row(5 + at))];
  const layout = layoutOf(all, all.map((_, order) => order), "normal", "horizontal");
  const held = heldSize(layout, 400);
  expect(held).toBe(layout.headings[1]?.from);
  expect(seenAt(layout, 0, 400)).toBe(layout);
  for (const scroll of [1, 30, 77, 300]) {
    const seen = seenAt(layout, scroll, 400);
    expect(seen.boxes.slice(0, 2).map(({ row: { id }, from }) => [id, from - scroll]))
      .toEqual(layout.boxes.slice(0, 2).map(({ row: { id }, from }) => [id, from]));
    // What is not a CPU is where it was, and none of it lies beneath one.
    const others = seen.boxes.slice(2);
    expect(others).toEqual(layout.boxes.filter(({ from }) => from >= held + scroll));
    expect(boxAt(seen, scroll + (layout.boxes[1]?.from ?? 0))?.row.id).toBe(1);
    expect(seen.size).toBe(layout.size);
  }
});

it("lets CPUs scroll where there are too many, or nothing else", () => {
  const many = Array.from({ length: 64 }, (_, id) => row(id, "cpu"));
  const mixed = [...many, row(64)];
  const layout = layoutOf(mixed, mixed.map((_, order) => order), "normal", "horizontal");
  expect(seenAt(layout, 100, 400)).toBe(layout);
  const alone = layoutOf(many.slice(0, 2), [0, 1], "normal", "horizontal");
  expect(heldSize(alone, 400)).toBe(0);
});

it("names the events where nothing else is known, however narrow rows are to be", () => {
  expect(hasEventsAlone([row(0, "cpu"), row(1, "cpu")])).toBe(true);
  expect(hasEventsAlone([row(0, "cpu"), row(1)])).toBe(false);
  expect(hasEventsAlone([{ ...row(0, "cpu"), busy: 5 }])).toBe(false);
  const layout = layoutOf([row(0, "cpu")], [0], "compact", "horizontal");
  expect([layout.density, layout.boxes[0]?.lane]).toEqual(["events", 15]);
  expect(layoutOf([row(0, "cpu"), row(1)], [0, 1], "compact", "horizontal").density).toBe("compact");
});

it("closes the threads of a group into one box, and shows them below its name when it is open", () => {
  const group = { id: 3, name: "server 7", members: [3, 4], open: false };
  const closed = layoutOf(ROWS, [0, 1, 2, 3, 4], "normal", "horizontal", { pinned: [], groups: [group], tracks: [] });
  expect(closed.boxes.map(({ order, members }) => members ?? order)).toEqual([0, 1, 2, [3, 4]]);
  expect(boxOfRow(closed, 4)?.row.name).toBe("server 7");
  const open = layoutOf(ROWS, [0, 1, 2, 3, 4], "normal", "horizontal", { pinned: [], groups: [{ ...group, open: true }], tracks: [] });
  expect(open.boxes.map(({ order }) => order)).toEqual([0, 1, 2, 3, 4]);
  const heading = open.headings.find((each) => each.group === 3);
  expect(headingAt(open, (heading?.from ?? 0) + 1)).toBe(heading);
  // One that is shown alone, as others are filtered out, is a row as any other.
  const alone = layoutOf(ROWS, [0, 4], "normal", "horizontal", { pinned: [], groups: [group], tracks: [] });
  expect(alone.boxes.map(({ order, members }) => members ?? order)).toEqual([0, 4]);
});

it("keeps pinned rows first and in sight, once, whatever is filtered", () => {
  const all = [...ROWS, ...Array.from({ length: 40 }, (_, at) => row(5 + at))];
  const shown = all.map((_, order) => order).filter((order) => order !== 30);
  const group = { id: 9, name: "g", members: [9, 10, 20], open: false };
  const layout = layoutOf(all, shown, "normal", "horizontal", { pinned: [30, 20], groups: [group], tracks: [] });
  expect(layout.boxes.slice(0, 3).map(({ order }) => order)).toEqual([30, 20, 0]);
  expect(layout.boxes.filter(({ order }) => order === 20)).toHaveLength(1);
  expect(boxOfRow(layout, 9)?.members).toEqual([9, 10]);
  const seen = seenAt(layout, 200, 400);
  expect(seen.boxes.slice(0, 4).map(({ order, from }) => [order, from - 200]))
    .toEqual(layout.boxes.slice(0, 4).map(({ order, from }) => [order, from]));
  // Where CPUs would leave too little, the pinned ones alone stay.
  expect(heldSize(layout, 150)).toBe(layout.pinned);
});

it("shows counters behind the pinned rows, and takes none of them for a row", () => {
  const track = { ...row(-1_000_000, "counter", "run-queue"), cpu: null, actor: null };
  const layout = layoutOf(ROWS, [0, 1, 2, 3, 4], "normal", "horizontal", { pinned: [4], groups: [], tracks: [track] });
  expect(layout.boxes.map(({ order, track: at }) => at ?? order)).toEqual([4, 0, 0, 1, 2, 3]);
  expect(layout.boxes[1]?.track).toBe(0);
  expect(layout.pinned).toBe(layout.headings.find(({ text }) => text === "CPUs")?.from);
  expect(boxOfRow(layout, -1)).toBeNull();
  expect(boxOfRow(layout, -2)).toBeNull();
});
