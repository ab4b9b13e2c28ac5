import { type Span, spanOf } from "../../timeline/span";
import { make } from "./elements";

/** What a chart can be pointed at; places in pixels of the chart. */
export interface Points {
  readonly length: number;
  /** The point that the pointer means; -1 for none. */
  nearest(x: number, y: number): number;
  place(point: number): { readonly x: number; readonly y: number };
  text(point: number): string;
  /** Takes the point as chosen: the timeline moves there. */
  choose(point: number): void;
  /** What a drag from one place to another chooses; null on charts that have no time axis. */
  readonly span: ((from: number, to: number) => Span) | null;
  chooseSpan(span: Span): void;
}

const DRAG = 5;
const PAGE = 20;
const TIP_GAP = 12;

/**
 * Lets a chart be used: the pointer shows what it is over, a click chooses it, a drag chooses a
 * span; arrow keys go from point to point, Enter chooses. Returns what ends that.
 */
export function pointing(stage: HTMLElement, label: string, points: () => Points | null): () => void {
  const dot = make("div", { class: "point-mark", hidden: true });
  const tip = make("div", { class: "point-tip", hidden: true });
  const band = make("div", { class: "point-band", hidden: true });
  const announcement = make("output", { class: "sr-only", "aria-live": "polite" });
  stage.append(band, dot, tip, announcement);
  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  stage.setAttribute("aria-label", `${label}: arrow keys go through its points, Enter moves the timeline there`);
  let at = -1;
  let from: number | null = null;
  let dragging = false;

  const show = (point: number): void => {
    at = point;
    const current = points();
    const there = current !== null && point >= 0 && point < current.length;
    dot.hidden = tip.hidden = !there;
    if (!there) return;
    const { x, y } = current.place(point);
    move(dot, x, y);
    tip.textContent = current.text(point);
    const right = x > stage.clientWidth / 2;
    move(tip, right ? x - TIP_GAP - tip.offsetWidth : x + TIP_GAP, Math.max(0, y - tip.offsetHeight / 2));
  };
  const local = (event: PointerEvent): { x: number; y: number } => {
    const box = stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const onMove = (event: PointerEvent): void => {
    const { x, y } = local(event);
    const current = points();
    if (current === null) return;
    if (from !== null && current.span !== null && (dragging || Math.abs(x - from) > DRAG)) {
      dragging = true;
      show(-1);
      band.hidden = false;
      move(band, Math.min(x, from), 0);
      band.style.width = `${Math.abs(x - from)}px`;
      return;
    }
    show(current.nearest(x, y));
  };
  const onDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    from = local(event).x;
    dragging = false;
    stage.setPointerCapture(event.pointerId);
  };
  const onUp = (event: PointerEvent): void => {
    const began = from;
    from = null;
    band.hidden = true;
    const current = points();
    if (began === null || current === null) return;
    const { x, y } = local(event);
    if (dragging && current.span !== null) {
      const { begin, end } = current.span(began, x);
      current.chooseSpan(spanOf(Math.round(begin), Math.round(end)));
    } else {
      const point = current.nearest(x, y);
      if (point >= 0) current.choose(point);
    }
    dragging = false;
  };
  const onLeave = (): void => {
    if (from === null) show(-1);
  };
  const onKey = (event: KeyboardEvent): void => {
    const current = points();
    if (current === null || current.length === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = keyTarget(event.key, at, current.length);
    if (to !== null) {
      show(to);
      announcement.textContent = current.text(to);
    } else if (event.key === "Enter" && at >= 0) current.choose(at);
    else if (event.key === "Escape" && at >= 0) show(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  stage.addEventListener("pointermove", onMove);
  stage.addEventListener("pointerdown", onDown);
  stage.addEventListener("pointerup", onUp);
  stage.addEventListener("pointerleave", onLeave);
  stage.addEventListener("keydown", onKey);
  return () => {
    stage.removeEventListener("pointermove", onMove);
    stage.removeEventListener("pointerdown", onDown);
    stage.removeEventListener("pointerup", onUp);
    stage.removeEventListener("pointerleave", onLeave);
    stage.removeEventListener("keydown", onKey);
    for (const part of [dot, tip, band, announcement]) part.remove();
  };
}

/** The point that a key leads to; null for keys that lead nowhere. */
export function keyTarget(key: string, at: number, length: number): number | null {
  const last = length - 1;
  switch (key) {
    case "ArrowRight":
      return Math.min(last, at + 1);
    case "ArrowLeft":
      return Math.max(0, at < 0 ? last : at - 1);
    case "PageDown":
      return Math.min(last, Math.max(at, 0) + PAGE);
    case "PageUp":
      return Math.max(0, at - PAGE);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return null;
  }
}

function move(element: HTMLElement, x: number, y: number): void {
  element.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
}
