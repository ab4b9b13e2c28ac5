import { make } from "./views/elements";

export interface Split {
  /** What it changes, for screen readers. */
  readonly label: string;
  /** The custom property that the style sheet lays out by, a share of `whole` in percent. */
  readonly property: string;
  readonly direction: "rows" | "columns";
  /** Percent of `whole` that lie before it, at first. */
  readonly usual: number;
  readonly whole: HTMLElement;
}

const [LEAST, MOST, STEP] = [15, 85, 3];

/** A bar between two docked views: a drag or the arrow keys change their sizes, which are kept. */
export function splitter({ label, property, direction, usual, whole }: Split): HTMLElement {
  const bar = make("div", {
    class: "ws-split", role: "separator", tabindex: "0", "aria-label": label,
    "aria-orientation": direction === "rows" ? "horizontal" : "vertical",
    "aria-valuemin": String(LEAST), "aria-valuemax": String(MOST),
  });
  const key = `workspace${property}`;
  let share = usual;
  const set = (wanted: number, keep = true): void => {
    share = Math.round(Math.min(Math.max(wanted, LEAST), MOST) * 10) / 10;
    whole.style.setProperty(property, `${share}%`);
    bar.setAttribute("aria-valuenow", String(Math.round(share)));
    if (keep) store((kept) => { kept.setItem(key, String(share)); });
  };
  let kept = NaN;
  store((storage) => { kept = parseFloat(storage.getItem(key) ?? ""); });
  set(Number.isFinite(kept) ? kept : usual, false);
  bar.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
  });
  bar.addEventListener("pointermove", (event) => {
    if (!bar.hasPointerCapture(event.pointerId)) return;
    const { left, top, width, height } = whole.getBoundingClientRect();
    const part = direction === "rows" ? (event.clientY - top) / height : (event.clientX - left) / width;
    if (Number.isFinite(part)) set(part * 100);
  });
  bar.addEventListener("dblclick", () => { set(usual); });
  bar.addEventListener("keydown", (event) => {
    const [less, more] = direction === "rows" ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    if (event.key !== less && event.key !== more) return;
    event.preventDefault();
    set(share + (event.key === more ? STEP : -STEP));
  });
  return bar;
}

/** Browsers may forbid a page to keep anything: then sizes are as usual. */
function store(act: (kept: Storage) => void): void {
  try {
    act(localStorage);
  } catch {
    return;
  }
}
