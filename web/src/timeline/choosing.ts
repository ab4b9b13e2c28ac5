import { formatCount } from "../base/units";
import { callBeside, type HitCall } from "./calls";
import type { Choices } from "./choices";
import type { Contents } from "./contents";
import type { Hit, HitItem } from "./hit";
import type { Box } from "./layout";
import type { Pointing } from "./pointing";
import type { Source } from "./source";
import { centreOf, lengthOf, shiftSpan, type Span } from "./span";
import { neighbour } from "./stepping";
import { formatLength, formatTime } from "./time-format";
import type { Viewport } from "./viewport";

/** Brings other times into view, so that the eye can follow. */
export interface Steering {
  readonly go: (view: Span) => void;
  /** A span, with a little on either side. */
  readonly show: (span: Span) => void;
}

/** What is chosen among the items, and the steps from one to another. */
export class Choosing {
  constructor(
    private readonly source: Source,
    private readonly choices: Choices,
    private readonly viewport: Viewport,
    private readonly contents: Contents,
    private readonly pointing: Pointing,
    /** Read out when it changes. */
    private readonly status: HTMLElement,
    private readonly steer: Steering,
  ) {}

  /** Chooses what was hit, and says what it is. */
  choose({ row, time, item, mark }: Hit): void {
    const looks = item === null ? undefined : this.source.look.states[item.state];
    // Nobody is chosen where a CPU idles: all others would step back for it.
    const idle = looks === undefined || (looks.bands === 0 && looks.faint === 0);
    const actor = row.actor ?? (item === null || idle || item.actor < 0 ? null : item.actor);
    // The middle of the item: the same one at every zoom, however coarse the pointer.
    const inside = item === null || item.count > 1 ? time : centreOf(item);
    const event = mark?.count === 1 ? mark : null;
    this.choices.choose({ row: row.id, time: event?.time ?? inside }, actor);
    const { look } = this.source;
    if (event !== null) {
      this.status.textContent = `${row.name}: ${look.eventName(event.event)}, at ${formatTime(event.time, 1)}`;
      return;
    }
    const state = item === null ? "nothing" : (look.states[item.state]?.name ?? "");
    const who = item === null || item.actor < 0 ? "" : ` ${look.actorName(item.actor)}`;
    const long = item === null ? "" : ` for ${formatLength(item.end - item.begin)}`;
    const from = formatTime(item?.begin ?? time, 1);
    this.status.textContent = `${row.name}:${who} ${state}${long}, at ${from}`;
  }

  /** Of several calls on one pixel, nobody can tell which is meant: then it is shown in full width. */
  chooseCall({ row }: Box, call: HitCall | null): void {
    if (call === null) return;
    if (call.count > 1) this.steer.show(call);
    else this.choices.choose({ row: row.id, time: centreOf(call) });
    this.status.textContent = call.count > 1
      ? `${formatCount(call.count)} calls`
      : `${call.name} for ${formatLength(call.end - call.begin)}, at ${formatTime(call.begin, 1)}`;
  }

  /** Chooses the row so many further down, at the same time where that is in sight. */
  stepRow(by: number): void {
    const { place, view } = this.choices.value;
    const boxes = this.viewport.layout.boxes.filter(({ track, calls }) => track === undefined && calls === undefined);
    const chosen = place === null ? null : this.viewport.boxOf(place.row);
    const now = boxes.findIndex((box) => box === chosen);
    const box = boxes[now < 0 ? 0 : Math.min(Math.max(now + by, 0), boxes.length - 1)];
    if (box === undefined) return;
    const inSight = place !== null && place.time >= view.begin && place.time <= view.end;
    this.chooseIn(box, inSight ? place.time : centreOf(view));
  }

  /** Chooses the item before or behind the one that is chosen. */
  stepItem(by: -1 | 1): void {
    const { place, view } = this.choices.value;
    const box = place === null ? null : this.viewport.boxOf(place.row);
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
    const next = neighbour(this.contents.items, this.memberOf(box, place.row), here, by, view, this.viewport.perPixel(view), looks, this.source.duration);
    if (next === null) {
      this.steer.go(shiftSpan(view, by * lengthOf(view) * 0.8));
      return;
    }
    if (next.end < view.begin || next.begin > view.end) {
      this.choices.look(shiftSpan(view, centreOf(next) - centreOf(view)));
    }
    this.chooseIn(box, centreOf(next));
  }

  private stepCall(box: Box, calls: NonNullable<Box["calls"]>, time: number, by: -1 | 1): void {
    const { view } = this.choices.value;
    const here = this.contents.callIn(calls, time, 0) ?? { begin: time, end: time };
    const slices = this.contents.callSlices(calls.key);
    const next = slices === null || typeof slices === "string"
      ? null
      : callBeside(slices, this.contents.calls?.functions ?? [], calls.lane, here, by);
    if (next === null) {
      this.steer.go(shiftSpan(view, by * lengthOf(view) * 0.8));
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
    const hit = this.pointing.hitIn(box, time);
    if (hit !== null) this.choose(hit);
  }

  /** The item that is chosen, as far as it is loaded. */
  chosenItem(): HitItem | null {
    const { place } = this.choices.value;
    const box = place === null ? null : this.viewport.boxOf(place.row);
    if (place === null || box === null) return null;
    if (box.calls !== undefined) {
      const call = this.contents.callIn(box.calls, place.time, 0);
      return call === null ? null : { begin: call.begin, end: call.end, actor: -1, state: 0, count: call.count };
    }
    return this.pointing.hitIn(box, place.time)?.item ?? null;
  }
}
