import { onMediaChange } from "../base/media";
import { type Arrow, arrowShapes } from "./arrows";
import { AxisView } from "./axis-view";
import type { CallSource } from "./calls";
import type { Changed, Choices, Chosen } from "./choices";
import { Choosing } from "./choosing";
import { Contents } from "./contents";
import { type Flag, flagMarks } from "./flags";
import { buildFrame, type Elements } from "./frame";
import { type Acts, listen } from "./gestures";
import { actOf, type KeyAct } from "./keys";
import { type Box, boxAt, type Density, type Grouping, headingAt, heldSize, layoutOf, type Orientation, UNGROUPED } from "./layout";
import { MiniMap } from "./mini-map";
import { Motion } from "./motion";
import { nameGrip } from "./name-grip";
import { Names, PIN_PX } from "./names";
import { flagBoxes, Overlay } from "./overlay";
import { type Noted, Pointing } from "./pointing";
import { type Drawn, type Picture, pictureOf } from "./snapshot";
import type { Overview, Source } from "./source";
import { clampSpan, lengthOf, shiftSpan, type Span, spanOf, wholeSpan } from "./span";
import { Stage } from "./stage";
import { Paints, type Theme, themeOf } from "./theme";
import { ticksOf } from "./ticks";
import type { Evidence } from "./evidence";
import type { AskTrack, Track } from "./tracks";
import { Viewport } from "./viewport";

export interface TimelineOptions {
  readonly density?: Density;
  readonly orientation?: Orientation;
  /** Told when a key changes them, for buttons and the page's address. */
  readonly turned?: (density: Density, orientation: Orientation) => void;
  /** Which rows come first and which are together, and who changes it: rows by their ids. */
  readonly grouping?: Grouping;
  readonly pinned?: (row: number) => void;
  readonly grouped?: (group: number | "all") => void;
  /** Counters that are shown, and who has their values. */
  readonly tracks?: readonly Track[];
  readonly askTrack?: AskTrack;
  /** Asked for a note on something, and for the note that a flag stands for. */
  readonly noted?: (about: Noted) => void;
  readonly flagged?: (flag: Flag) => void;
}

const OVERVIEW_BUCKETS = 1024;
const LABEL_ROOM = { horizontal: 110, vertical: 56 } as const;
const ZOOM_STEP = 1.6;
const PAN_SHARE = 0.15;
const DENSITIES: readonly Density[] = ["compact", "normal", "events"];

/** A timeline in an element: draws what `source` has, and moves as `choices` says. */
export class Timeline {
  private readonly elements: Elements;
  private readonly stage: Stage;
  private readonly names: Names;
  private readonly axis: AxisView;
  private readonly map: MiniMap;
  private readonly overlay: Overlay;
  private readonly viewport: Viewport;
  private readonly contents: Contents;
  private readonly pointing: Pointing;
  private readonly choosing: Choosing;
  private readonly motion = new Motion();
  private readonly ends: (() => void)[] = [];
  private readonly controller = new AbortController();
  private grouping: Grouping;
  private theme: Theme;
  private paints: Paints;
  private shown: readonly number[];
  private overview: Overview | null = null;
  private hovered: number | null = null;
  private arrows: readonly Arrow[] = [];
  private found: Float64Array = new Float64Array(0);
  private drawing: { readonly range: Span; readonly area: readonly number[] | null } | null = null;
  private asked = false;
  /** Settles when all that is seen at first is drawn. */
  readonly drawn: Promise<void>;
  private tellDrawn: () => void = () => undefined;
  /** What is to be drawn again besides the bars. */
  private stale = { names: true, map: true };

