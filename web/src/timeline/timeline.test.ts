import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Selection } from "../workspace/selection";
import { source } from "./fixtures";
import { lengthOf } from "./span";
import { Timeline } from "./timeline";

const WIDTH = 1000;
const HEIGHT = 400;
const DURATION = 1e9;
const open: Timeline[] = [];

/** A canvas that takes everything and shows nothing; jsdom has none. */
const drawn = new Proxy({}, {
  get: (_, name) => (name === "measureText" ? (text: string) => ({ width: text.length * 6 }) : () => undefined),
  set: () => true,
});

class FakeImage {
  readonly data: Uint8ClampedArray;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.data = new Uint8ClampedArray(width * height * 4);
  }
}

beforeEach(() => {
  vi.stubGlobal("ImageData", FakeImage);
  vi.stubGlobal("ResizeObserver", class { observe(): void { /* never resized */ } disconnect(): void { /* nor then */ } });
  // Frames follow one another without those 16 ms of a display.
  vi.stubGlobal("requestAnimationFrame", (draw: FrameRequestCallback) => setTimeout(() => { draw(performance.now()); }, 0));
  vi.stubGlobal("cancelAnimationFrame", clearTimeout);
  vi.stubGlobal("matchMedia", () => ({ matches: true, addEventListener: () => undefined }));
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(drawn as never);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(WIDTH);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(HEIGHT);
  Element.prototype.setPointerCapture = () => undefined;
});

