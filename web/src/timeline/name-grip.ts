/** The bar beside the names: a drag or the arrow keys change how wide they are, which is kept. */

const [LEAST, MOST, STEP] = [64, 640, 16];
const KEY = "timeline-names";

/** Puts the bar on `root`, which lays out by `--tl-names`. */
export function nameGrip(root: HTMLElement, signal: AbortSignal): void {
  const bar = root.appendChild(document.createElement("div"));
  bar.className = "tl-grip";
  bar.tabIndex = 0;
  bar.setAttribute("role", "separator");
  bar.setAttribute("aria-orientation", "vertical");
  bar.setAttribute("aria-label", "Width of the names");
  bar.setAttribute("aria-valuemin", String(LEAST));
  bar.setAttribute("aria-valuemax", String(MOST));
  const width = (): number => bar.getBoundingClientRect().right - root.getBoundingClientRect().left;
  const tell = (): void => { bar.setAttribute("aria-valuenow", String(Math.round(width()))); };
  const set = (wanted: number | null): void => {
    if (wanted === null) root.style.removeProperty("--tl-names");
    else {
      const most = Math.max(LEAST, Math.min(MOST, root.clientWidth * 0.6 || MOST));
      const size = Math.round(Math.min(Math.max(wanted, LEAST), most));
      root.style.setProperty("--tl-names", `${size}px`);
    }
    tell();
    keep(wanted);
  };
  const kept = parseFloat(read());
  if (Number.isFinite(kept)) set(kept);
  tell();
  bar.addEventListener("focus", tell, { signal });
  bar.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
  }, { signal });
  bar.addEventListener("pointermove", (event) => {
    if (bar.hasPointerCapture(event.pointerId)) set(event.clientX - root.getBoundingClientRect().left);
  }, { signal });
  bar.addEventListener("dblclick", () => { set(null); }, { signal });
  bar.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    set(width() + (event.key === "ArrowRight" ? STEP : -STEP));
  }, { signal });
}

function read(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** Browsers may forbid a page to keep anything: then the width is as usual next time. */
function keep(width: number | null): void {
  try {
    if (width === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, String(width));
  } catch {
    return;
  }
}