  constructor(
    host: HTMLElement,
    private readonly source: Source,
    private readonly choices: Choices,
    private readonly options: TimelineOptions = {},
  ) {
    this.drawn = new Promise((resolve) => { this.tellDrawn = resolve; });
    this.elements = buildFrame(host, source.name);
    const { root, stage, bars, names, axis, corner, mapHost, map, status } = this.elements;
    this.shown = source.rows.map((_, order) => order);
    this.grouping = options.grouping ?? UNGROUPED;
    const layout = layoutOf(
      source.rows, this.shown, options.density ?? "normal", options.orientation ?? "horizontal", this.grouping,
    );
    this.viewport = new Viewport(source, choices, bars, layout, () => {
      this.stale.names = true;
      this.invalidate();
    });
    this.contents = new Contents(source, choices, this.viewport, options.tracks ?? [], options.askTrack, {
      changed: () => { this.invalidate(); },
      arrived: () => {
        this.say("");
        this.invalidate();
      },
      troubled: (reason) => { this.say(`Part of the timeline is missing: ${reason}`); },
    });
    this.pointing = new Pointing(source, choices, this.viewport, this.contents);
    this.choosing = new Choosing(source, choices, this.viewport, this.contents, this.pointing, status, {
      go: (view) => { this.go(view); },
      show: (span) => { this.show(span); },
    });
    root.dataset["orientation"] = this.viewport.layout.orientation;
    this.theme = themeOf(root);
    this.paints = new Paints(this.theme, source.look);
    this.stage = new Stage(bars);
    this.names = new Names(names);
    this.axis = new AxisView(axis, corner);
    this.map = new MiniMap(mapHost, map, source.duration, (view) => {
      this.motion.stop();
      choices.look(view);
    });
    this.overlay = new Overlay(stage, source);
    nameGrip(root, this.controller.signal);
    this.listen();
    void this.loadOverview();
    // Measured before anything is asked for: what is asked for depends on it.
    this.resize();
  }

  get density(): Density {
    return this.viewport.layout.density;
  }

  get orientation(): Orientation {
    return this.viewport.layout.orientation;
  }

  /** Rows by their order in the source; all when null. */
  filter(shown: readonly number[] | null): void {
    this.shown = shown ?? this.source.rows.map((_, order) => order);
    this.say(this.shown.length === 0 ? "No row fits." : "");
    this.arrange(this.density, this.orientation);
  }

  /** Shows calls of functions beneath the threads that made them, or takes them away. */
  showCalls(calls: CallSource | null): void {
    this.contents.calls = calls;
    this.arrange(this.density, this.orientation);
  }

  /** Shows what was read during a run. */
  showEvidence(evidence: Evidence | null): void {
    this.contents.evidence = evidence;
    this.arrange(this.density, this.orientation);
  }

  arrange(density: Density, orientation: Orientation): void {
    const { calls, evidence } = this.contents;
    const grouping = { ...this.grouping, calls: calls?.threads ?? [], evidence };
    this.viewport.layout = layoutOf(this.source.rows, this.shown, density, orientation, grouping);
    this.elements.root.dataset["orientation"] = orientation;
    this.viewport.scrollTo(this.viewport.scroll);
    this.resize();
  }

  /** Shows what led to what. */
  showArrows(arrows: readonly Arrow[]): void {
    this.arrows = arrows;
    this.invalidate();
  }

  /** Marks what a search found in the axis and on the mini-map: ns since the first event, ascending. */
  showFound(times: Float64Array): void {
    this.found = times;
    this.stale.map = true;
    this.invalidate();
  }

  /** Shows notes: in the axis, and around what they are about. */
  showFlags(flags: readonly Flag[]): void {
    this.pointing.flags = flags;
    // The axis has room for them, and a canvas is as large as it.
    this.elements.root.dataset["flags"] = flags.length > 0 ? "yes" : "no";
    this.resize();
  }

  /** Other rows come first, or are together; other counters are shown. */
  group(grouping: Grouping, tracks: readonly Track[] = []): void {
    this.grouping = grouping;
    this.contents.tracks = tracks;
    this.arrange(this.density, this.orientation);
  }