afterEach(() => {
  for (const each of open.splice(0)) each.close();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

async function made(): Promise<{ selection: Selection; stage: HTMLElement; timeline: Timeline }> {
  const selection = new Selection(DURATION);
  const timeline = new Timeline(document.body, source(80, DURATION, 200), selection);
  open.push(timeline);
  const stage = document.querySelector<HTMLElement>(".tl-stage");
  if (stage === null) throw new Error("no stage");
  await settled();
  return { selection, stage, timeline };
}

/** Two frames and what they asked for. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

const press = async (stage: HTMLElement, key: string): Promise<void> => {
  stage.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  await settled();
};

function pointer(type: string, x: number, y: number, more: PointerEventInit = {}): PointerEvent {
  const made = new MouseEvent(type, { clientX: x, clientY: y, button: 0, bubbles: true, ...more });
  return Object.assign(made, { pointerId: 1 }) as unknown as PointerEvent;
}

describe("a timeline", () => {
  it("adds no element while it moves: the browser would work out the style of the page with each frame", async () => {
    const { selection, stage } = await made();
    stage.dispatchEvent(pointer("pointermove", 500, 30));
    await settled();
    const observer = new MutationObserver(() => undefined);
    observer.observe(document, { subtree: true, childList: true });
    for (const part of [2, 3, 4]) {
      selection.look({ begin: 0, end: DURATION / part });
      await settled();
    }
    const added = observer.takeRecords().flatMap(({ addedNodes, removedNodes }) => [...addedNodes, ...removedNodes]);
    observer.disconnect();
    expect(added.filter((node) => node instanceof Element)).toEqual([]);
    expect(document.querySelector(".tl-tip")?.textContent).not.toBe("");
  });

  it("has all of the trace loaded before anything is asked of it", async () => {
    await made();
    expect(document.querySelector<HTMLElement>(".tl")?.dataset["state"]).toBe("complete");
    expect(document.querySelector(".tl-stage")?.getAttribute("aria-label")).toBe("Timeline of generated");
  });

  it("zooms around the pointer by wheel, and pans where there is no Ctrl", async () => {
    const { selection, stage } = await made();
    const before = selection.value.view;
    const at = before.begin + lengthOf(before) * 0.25;
    const turn = (init: WheelEventInit): boolean =>
      stage.dispatchEvent(new WheelEvent("wheel", { clientX: 250, cancelable: true, ...init }));
    expect(turn({ deltaY: -180, ctrlKey: true })).toBe(false);
    await settled();
    const { view } = selection.value;
    expect(lengthOf(view) / lengthOf(before)).toBeCloseTo(0.5);
    expect((at - view.begin) / lengthOf(view)).toBeCloseTo(0.25);
    turn({ deltaX: 100 });
    expect(selection.value.view.begin - view.begin).toBeCloseTo(lengthOf(view) / 10);
    expect(turn({ deltaY: 30 })).toBe(false);
    // At the top there is nowhere to go: the page may scroll.
    turn({ deltaY: -500 });
    expect(turn({ deltaY: -30 })).toBe(true);
  });

  it("pans by drag, chooses by click, and marks a span with Shift", async () => {
    const { selection, stage } = await made();
    selection.look({ begin: 1e8, end: 2e8 });
    await settled();
    stage.dispatchEvent(pointer("pointerdown", 500, 30));
    stage.dispatchEvent(pointer("pointermove", 400, 30));
    stage.dispatchEvent(pointer("pointerup", 400, 30));
    expect(selection.value.view.begin).toBeCloseTo(1.1e8);
    expect(selection.value.place).toBeNull();
    await settled();
    stage.dispatchEvent(pointer("pointerdown", 401, 30));
    stage.dispatchEvent(pointer("pointerup", 401, 30));
    // The item that is there, by its middle; the row is the CPU's, so the actor is the item's.
    expect(selection.value.place?.row).toBe(0);
    expect(selection.value.actor).toBe(0);
    expect(document.querySelector("[role=status]")?.textContent).toMatch(/^task 0: /);
    stage.dispatchEvent(pointer("pointerdown", 100, 30, { shiftKey: true }));
    stage.dispatchEvent(pointer("pointermove", 300, 30));
    stage.dispatchEvent(pointer("pointerup", 300, 30));
    expect(selection.value.range?.begin).toBeCloseTo(1.2e8);
    expect(selection.value.range?.end).toBeCloseTo(1.4e8);
  });

  it("is used by keys alone", async () => {
    const { selection, stage, timeline } = await made();
    await press(stage, "ArrowDown");
    expect(selection.value.place?.row).toBe(0);
    await press(stage, "ArrowDown");
    expect(selection.value.place?.row).toBe(1);
    await press(stage, ".");
    const first = selection.value.place;
    await press(stage, ".");
    expect(selection.value.place?.time).toBeGreaterThan(first?.time ?? Infinity);
    await press(stage, ",");
    expect(selection.value.place?.time).toBe(first?.time);
    await press(stage, "m");
    const { range } = selection.value;
    expect(range !== null && range.begin <= (first?.time ?? 0) && range.end >= (first?.time ?? 0)).toBe(true);
    await press(stage, "Enter");
    expect(lengthOf(selection.value.view) / lengthOf(range ?? { begin: 0, end: 0 })).toBeCloseTo(1.3);
    await press(stage, "0");
    expect(lengthOf(selection.value.view)).toBeCloseTo(DURATION * 1.02);
    await press(stage, "v");
    expect(timeline.orientation).toBe("vertical");
    await press(stage, "e");
    expect(timeline.density).toBe("events");
    await press(stage, "Escape");
    expect(selection.value).toMatchObject({ range: null, place: null, actor: null });
  });

  it("zooms by keys around the pointer", async () => {
    const { selection, stage } = await made();
    selection.look({ begin: 1e8, end: 2e8 });
    stage.dispatchEvent(pointer("pointermove", 250, 30));
    await press(stage, "w");
    const { view } = selection.value;
    expect(lengthOf(view)).toBeCloseTo(1e8 / 1.6);
    expect((1.25e8 - view.begin) / lengthOf(view)).toBeCloseTo(0.25);
  });

  it("shows only the rows that are wanted", async () => {
    const { stage, timeline, selection } = await made();
    timeline.filter([5, 60]);
    await settled();
    await press(stage, "ArrowDown");
    expect(selection.value.place?.row).toBe(5);
    await press(stage, "ArrowDown");
    expect(selection.value.place?.row).toBe(60);
    timeline.filter(null);
    await press(stage, "ArrowUp");
    expect(selection.value.place?.row).toBe(59);
  });
});
