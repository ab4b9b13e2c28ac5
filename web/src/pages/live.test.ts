import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { listen, type LiveError } from "./live";

class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static all: FakeSource[] = [];
  readyState = 1;

  constructor(readonly url: string) {
    super();
    FakeSource.all.push(this);
  }

  close(): void {
    this.readyState = FakeSource.CLOSED;
  }

  say(name: string, data: unknown): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  }
}

function open(): FakeSource[] {
  return FakeSource.all.filter((source) => source.readyState !== FakeSource.CLOSED);
}

function see(hidden: boolean): void {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}

const heard: unknown[] = [];
const troubles: (LiveError | null)[] = [];
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeSource);
  FakeSource.all = [];
  heard.length = troubles.length = 0;
  see(false);
  stop = listen(
    "/live/x",
    { said: (data: unknown) => heard.push(data) },
    (error) => troubles.push(error),
  );
});

afterEach(() => {
  stop();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("listening", () => {
  it("hands on messages", () => {
    open()[0]?.say("said", { n: 1 });
    expect(heard).toEqual([{ n: 1 }]);
  });

  it("tells what failed, and tries again later, once", () => {
    open()[0]?.say("failed", { message: "no rig", remedy: "name one" });
    expect(troubles).toEqual([{ message: "no rig", remedy: "name one" }]);
    expect(open()).toHaveLength(0);
    see(false);
    vi.advanceTimersByTime(60_000);
    expect(open()).toHaveLength(1);
  });

  it("gives its connection up when nobody has seen the page for a while", () => {
    see(true);
    vi.advanceTimersByTime(1_000);
    expect(open()).toHaveLength(1);
    see(false);
    vi.advanceTimersByTime(60_000);
    expect(FakeSource.all).toHaveLength(1);
    see(true);
    vi.advanceTimersByTime(60_000);
    expect(open()).toHaveLength(0);
    see(false);
    expect(open()).toHaveLength(1);
  });

  it("says that the server is gone, and that it is back", () => {
    const [source] = open();
    source?.dispatchEvent(new Event("error"));
    source?.dispatchEvent(new Event("open"));
    expect(troubles.map((error) => error?.message ?? null)).toEqual([
      "the workbench does not answer",
      null,
    ]);
  });
});