  /** Brings a row into sight; a closed group that has it is opened. */
  reveal(row: number): void {
    const closed = this.viewport.boxOf(row);
    if (closed?.members !== undefined) this.options.grouped?.(groupOf(closed));
    const box = this.viewport.boxOf(row);
    if (box === null) return;
    const [, cross] = this.viewport.extent();
    const end = box.from + box.bar + box.lane;
    const held = heldSize(this.viewport.layout, cross);
    if (box.from < held) return;
    if (box.from < this.viewport.scroll + held) this.viewport.scrollTo(box.from - held - 40);
    else if (end > this.viewport.scroll + cross) this.viewport.scrollTo(end - cross + 40);
  }

  /** Does what a key means; false when it means nothing here. */
  press(event: KeyboardEvent): boolean {
    const act = actOf(event);
    if (act !== null) this.key(act);
    return act !== null;
  }

  /** Asks for a note on the range, else on what is chosen. */
  note(): void {
    this.options.noted?.(this.pointing.notable(this.choosing.chosenItem()));
  }

  focus(): void {
    this.elements.stage.focus({ preventScroll: true });
  }

  close(): void {
    this.controller.abort();
    this.contents.close();
    for (const end of this.ends) end();
    this.elements.root.remove();
  }

  private async loadOverview(): Promise<void> {
    try {
      this.overview = await this.source.overview(OVERVIEW_BUCKETS, this.controller.signal);
      this.stale.map = true;
      this.invalidate();
    } catch (error) {
      if (!this.controller.signal.aborted) this.say(`The mini-map is missing: ${String(error)}`);
    }
  }

  private listen(): void {
    const { stage, axisHost, namesHost, root } = this.elements;
    const isVertical = (): boolean => this.orientation === "vertical";
    const acts = this.acts();
    this.ends.push(
      listen(stage, acts, isVertical),
      listen(axisHost, this.axisActs(acts), isVertical, true),
      this.choices.subscribe((now, changed) => {
        this.follow(now, changed);
      }),
    );
    const { signal } = this.controller;
    namesHost.addEventListener("wheel", (event) => {
      if (acts.pan(0, isVertical() ? event.deltaX || event.deltaY : event.deltaY)) event.preventDefault();
    }, { signal, passive: false });
    namesHost.addEventListener("pointermove", (event) => {
      const { left, top } = namesHost.getBoundingClientRect();
      const across = isVertical() ? event.clientX - left : event.clientY - top;
      this.hoverName(boxAt(this.viewport.seen(), across + this.viewport.scroll)?.order ?? null);
    }, { signal });
    namesHost.addEventListener("pointerleave", () => { this.hoverName(null); }, { signal });
    namesHost.addEventListener("click", (event) => {
      const { left, top } = namesHost.getBoundingClientRect();
      const across = isVertical() ? event.clientX - left : event.clientY - top;
      const middle = (isVertical() ? stage.clientHeight : stage.clientWidth) / 2;
      const atPin = !isVertical() && event.clientX - left > namesHost.clientWidth - PIN_PX;
      if (!this.clickName(across, atPin)) acts.click(middle, across);
      this.focus();
    }, { signal });
    stage.addEventListener("keydown", (event) => {
      if (this.press(event)) event.preventDefault();
    }, { signal });
    const observer = new ResizeObserver(() => {
      this.resize();
    });
    observer.observe(root);
    observer.observe(namesHost);
    onMediaChange(() => {
      this.theme = themeOf(root);
      this.paints = new Paints(this.theme, this.source.look);
      this.resize();
    }, signal);
    this.ends.push(() => {
      observer.disconnect();
    });
  }

  private hoverName(order: number | null): void {
    if (order === this.hovered) return;
    this.hovered = order;
    this.stale.names = true;
    this.invalidate();
  }

  /** Opens or closes a group, or pins a row; false where there is neither at a place among the names. */
  private clickName(across: number, atPin: boolean): boolean {
    const { grouped, pinned } = this.options;
    const at = across + this.viewport.scroll;
    const heading = headingAt(this.viewport.seen(), at);
    const box = heading === null ? boxAt(this.viewport.seen(), at) : null;
    if (heading?.group !== undefined) grouped?.(heading.group);
    else if (box?.members !== undefined) grouped?.(groupOf(box));
    else if (atPin && box !== null) pinned?.(box.row.id);
    else return heading !== null;
    return true;
  }

