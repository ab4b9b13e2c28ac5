import { onMediaChange } from "../base/media";
import { failed } from "../base/result";
import { formatCount } from "../base/units";
import { type Arrow, arrowShapes } from "./arrows";
import { AxisView } from "./axis-view";
import { callAt, callBeside, type CallSlices, type CallSource, type HitCall, laneOf } from "./calls";
import type { Changed, Choices, Chosen } from "./choices";
import { type Flag, flagMarks, flagNear } from "./flags";
import { buildFrame, type Elements } from "./frame";
import { type Acts, listen } from "./gestures";
import { type Hit, type HitItem, hitAt } from "./hit";
import { actOf, type KeyAct } from "./keys";
import {
  type Box, boxAt, boxesBetween, boxOfRow, type Density, type Grouping, headingAt, heldSize, type Layout, layoutOf, type Orientation,
  seenAt, UNGROUPED,
} from "./layout";
import { MiniMap } from "./mini-map";
import { Motion, MovementWatch } from "./motion";
import { nameGrip } from "./name-grip";
import { Names, PIN_PX } from "./names";
import { flagBoxes, Overlay } from "./overlay";
import type { Items, Marks, Overview, Source } from "./source";
import { centreOf, clampSpan, lengthOf, shiftSpan, type Span, spanOf, wholeSpan } from "./span";
import { type Drawn, type Picture, pictureOf } from "./snapshot";
import { Stage } from "./stage";
import { neighbour } from "./stepping";
import { Paints, type Theme, themeOf } from "./theme";
import { type Columnar, TileStore } from "./tile-store";
import { BLOCK, BUCKETS, tileSpan } from "./tiles";
import { ticksOf } from "./ticks";
import { formatLength, formatTime } from "./time-format";
import { requestsOf } from "./tile-requests";
import { ViewStore } from "./view-store";
import { type AskTrack, type Track, type TrackLines, TrackStore, valueAt } from "./tracks";

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

/** What a note is to be about: a moment, or a span, of a row (by its id) or of all. */
export interface Noted extends Span {
  readonly row: number | null;
}

const OVERVIEW_BUCKETS = 1024;
const LABEL_ROOM = { horizontal: 110, vertical: 56 } as const;
const ZOOM_STEP = 1.6;
const PAN_SHARE = 0.15;
/** How far beside a flag the pointer may be, in pixels. */
const FLAG_REACH = 9;
const CALL_REACH = 2;
const DENSITIES: readonly Density[] = ["compact", "normal", "events"];

