/** Pointers, wheels and touch-pads become few acts, along time (`main`) and across it (`cross`). */
export interface Acts {
  /** By so many pixels; false when nothing can move that way. */
  pan(main: number, cross: number): boolean;
  /** `factor` times as much is seen, the place `at` pixels along staying where it is. */
  zoom(factor: number, at: number, smooth: boolean): void;
  /**
   * A span is being drawn, from pixel to pixel, and between two places across it unless it was drawn
   * along time alone; `done` when the pointer is released.
   */
  mark(from: number, to: number, done: boolean, across: readonly [number, number] | null): void;
  click(main: number, cross: number): void;
  open(main: number, cross: number): void;
  hover(place: readonly [main: number, cross: number] | null): void;
}

/** Pixels from which on a press is a drag. */
const SLACK = 4;
/** Pixels across time from which on a drawn span is of the rows that it touches. */
const AREA_PX = 12;
const LINE_PX = 16;

/** Listens on an element; what is returned ends it. `marks`: each drag draws a span. */
export function listen(
  element: HTMLElement,
  acts: Acts,
  isVertical: () => boolean,
  marks = false,
): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const pointers = new Map<number, PointerEvent>();
  let pressed: { main: number; cross: number; marking: boolean; dragged: boolean } | null = null;

  const placeOf = (event: MouseEvent): [number, number] => {
    const { left, top } = element.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    return isVertical() ? [y, x] : [x, y];
  };

  const acrossOf = (from: number, to: number): readonly [number, number] | null =>
    marks || Math.abs(to - from) < AREA_PX ? null : [Math.min(from, to), Math.max(from, to)];

  const wheel = (event: WheelEvent): void => {
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const [x, y] = [event.deltaX * unit, event.deltaY * unit];
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      // A pinch on a touch-pad comes as many small turns, a wheel's notch as one of 100 or more.
      const pinch = Math.abs(y) < 40;
      acts.zoom(2 ** (y / (pinch ? 60 : 180)), placeOf(event)[0], !pinch);
      return;
    }
    const along = event.shiftKey && x === 0 ? y : x;
    const across = event.shiftKey && x === 0 ? 0 : y;
    if (along === 0 && across === 0) return;
    const turned = isVertical() && !event.shiftKey;
    const moved = turned ? acts.pan(across, along) : acts.pan(along, across);
    // What cannot move here moves the page.
    if (moved) event.preventDefault();
  };

  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, event);
    element.setPointerCapture(event.pointerId);
    const [main, cross] = placeOf(event);
    pressed = pointers.size > 1 ? null : { main, cross, marking: marks || event.shiftKey, dragged: false };
  };

  const move = (event: PointerEvent): void => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) {
      acts.hover(placeOf(event));
      return;
    }
    if (pointers.size === 2) pinch(event, before);
    pointers.set(event.pointerId, event);
    if (pressed === null || pointers.size > 1) return;
    const [main, cross] = placeOf(event);
    pressed.dragged ||= Math.hypot(main - pressed.main, cross - pressed.cross) > SLACK;
    if (!pressed.dragged) return;
    acts.hover(null);
    if (pressed.marking) {
      acts.mark(pressed.main, main, false, acrossOf(pressed.cross, cross));
      return;
    }
    const [lastMain, lastCross] = placeOf(before);
    acts.pan(lastMain - main, lastCross - cross);
  };

  const pinch = (event: PointerEvent, before: PointerEvent): void => {
    const other = [...pointers.values()].find(({ pointerId }) => pointerId !== event.pointerId);
    if (other === undefined) return;
    const [fixed] = placeOf(other);
    const [was] = placeOf(before);
    const [is] = placeOf(event);
    const [from, to] = [Math.abs(was - fixed), Math.abs(is - fixed)];
    if (from > 10 && to > 10) acts.zoom(from / to, fixed, false);
  };

  const up = (event: PointerEvent): void => {
    pointers.delete(event.pointerId);
    if (pressed === null || pointers.size > 0) return;
    const [main, cross] = placeOf(event);
    const { marking, dragged, main: from, cross: start } = pressed;
    pressed = null;
    if (event.type === "pointercancel") return;
    if (!dragged) acts.click(main, cross);
    else if (marking) acts.mark(from, main, true, acrossOf(start, cross));
  };

  element.addEventListener("wheel", wheel, { signal, passive: false });
  element.addEventListener("pointerdown", down, { signal });
  element.addEventListener("pointermove", move, { signal });
  element.addEventListener("pointerup", up, { signal });
  element.addEventListener("pointercancel", up, { signal });
  element.addEventListener("pointerleave", () => { acts.hover(null); }, { signal });
  element.addEventListener("dblclick", (event) => { acts.open(...placeOf(event)); }, { signal });
  return () => {
    controller.abort();
  };
}