  private acts(): Acts {
    return {
      pan: (main, cross) => {
        const moved = this.viewport.scrollTo(this.viewport.scroll + cross);
        if (main === 0) return moved;
        this.motion.stop();
        const { view } = this.choices.value;
        this.choices.look(shiftSpan(view, main * this.viewport.perPixel(view)));
        return true;
      },
      zoom: (factor, at, smooth) => {
        this.zoom(factor, at / this.viewport.extent()[0], smooth);
      },
      mark: (from, to, done, across) => {
        const range = spanOf(this.viewport.timeAt(from), this.viewport.timeAt(to));
        const area = across === null ? null : this.viewport.rowsBetween(across);
        this.drawing = done ? null : { range, area };
        if (done) this.choices.setRange(range, area);
        else this.invalidate();
      },
      click: (main, cross) => {
        const hit = this.pointing.hit(main, cross);
        if (hit?.box.track !== undefined) return;
        if (hit === null) this.choices.choose(null);
        else if (hit.box.calls !== undefined) this.choosing.chooseCall(hit.box, hit.call ?? null);
        else this.choosing.choose(hit);
      },
      open: (main, cross) => {
        const hit = this.pointing.hit(main, cross);
        const item = hit?.call ?? hit?.item;
        if (item !== null && item !== undefined) this.show(item);
      },
      hover: (place) => {
        this.pointing.pointer = place;
        this.pointing.inAxis = false;
        if (place === null) this.hoverName(null);
        this.invalidate();
      },
    };
  }

  /** In the axis a click is on a note, and a double click writes one: there are no rows. */
  private axisActs(acts: Acts): Acts {
    return {
      ...acts,
      click: (main) => {
        const flag = this.pointing.flagAt(main);
        if (flag !== null) this.options.flagged?.(flag);
      },
      open: (main) => {
        const time = Math.round(this.viewport.timeAt(main));
        if (this.pointing.flagAt(main) === null) this.options.noted?.({ begin: time, end: time, row: null });
      },
      hover: (place) => {
        acts.hover(place);
        this.pointing.inAxis = place !== null;
      },
    };
  }

  /** What is chosen was changed, here or elsewhere. */
  private follow(now: Chosen, changed: Changed): void {
    if (changed.place) {
      if (now.place !== null) this.reveal(now.place.row);
      this.stale.names = true;
    }
    this.invalidate();
  }

  private key(act: KeyAct): void {
    const { value } = this.choices;
    const { view, range } = value;
    const length = lengthOf(view);
    const item = this.choosing.chosenItem();
    const time = value.place?.time ?? null;
    const inSight = time !== null && time >= view.begin && time <= view.end;
    // At the pointer, where one looks; else at what is chosen.
    const chosen = inSight ? (time - view.begin) / length : 0.5;
    const fixed = this.pointing.pointer === null ? chosen : this.pointing.pointer[0] / this.viewport.extent()[0];
    const steps: Record<KeyAct, () => void> = {
      "zoom-in": () => { this.zoom(1 / ZOOM_STEP, fixed, true); },
      "zoom-out": () => { this.zoom(ZOOM_STEP, fixed, true); },
      earlier: () => { this.go(shiftSpan(this.motion.target ?? view, -length * PAN_SHARE)); },
      later: () => { this.go(shiftSpan(this.motion.target ?? view, length * PAN_SHARE)); },
      "row-up": () => { this.choosing.stepRow(-1); },
      "row-down": () => { this.choosing.stepRow(1); },
      previous: () => { this.choosing.stepItem(-1); },
      next: () => { this.choosing.stepItem(1); },
      whole: () => { this.go(wholeSpan(this.choices.duration, this.choices.earliest)); },
      begin: () => { this.go(shiftSpan(view, -view.begin - length * 0.02)); },
      end: () => { this.go(shiftSpan(view, this.source.duration - view.end + length * 0.02)); },
      open: () => {
        const wanted = item ?? range;
        if (wanted !== null) this.show(wanted);
      },
      mark: () => { this.choices.setRange(item ?? this.inside(view)); },
      clear: () => { this.choices.clear(); },
      pin: () => {
        const row = this.pointing.hoveredRow() ?? value.place?.row;
        if (row !== undefined) this.options.pinned?.(row);
      },
      note: () => { this.note(); },
      group: () => { this.toggleGroup(); },
      groups: () => { this.options.grouped?.("all"); },
      turn: () => { this.turn(this.density, this.orientation === "vertical" ? "horizontal" : "vertical"); },
      density: () => {
        const next = (DENSITIES.indexOf(this.density) + 1) % DENSITIES.length;
        this.turn(DENSITIES[next] ?? "normal", this.orientation);
      },
    };
    steps[act]();
  }