/** A timeline in an element: draws what `source` has, and moves as `choices` says. */
export class Timeline {
  private readonly elements: Elements;
  private readonly stage: Stage;
  private readonly names: Names;
  private readonly axis: AxisView;
  private readonly map: MiniMap;
  private readonly overlay: Overlay;
  private readonly items: TileStore<Items>;
  private readonly marks: TileStore<Marks>;
  private readonly motion = new Motion();
  private readonly movement = new MovementWatch(() => { this.invalidate(); });
  private readonly ends: (() => void)[] = [];
  private readonly controller = new AbortController();
  private layout: Layout;
  private grouping: Grouping;
  private theme: Theme;
  private paints: Paints;
  private shown: readonly number[];
  private scroll = 0;
  /** How the rows were seen last. */
  private kept: { of: Layout; scroll: number; cross: number; seen: Layout } | null = null;
  private overview: Overview | null = null;
  private pointer: readonly [number, number] | null = null;
  /** Whether that is in the axis: no row is pointed at then. */
  private inAxis = false;
  private hovered: number | null = null;
  private flags: readonly Flag[] = [];
  private arrows: readonly Arrow[] = [];
  private tracks: readonly Track[];
  private readonly trackStore: TrackStore;
  private calls: CallSource | null = null;
  private readonly callStore: ViewStore<number, CallSlices>;
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
    const { root, stage, bars, names, axis, corner, mapHost, map } = this.elements;
    this.shown = source.rows.map((_, order) => order);
    this.tracks = options.tracks ?? [];
    this.grouping = options.grouping ?? UNGROUPED;
    this.layout = layoutOf(
      source.rows, this.shown, options.density ?? "normal", options.orientation ?? "horizontal", this.grouping,
    );
    root.dataset["orientation"] = this.layout.orientation;
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
    this.items = this.storeOf((span, rows, signal) => source.items(span, BUCKETS, rows, signal));
    this.marks = this.storeOf((span, rows, signal) => source.marks(span, BUCKETS, rows, signal));
    const none: AskTrack = () => Promise.resolve(failed("there are no counters"));
    this.trackStore = new TrackStore(source.duration, options.askTrack ?? none, () => { this.invalidate(); });
    this.callStore = new ViewStore<number, CallSlices>(
      source.duration, String,
      (key, span, width, signal) => this.calls?.ask(key, span, width, signal) ?? Promise.resolve(failed("there are no calls")),
      () => { this.invalidate(); },
    );
    nameGrip(root, this.controller.signal);
    this.listen();
    void this.loadOverview();
    // Measured before anything is asked for: what is asked for depends on it.
    this.resize();
  }

  get density(): Density {
    return this.layout.density;
  }

  get orientation(): Orientation {
    return this.layout.orientation;
  }

  /** Rows by their order in the source; all when null. */
  filter(shown: readonly number[] | null): void {
    this.shown = shown ?? this.source.rows.map((_, order) => order);
    this.say(this.shown.length === 0 ? "No row fits." : "");
    this.arrange(this.density, this.orientation);
  }

  /** Shows calls of functions beneath the threads that made them, or takes them away. */
  showCalls(calls: CallSource | null): void {
    this.calls = calls;
    this.arrange(this.density, this.orientation);
  }

  arrange(density: Density, orientation: Orientation): void {
    const grouping = { ...this.grouping, calls: this.calls?.threads ?? [] };
    this.layout = layoutOf(this.source.rows, this.shown, density, orientation, grouping);
    this.elements.root.dataset["orientation"] = orientation;
    this.setScroll(this.scroll);
    this.resize();
  }

  /** Shows what led to what. */
  showArrows(arrows: readonly Arrow[]): void {
    this.arrows = arrows;
    this.invalidate();
  }

  /** Shows notes: in the axis, and around what they are about. */
  showFlags(flags: readonly Flag[]): void {
    this.flags = flags;
    // The axis has room for them, and a canvas is as large as it.
    this.elements.root.dataset["flags"] = flags.length > 0 ? "yes" : "no";
    this.resize();
  }

  /** Other rows come first, or are together; other counters are shown. */
  group(grouping: Grouping, tracks: readonly Track[] = []): void {
    this.grouping = grouping;
    this.tracks = tracks;
    this.arrange(this.density, this.orientation);
  }

  /** Brings a row into sight; a closed group that has it is opened. */
  reveal(row: number): void {
    const closed = this.boxOf(row);
    if (closed?.members !== undefined) this.options.grouped?.(groupOf(closed));
    const box = this.boxOf(row);
    if (box === null) return;
    const [, cross] = this.extent();
    const end = box.from + box.bar + box.lane;
    const held = heldSize(this.layout, cross);
    if (box.from < held) return;
    if (box.from < this.scroll + held) this.setScroll(box.from - held - 40);
    else if (end > this.scroll + cross) this.setScroll(end - cross + 40);
  }

  /** Does what a key means; false when it means nothing here. */
  press(event: KeyboardEvent): boolean {
    const act = actOf(event);
    if (act !== null) this.key(act);
    return act !== null;
  }

  /** Asks for a note on the range, else on what is chosen. */
  note(): void {
    this.options.noted?.(this.notable());
  }

  focus(): void {
    this.elements.stage.focus({ preventScroll: true });
  }

  close(): void {
    this.controller.abort();
    this.items.close();
    this.marks.close();
    this.trackStore.close();
    this.callStore.close();
    this.movement.close();
    for (const end of this.ends) end();
    this.elements.root.remove();
  }

  private storeOf<T extends Columnar>(
    load: (span: Span, rows: readonly number[], signal: AbortSignal) => Promise<T>,
  ): TileStore<T> {
    const { rows, duration } = this.source;
    return new TileStore<T>(
      duration,
      ({ level, index, block }, signal) => {
        const ids = rows.slice(block * BLOCK, (block + 1) * BLOCK).map(({ id }) => id);
        return load(tileSpan(level, index), ids, signal);
      },
      () => {
        this.say("");
        this.invalidate();
      },
      (reason) => {
        this.say(`Part of the timeline is missing: ${reason}`);
      },
    );
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
      this.hoverName(boxAt(this.seen(), across + this.scroll)?.order ?? null);
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
    const at = across + this.scroll;
    const heading = headingAt(this.seen(), at);
    const box = heading === null ? boxAt(this.seen(), at) : null;
    if (heading?.group !== undefined) grouped?.(heading.group);
    else if (box?.members !== undefined) grouped?.(groupOf(box));
    else if (atPin && box !== null) pinned?.(box.row.id);
    else return heading !== null;
    return true;
  }

  private acts(): Acts {
    return {
      pan: (main, cross) => {
        const moved = this.setScroll(this.scroll + cross);
        if (main === 0) return moved;
        this.motion.stop();
        const { view } = this.choices.value;
        this.choices.look(shiftSpan(view, main * this.perPixel(view)));
        return true;
      },
      zoom: (factor, at, smooth) => {
        this.zoom(factor, at / this.extent()[0], smooth);
      },
      mark: (from, to, done, across) => {
        const range = spanOf(this.timeAt(from), this.timeAt(to));
        const area = across === null ? null : this.rowsBetween(across);
        this.drawing = done ? null : { range, area };
        if (done) this.choices.setRange(range, area);
        else this.invalidate();
      },
      click: (main, cross) => {
        const hit = this.hit(main, cross);
        if (hit?.box.track !== undefined) return;
        if (hit === null) this.choices.choose(null);
        else if (hit.box.calls !== undefined) this.chooseCall(hit.box, hit.call ?? null);
        else this.choose(hit);
      },
      open: (main, cross) => {
        const hit = this.hit(main, cross);
        const item = hit?.call ?? hit?.item;
        if (item !== null && item !== undefined) this.show(item);
      },
      hover: (place) => {
        this.pointer = place;
        this.inAxis = false;
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
        const flag = this.flagAt(main);
        if (flag !== null) this.options.flagged?.(flag);
      },
      open: (main) => {
        const time = Math.round(this.timeAt(main));
        if (this.flagAt(main) === null) this.options.noted?.({ begin: time, end: time, row: null });
      },
      hover: (place) => {
        acts.hover(place);
        this.inAxis = place !== null;
      },
    };
  }

  private flagAt(main: number): Flag | null {
    return flagNear(this.flags, this.timeAt(main), this.perPixel(this.choices.value.view) * FLAG_REACH);
  }

  /** What a note would be about: the range, what is pointed at, what is chosen, or the middle. */
  private notable(): Noted {
    const { range, area, place, view } = this.choices.value;
    if (range !== null) return { ...rounded(range), row: area?.length === 1 ? (area[0] ?? null) : null };
    if (this.pointer !== null) {
      const hit = this.pointed();
      const time = Math.round(this.timeAt(this.pointer[0]));
      const isOn = hit !== null && (hit.item !== null || hit.mark !== null);
      return { begin: time, end: time, row: isOn ? hit.row.id : null };
    }
    const item = this.chosenItem();
    if (place !== null && item?.count === 1) return { ...rounded(item), row: place.row };
    const time = Math.round(place?.time ?? centreOf(view));
    return { begin: time, end: time, row: place?.row ?? null };
  }

  /** What is under the pointer among the rows. */
  private pointed(): Hit | null {
    return this.pointer === null || this.inAxis ? null : this.hit(this.pointer[0], this.pointer[1]);
  }

  /** What is chosen was changed, here or elsewhere. */
  private follow(now: Chosen, changed: Changed): void {
    if (changed.place) {
      if (now.place !== null) this.reveal(now.place.row);
      this.stale.names = true;
    }
    this.invalidate();
  }

  /** The rows that show between two places of the stage, by their ids. */
  private rowsBetween([from, to]: readonly [number, number]): number[] {
    const boxes = boxesBetween(this.seen(), from + this.scroll, to + this.scroll);
    const orders = boxes.flatMap(({ order, members }) => members ?? [order]);
    return orders.flatMap((order) => this.source.rows[order]?.id ?? []).sort((a, b) => a - b);
  }

  /** Where some rows are on the stage: from the first to the last of them. */
  private extentOf(rows: readonly number[]): readonly [number, number] | null {
    const ids = new Set(rows);
    const { source: { rows: all }, scroll } = this;
    const isIn = (order: number): boolean => ids.has(all[order]?.id ?? -1);
    const boxes = this.seen().boxes.filter(({ order, members }) => members?.some(isIn) ?? isIn(order));
    const [first, last] = [boxes[0], boxes.at(-1)];
    if (first === undefined || last === undefined) return null;
    return [first.from - scroll - 1, last.from - scroll + last.bar + last.lane + 1];
  }

  private choose({ row, time, item }: Hit): void {
    const looks = item === null ? undefined : this.source.look.states[item.state];
    // Nobody is chosen where a CPU idles: all others would step back for it.
    const idle = looks === undefined || (looks.bands === 0 && looks.faint === 0);
    const actor = row.actor ?? (item === null || idle || item.actor < 0 ? null : item.actor);
    // The middle of the item: the same one at every zoom, however coarse the pointer.
    const inside = item === null || item.count > 1 ? time : centreOf(item);
    this.choices.choose({ row: row.id, time: inside }, actor);
    const { look } = this.source;
    const state = item === null ? "nothing" : (look.states[item.state]?.name ?? "");
    const who = item === null || item.actor < 0 ? "" : ` ${look.actorName(item.actor)}`;
    const long = item === null ? "" : ` for ${formatLength(item.end - item.begin)}`;
    const from = formatTime(item?.begin ?? time, 1);
    this.elements.status.textContent = `${row.name}:${who} ${state}${long}, at ${from}`;
  }

  /** Of several calls on one pixel, nobody can tell which is meant: then it is shown in full width. */
  private chooseCall({ row }: Box, call: HitCall | null): void {
    if (call === null) return;
    if (call.count > 1) this.show(call);
    else this.choices.choose({ row: row.id, time: centreOf(call) });
    this.elements.status.textContent = call.count > 1
      ? `${formatCount(call.count)} calls`
      : `${call.name} for ${formatLength(call.end - call.begin)}, at ${formatTime(call.begin, 1)}`;
  }

  /** What is drawn of the calls of a thread: null is still to come, a text is why there is nothing. */
  private callSlices(key: number): CallSlices | string | null {
    const { width, height } = this.elements.bars;
    return this.callStore.lines(key, this.choices.value.view, this.orientation === "vertical" ? height : width);
  }

  /** The call of a lane at a time, as far as it is loaded. */
  private callIn({ key, lane }: NonNullable<Box["calls"]>, time: number, reach: number): HitCall | null {
    const slices = this.callSlices(key);
    if (slices === null || typeof slices === "string") return null;
    return callAt(slices, this.calls?.functions ?? [], lane, time, reach);
  }

  private key(act: KeyAct): void {
    const { value } = this.choices;
    const { view, range } = value;
    const length = lengthOf(view);
    const item = this.chosenItem();
    const time = value.place?.time ?? null;
    const inSight = time !== null && time >= view.begin && time <= view.end;
    // At the pointer, where one looks; else at what is chosen.
    const chosen = inSight ? (time - view.begin) / length : 0.5;
    const fixed = this.pointer === null ? chosen : this.pointer[0] / this.extent()[0];
    const steps: Record<KeyAct, () => void> = {
      "zoom-in": () => { this.zoom(1 / ZOOM_STEP, fixed, true); },
      "zoom-out": () => { this.zoom(ZOOM_STEP, fixed, true); },
      earlier: () => { this.go(shiftSpan(this.motion.target ?? view, -length * PAN_SHARE)); },
      later: () => { this.go(shiftSpan(this.motion.target ?? view, length * PAN_SHARE)); },
      "row-up": () => { this.stepRow(-1); },
      "row-down": () => { this.stepRow(1); },
      previous: () => { this.stepItem(-1); },
      next: () => { this.stepItem(1); },
      whole: () => { this.go(wholeSpan(this.choices.duration)); },
      begin: () => { this.go(shiftSpan(view, -view.begin - length * 0.02)); },
      end: () => { this.go(shiftSpan(view, this.source.duration - view.end + length * 0.02)); },
      open: () => {
        const wanted = item ?? range;
        if (wanted !== null) this.show(wanted);
      },
      mark: () => { this.choices.setRange(item ?? this.inside(view)); },
      clear: () => { this.choices.clear(); },
      pin: () => {
        const row = this.hoveredRow() ?? value.place?.row;
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

  /** The row that is pointed at; of a closed group, none. */
  private hoveredRow(): number | null {
    const hit = this.pointed();
    return hit === null || hit.box.members !== undefined ? null : hit.row.id;
  }

  /** Opens or closes the group that is pointed at, else that of the chosen row. */
  private toggleGroup(): void {
    const pointed = this.pointed()?.box;
    const { place } = this.choices.value;
    const box = pointed ?? (place === null ? null : this.boxOf(place.row));
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

  private stepRow(by: number): void {
    const { place, view } = this.choices.value;
    const boxes = this.layout.boxes.filter(({ track, calls }) => track === undefined && calls === undefined);
    const chosen = place === null ? null : this.boxOf(place.row);
    const now = boxes.findIndex((box) => box === chosen);
    const box = boxes[now < 0 ? 0 : Math.min(Math.max(now + by, 0), boxes.length - 1)];
    if (box === undefined) return;
    const inSight = place !== null && place.time >= view.begin && place.time <= view.end;
    this.chooseIn(box, inSight ? place.time : centreOf(view));
  }

  private stepItem(by: -1 | 1): void {
    const { place, view } = this.choices.value;
    const box = place === null ? null : this.boxOf(place.row);
    if (place === null || box === null) {
      this.stepRow(0);
      return;
    }
    if (box.calls !== undefined) {
      this.stepCall(box, box.calls, place.time, by);
      return;
    }
    const looks = this.source.look.states;
    const here = this.chosenItem() ?? { begin: place.time, end: place.time };
    const next = neighbour(this.items, this.memberOf(box, place.row), here, by, view, this.perPixel(view), looks, this.source.duration);
    if (next === null) {
      this.go(shiftSpan(view, by * lengthOf(view) * 0.8));
      return;
    }
    if (next.end < view.begin || next.begin > view.end) {
      this.choices.look(shiftSpan(view, centreOf(next) - centreOf(view)));
    }
    this.chooseIn(box, centreOf(next));
  }

  private stepCall(box: Box, calls: NonNullable<Box["calls"]>, time: number, by: -1 | 1): void {
    const { view } = this.choices.value;
    const here = this.callIn(calls, time, 0) ?? { begin: time, end: time };
    const slices = this.callSlices(calls.key);
    const next = slices === null || typeof slices === "string"
      ? null
      : callBeside(slices, this.calls?.functions ?? [], calls.lane, here, by);
    if (next === null) {
      this.go(shiftSpan(view, by * lengthOf(view) * 0.8));
      return;
    }
    if (next.end < view.begin || next.begin > view.end) this.choices.look(shiftSpan(view, centreOf(next) - centreOf(view)));
    this.chooseCall(box, next);
  }

  /** Of a closed group, the one of its rows. */
  private memberOf(box: Box, id: number): Box {
    const order = this.source.rows.findIndex((row) => row.id === id);
    const row = this.source.rows[order];
    return row === undefined ? box : { ...box, row, order };
  }

  private chooseIn(box: Box, time: number): void {
    const { view } = this.choices.value;
    const perPixel = this.perPixel(view);
    const hit = this.hitIn(box, time, perPixel);
    if (hit !== null) this.choose(hit);
  }

  /** The item that is chosen, as far as it is loaded. */
  private chosenItem(): HitItem | null {
    const { place, view } = this.choices.value;
    const box = place === null ? null : this.boxOf(place.row);
    if (place === null || box === null) return null;
    if (box.calls !== undefined) {
      const call = this.callIn(box.calls, place.time, 0);
      return call === null ? null : { begin: call.begin, end: call.end, actor: -1, state: 0, count: call.count };
    }
    return this.hitIn(box, place.time, this.perPixel(view))?.item ?? null;
  }

  private hitIn(box: Box, time: number, perPixel: number): Hit | null {
    const { layout, source, items, marks } = this;
    return hitAt(layout, source.rows, box.from + 1, time, perPixel, items, marks, source.look.states);
  }

  private show(span: Span): void {
    const length = Math.max(lengthOf(span), 1);
    this.go({ begin: span.begin - length * 0.15, end: span.end + length * 0.15 });
  }

  private go(view: Span): void {
    this.motion.start(this.choices.value.view, clampSpan(view, this.choices.duration), performance.now());
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

  private hit(main: number, cross: number): Hit | null {
    const { view } = this.choices.value;
    const time = this.timeAt(main);
    const { source, items, marks } = this;
    const across = cross + this.scroll;
    const hit = hitAt(this.seen(), source.rows, across, time, this.perPixel(view), items, marks, source.look.states);
    if (hit?.box.calls !== undefined) {
      const call = this.callIn(hit.box.calls, time, this.perPixel(view) * CALL_REACH);
      return call === null ? hit : { ...hit, call };
    }
    return hit?.box.track === undefined ? hit : { ...hit, value: this.valueText(hit.box.track, time) };
  }

  private trackLines(at: number): TrackLines | string | null {
    const track = this.tracks[at];
    const { width, height } = this.elements.bars;
    const pixels = this.orientation === "vertical" ? height : width;
    return track === undefined ? null : this.trackStore.lines(track, this.choices.value.view, pixels);
  }

  private valueText(at: number, time: number): string {
    const lines = this.trackLines(at);
    if (lines === null) return "asking …";
    if (typeof lines === "string") return lines;
    const value = valueAt(lines, time);
    if (value === null) return "not known";
    const [low, high] = value;
    return low === high ? formatCount(low) : `${formatCount(low)} to ${formatCount(high)}: zoom in`;
  }

  /** The rows where they are on the screen, but for the scroll. */
  private seen(): Layout {
    const [, cross] = this.extent();
    const { layout, scroll, kept } = this;
    if (kept?.of === layout && kept.scroll === scroll && kept.cross === cross) return kept.seen;
    this.kept = { of: layout, scroll, cross, seen: seenAt(layout, scroll, cross) };
    return this.kept.seen;
  }

  private boxOf(row: number): Box | null {
    if (laneOf(row) !== null) return this.layout.boxes.find((box) => box.row.id === row) ?? null;
    return boxOfRow(this.layout, this.source.rows.findIndex(({ id }) => id === row));
  }

  /** Where a row's bar is on the stage; where it goes when it lies beneath others that stay in sight. */
  private placeOf(row: number): readonly [number, number] | null {
    const order = this.source.rows.findIndex(({ id }) => id === row);
    const shown = boxOfRow(this.seen(), order);
    const box = shown ?? boxOfRow(this.layout, order);
    if (box === null) return null;
    const top = box.from - this.scroll;
    const held = heldSize(this.layout, this.extent()[1]);
    return shown === null && top < held ? [held, held] : [top, top + box.bar];
  }

  private inside({ begin, end }: Span): Span {
    return { begin: Math.max(begin, 0), end: Math.min(end, this.source.duration) };
  }

  private timeAt(main: number): number {
    const { view } = this.choices.value;
    return view.begin + main * this.perPixel(view);
  }

  private perPixel(view: Span): number {
    return lengthOf(view) / this.extent()[0];
  }

  /** CSS pixels of the stage along time, and across it. */
  private extent(): readonly [number, number] {
    const { clientWidth, clientHeight } = this.elements.bars;
    return this.orientation === "vertical" ? [clientHeight, clientWidth] : [clientWidth, clientHeight];
  }

  /** False when it is there already. */
  private setScroll(to: number): boolean {
    const most = Math.max(0, this.layout.size - this.extent()[1]);
    const scroll = Math.round(Math.min(Math.max(to, 0), most));
    if (scroll === this.scroll) return false;
    this.scroll = scroll;
    this.stale.names = true;
    this.invalidate();
    return true;
  }

  private resize(): void {
    const { bars, axis, names, map } = this.elements;
    for (const canvas of [bars, axis, names, map]) canvas.fit();
    this.stale = { names: true, map: true };
    this.setScroll(this.scroll);
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
    const [main, cross] = this.extent();
    const ticks = ticksOf(view, main, LABEL_ROOM[this.orientation]);
    const chosen = value.place === null ? null : this.boxOf(value.place.row);
    const layout = this.seen();
    const { range, area } = this.drawing ?? value;
    const box = chosen === null ? undefined : layout.boxes.find(({ row }) => row.id === chosen.row.id);
    const top = (box?.from ?? 0) - this.scroll;
    return {
      scene: {
        source: this.source,
        items: this.items,
        marks: this.marks,
        layout,
        scroll: this.scroll,
        view,
        ticks: ticks.ticks.filter(({ label }) => label !== "").map(({ time }) => time),
        theme: this.theme,
        paints: this.paints,
        actor: value.actor,
        chosen: chosen === null || chosen.calls !== undefined ? null : chosen.order,
        calls: (key) => ({ slices: this.callSlices(key), functions: this.calls?.functions ?? [] }),
        track: (at) => this.trackLines(at),
      },
      frame: { view, main, cross, vertical: this.orientation === "vertical" },
      ticks,
      flags: flagMarks(this.flags, view.begin, this.perPixel(view), main),
      arrows: arrowShapes(
        this.arrows, (row) => this.placeOf(row), view.begin, this.perPixel(view), main, cross, this.orientation === "vertical",
      ),
      range,
      across: area === null ? null : this.extentOf(area),
      item: box === undefined ? null : this.chosenItem(),
      bar: [top, top + (box?.bar ?? 0)],
    };
  }

  /** What is seen, but for the mini-map and the pointer, as SVG. */
  picture(): Picture {
    return pictureOf(this.drawnNow(), this.elements, { hovered: null, pins: this.options.pinned !== undefined }, (row) => this.placeOf(row));
  }

  /** The colours that it is drawn in. */
  get colours(): Theme {
    return this.theme;
  }

  private paint(): void {
    const { value } = this.choices;
    this.fetch(this.motion.target ?? value.view, this.extent()[1]);
    const { scene, frame, ticks, flags, arrows, range, across, item, bar } = this.drawnNow();
    this.stage.paint(scene);
    this.axis.paint(ticks, value.view, this.source.losses, this.theme, this.orientation, flags);
    this.overlay.showFlags(flagBoxes(flags, (row) => this.placeOf(row), frame));
    this.map.place(value.view, range);
    this.overlay.showRange(range, frame, across);
    this.overlay.showChosen(item, bar[0], bar[1], frame);
    this.paintHover(frame);
    this.overlay.showArrows(arrows);
    if (this.stale.names) this.paintNames(scene.chosen);
    if (this.stale.map) this.map.paint(this.overview, this.source.losses, this.theme);
    this.stale = { names: false, map: false };
    const state = this.items.waiting ? "loading" : "complete";
    const { dataset } = this.elements.root;
    if (dataset["state"] !== state) dataset["state"] = state;
    if (state === "complete") this.tellDrawn();
  }

  private paintHover(frame: { view: Span; main: number; cross: number; vertical: boolean }): void {
    const { pointer } = this;
    if (pointer !== null && this.inAxis) {
      this.overlay.showMoment(this.timeAt(pointer[0]), this.flagAt(pointer[0]), frame, [pointer[0], 0]);
      return;
    }
    const hit = this.pointed();
    this.overlay.showHit(hit, frame, pointer ?? [0, 0]);
    if (hit !== null) this.hoverName(hit.box.order);
  }

  private paintNames(chosen: number | null): void {
    const { layout, scroll, theme, hovered } = this;
    const pins = this.options.pinned !== undefined;
    this.names.paint({ layout: this.seen(), scroll, theme, chosen, hovered, pins });
    const [, cross] = this.extent();
    const { thumb } = this.elements;
    thumb.hidden = layout.size <= cross;
    const [from, size] = [(scroll / layout.size) * 100, (cross / layout.size) * 100];
    const vertical = this.orientation === "vertical";
    thumb.style[vertical ? "left" : "top"] = `${from}%`;
    thumb.style[vertical ? "width" : "height"] = `${size}%`;
    thumb.style[vertical ? "top" : "left"] = "";
    thumb.style[vertical ? "height" : "width"] = "";
  }

  private fetch(view: Span, cross: number): void {
    const { width, height } = this.elements.bars;
    // Those that are drawn: another number of them may need tiles of another level.
    const pixels = this.orientation === "vertical" ? height : width;
    const focus = this.pointer === null ? null : this.timeAt(this.pointer[0]);
    const { duration } = this.source;
    const requests = requestsOf(view, pixels, focus, this.layout, this.seen(), this.scroll, cross, duration, this.movement.follow(this.choices.value.view));
    this.items.request(requests.needed, requests.ahead);
    if (this.density === "events") this.marks.request(requests.needed, []);
    else this.marks.request([], []);
  }
}

/** Whole nanoseconds, as notes have. */
const rounded = ({ begin, end }: Span): Span => ({ begin: Math.round(begin), end: Math.round(end) });

/** The number of a closed group, by the box that stands for it. */
const groupOf = ({ row }: Box): number => -1 - row.id;
