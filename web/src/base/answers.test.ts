import { afterEach, describe, expect, it, vi } from "vitest";

// Another file's tests may have loaded the module for their window, and it listens to its own.
vi.resetModules();
const { ask, askBytes, askJson } = await import("./answers");

/** An answer whose body is never had whole. */
function broken(): Response {
  const body = new ReadableStream({
    pull(controller) {
      controller.error(new TypeError("Failed to fetch"));
    },
  });
  return new Response(body);
}

const answering = (answer: () => Response | Promise<Response>): void => {
  vi.stubGlobal("fetch", () => Promise.resolve(answer()));
};

/** Whether something comes within a moment. */
const comes = (wanted: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    wanted.then(() => true),
    new Promise<boolean>((resolve) => setTimeout(() => { resolve(false); }, 20)),
  ]);

afterEach(() => {
  dispatchEvent(new Event("pageshow"));
  vi.unstubAllGlobals();
});

describe("asking the server", () => {
  it("says what it is that broke off", async () => {
    answering(broken);
    expect(await askJson("/a")).toMatchObject({ ok: false, error: "/a: the answer broke off: TypeError: Failed to fetch" });
    expect(await askBytes("/a")).toMatchObject({ ok: false });
    answering(() => new Response("<html>"));
    expect(await askJson("/a")).toMatchObject({ ok: false, error: expect.stringContaining("/a: the answer is not JSON") as string });
    answering(() => Promise.reject(new TypeError("refused")));
    expect(await ask("/a")).toMatchObject({ ok: false, error: expect.stringContaining("is it still running?") as string });
  });

  it("tells the server's own reason", async () => {
    answering(() => Response.json({ error: { message: "no such trace", remedy: "look at /traces" } }, { status: 404 }));
    expect(await ask("/a")).toEqual({ ok: false, error: "no such trace: look at /traces" });
  });

  it("says nothing to nobody: requests break off when the page is left", async () => {
    dispatchEvent(new Event("pagehide"));
    answering(broken);
    expect(await comes(askJson("/a"))).toBe(false);
    expect(await comes(askBytes("/a"))).toBe(false);
    answering(() => Promise.reject(new TypeError("refused")));
    expect(await comes(ask("/a"))).toBe(false);
  });

  it("is not a fault of the server where it is no longer wanted", async () => {
    const controller = new AbortController();
    controller.abort();
    answering(broken);
    expect(await askJson("/a", controller.signal)).toEqual({ ok: false, error: "no longer wanted" });
  });
});