  /** Opens or closes the group that is pointed at, else that of the chosen row. */
  private toggleGroup(): void {
    const pointed = this.pointing.pointed()?.box;
    const { place } = this.choices.value;
    const box = pointed ?? (place === null ? null : this.viewport.boxOf(place.row));
    if (box === null) return;
    const group = box.members === undefined
      ? this.grouping.groups.find(({ members }) => members.includes(box.order))?.id
      : groupOf(box);
    if (group !== undefined) this.options.grouped?.(group);
  }

  private turn(density: Density, orientation: Orientation): void {
    this.arrange(density, orientation);
    this.options.turned?.(density, orientation);
  }

  private show(span: Span): void {
    const length = Math.max(lengthOf(span), 1);
    this.go({ begin: span.begin - length * 0.15, end: span.end + length * 0.15 });
  }

  private go(view: Span): void {
    this.motion.start(this.choices.value.view, clampSpan(view, this.choices.duration, this.choices.earliest), performance.now());
    this.invalidate();
  }

  /** So many times as much is seen; `share` along the view stays where it is. */
  private zoom(factor: number, share: number, smooth: boolean): void {
    const { view } = this.choices.value;
    const length = lengthOf(this.motion.target ?? view) * factor;
    const fixed = view.begin + lengthOf(view) * share;
    const target = { begin: fixed - length * share, end: fixed + length * (1 - share) };
    if (smooth) this.go(target);
    else {
      this.motion.stop();
      this.choices.look(target);
    }
  }

  private inside({ begin, end }: Span): Span {
    return { begin: Math.max(begin, 0), end: Math.min(end, this.source.duration) };
  }

  private resize(): void {
    const { bars, axis, names, map } = this.elements;
    for (const canvas of [bars, axis, names, map]) canvas.fit();
    this.stale = { names: true, map: true };
    this.viewport.scrollTo(this.viewport.scroll);
    // At once: a canvas that was given another size is empty until it is drawn.
    this.paint();
  }

  private say(text: string): void {
    const { note } = this.elements;
    note.textContent = text;
    note.hidden = text === "";
  }

