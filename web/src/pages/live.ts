// What the server tells while a page is open (server-sent events), and how that connection stands.

/** What to do with each kind of message. Data is what the server sent, which is ours. */
export type Handlers = Readonly<Record<string, (data: never) => void>>;

export interface LiveError {
  readonly message: string;
  readonly remedy: string;
}

/** How long until a stream whose source failed is tried again. */
const AGAIN_MS = 10_000;

/** How long a page that nobody sees goes on listening: a browser has six connections for all. */
const UNSEEN_MS = 5_000;

/**
 * Listens until the page goes, or until what is returned is called. The browser connects again by itself when the connection is lost;
 * `troubled` is told of that, of what failed at the server, and with null that all is well again.
 */
export function listen(
  url: string,
  handlers: Handlers,
  troubled: (error: LiveError | null) => void,
): () => void {
  let source: EventSource | null = null;
  let again = 0;
  let unseen = 0;

  const end = (): void => {
    clearTimeout(again);
    source?.close();
    source = null;
  };

  const connect = (): void => {
    end();
    const opened = new EventSource(url);
    source = opened;
    opened.addEventListener("open", () => {
      troubled(null);
    });
    for (const [name, handle] of Object.entries(handlers)) {
      opened.addEventListener(name, (event) => {
        handle(JSON.parse((event as MessageEvent<string>).data) as never);
      });
    }
    opened.addEventListener("failed", (event) => {
      troubled(JSON.parse((event as MessageEvent<string>).data) as LiveError);
      opened.close();
      if (source === opened) source = null;
      again = window.setTimeout(connect, AGAIN_MS);
    });
    opened.addEventListener("error", () => {
      // Closed for good: the answer was no stream. Otherwise the browser tries again.
      const closed = opened.readyState === EventSource.CLOSED;
      troubled({
        message: "the workbench does not answer",
        remedy: closed ? "reload the page" : "is `benchvise serve` still running?",
      });
    });
  };

  connect();
  const listeners = new AbortController();
  const { signal } = listeners;
  addEventListener("pagehide", end, { signal });
  addEventListener(
    "pageshow",
    (event) => {
      if (event.persisted) connect();
    },
    { signal },
  );
  document.addEventListener(
    "visibilitychange",
    () => {
      clearTimeout(unseen);
      if (document.hidden) {
        unseen = window.setTimeout(end, UNSEEN_MS);
      } else if (source === null) {
        connect();
      }
    },
    { signal },
  );
  return () => {
    listeners.abort();
    clearTimeout(unseen);
    end();
  };
}