  private invalidate(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => {
      this.asked = false;
      if (this.controller.signal.aborted) return;
      const moved = this.motion.step(now);
      if (moved !== null) this.choices.look(moved);
      this.paint();
      if (this.motion.target !== null) this.invalidate();
    });
  }

  /** What is drawn now, but for the pointer. */
  private drawnNow(): Drawn {
    const { value } = this.choices;
    const { view } = value;
    const [main, cross] = this.viewport.extent();
    const ticks = ticksOf(view, main, LABEL_ROOM[this.orientation]);
    const chosen = value.place === null ? null : this.viewport.boxOf(value.place.row);
    const layout = this.viewport.seen();
    const { range, area } = this.drawing ?? value;
    const box = chosen === null ? undefined : layout.boxes.find(({ row }) => row.id === chosen.row.id);
    const top = (box?.from ?? 0) - this.viewport.scroll;
    return {
      scene: {
        source: this.source,
        items: this.contents.items,
        marks: this.contents.marks,
        layout,
        scroll: this.viewport.scroll,
        view,
        ticks: ticks.ticks.filter(({ label }) => label !== "").map(({ time }) => time),
        theme: this.theme,
        paints: this.paints,
        actor: value.actor,
        chosen: chosen === null || chosen.calls !== undefined ? null : chosen.order,
        calls: (key) => ({ slices: this.contents.callSlices(key), functions: this.contents.calls?.functions ?? [] }),
        track: (at) => this.contents.trackLines(at),
      },
      frame: { view, main, cross, vertical: this.orientation === "vertical" },
      ticks,
      flags: flagMarks(this.pointing.flags, view.begin, this.viewport.perPixel(view), main),
      found: this.found,
      arrows: arrowShapes(
        this.arrows, (row) => this.viewport.placeOf(row), view.begin, this.viewport.perPixel(view), main, cross, this.orientation === "vertical",
      ),
      range,
      across: area === null ? null : this.viewport.extentOf(area),
      item: box === undefined ? null : this.choosing.chosenItem(),
      bar: [top, top + (box?.bar ?? 0)],
    };
  }

  /** What is seen, but for the mini-map and the pointer, as SVG. */
  picture(): Picture {
    return pictureOf(this.drawnNow(), this.elements, { hovered: null, pins: this.options.pinned !== undefined }, (row) => this.viewport.placeOf(row));
  }

  /** The colours that it is drawn in. */
  get colours(): Theme {
    return this.theme;
  }

  private paint(): void {
    const { value } = this.choices;
    this.contents.fetch(this.motion.target ?? value.view, this.pointing.time);
    const { scene, frame, ticks, flags, found, arrows, range, across, item, bar } = this.drawnNow();
    this.stage.paint(scene);
    this.axis.paint(ticks, value.view, this.source.losses, this.theme, this.orientation, flags, found);
    this.overlay.showFlags(flagBoxes(flags, (row) => this.viewport.placeOf(row), frame));
    this.map.place(value.view, range);
    this.overlay.showRange(range, frame, across);
    this.overlay.showChosen(item, bar[0], bar[1], frame);
    this.paintHover(frame);
    this.overlay.showArrows(arrows);
    if (this.stale.names) this.paintNames(scene.chosen);
    if (this.stale.map) this.map.paint(this.overview, this.source.losses, this.found, this.theme);
    this.stale = { names: false, map: false };
    const state = this.contents.items.waiting ? "loading" : "complete";
    const { dataset } = this.elements.root;
    if (dataset["state"] !== state) dataset["state"] = state;
    if (state === "complete") this.tellDrawn();
  }

  private paintHover(frame: { view: Span; main: number; cross: number; vertical: boolean }): void {
    const { pointer } = this.pointing;
    if (pointer !== null && this.pointing.inAxis) {
      this.overlay.showMoment(this.viewport.timeAt(pointer[0]), this.pointing.flagAt(pointer[0]), frame, [pointer[0], 0]);
      return;
    }
    const hit = this.pointing.pointed();
    this.overlay.showHit(hit, frame, pointer ?? [0, 0]);
    if (hit !== null) this.hoverName(hit.box.order);
  }

  private paintNames(chosen: number | null): void {
    const { theme, hovered, viewport: { layout, scroll } } = this;
    const pins = this.options.pinned !== undefined;
    this.names.paint({ layout: this.viewport.seen(), scroll, theme, chosen, hovered, pins });
    const [, cross] = this.viewport.extent();
    const { thumb } = this.elements;
    thumb.hidden = layout.size <= cross;
    const [from, size] = [(scroll / layout.size) * 100, (cross / layout.size) * 100];
    const vertical = this.orientation === "vertical";
    thumb.style[vertical ? "left" : "top"] = `${from}%`;
    thumb.style[vertical ? "width" : "height"] = `${size}%`;
    thumb.style[vertical ? "top" : "left"] = "";
    thumb.style[vertical ? "height" : "width"] = "";
  }
}

/** The number of a closed group, by the box that stands for it. */
const groupOf = ({ row }: Box): number => -1 - row.id;
