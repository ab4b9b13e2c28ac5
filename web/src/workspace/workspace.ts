import { type Density, hasEventsAlone, type Orientation } from "../timeline/layout";
import type { Row } from "../timeline/source";
import { centreOf, wholeSpan, zoomSpan } from "../timeline/span";
import { Address } from "./address";
import { showCause, showDetails, showEffect } from "./details";
import { type OpenTrace, openTrace } from "./opened";
import { type Clocks, Pair } from "./pair";
import { type GroupedBy, groupings, inGroups, usualGrouping } from "./groups";
import { savePicture } from "./save-picture";
import { alignmentCaution, extentsOf, measuredShift, titleOf } from "./shared-axis";
import { listenForKeys } from "./shortcuts";
import { splitter } from "./splitter";
import { Tabs } from "./tabs";
import { Toolbar, type Tools } from "./toolbar";
import { TraceView } from "./trace-view";
import { make, mount } from "./views/elements";

/** Makes the workspace of one trace, or of several beside each other, in an element. */
export async function startWorkspace(host: HTMLElement, keys: readonly string[]): Promise<void> {
  const opened = await Promise.all(keys.map(openTrace));
  const traces: OpenTrace[] = [];
  for (const each of opened) {
    if (!each.ok) throw new Error(each.error);
    traces.push(each.value);
  }
  openWorkspace(host, traces);
}

/** Rows in another order make another timeline: all else is in the page's address. */
function openWorkspace(host: HTMLElement, traces: readonly OpenTrace[]): void {
  const workspace = new TraceWorkspace(host, traces, () => {
    workspace.close();
    openWorkspace(host, traces);
  });
}

/** Of each trace. */
const MOST_CAUTIONS = 8;
const DENSITIES: readonly Density[] = ["compact", "normal", "events"];
/** Views come even if the timeline does not. */
const PATIENCE_MS = 2000;

class TraceWorkspace {
  private readonly controller = new AbortController();
  private readonly address = new Address(window, this.controller.signal);
  private readonly groupedBy: GroupedBy;
  private readonly views: readonly TraceView[];
  /** The first trace and each of the others. */
  private readonly pairs: readonly Pair[];
  private readonly toolbar: Toolbar;
  /** How rows are arranged where the address does not say. */
  private readonly usual: Density;
  private tabs: Tabs | null = null;
  private readonly details = make("aside", { class: "ws-details", "aria-label": "What is chosen", tabindex: "0" });
  private active: TraceView;
  private leave: () => void = () => undefined;

  /** `regroup` makes the workspace anew, with threads grouped as the address says. */
  constructor(host: HTMLElement, traces: readonly OpenTrace[], private readonly regroup: () => void) {
    const { address } = this;
    const all = traces.map(({ source }) => source.rows);
    const options = groupings(...all);
    this.groupedBy = groupedByOf(address, all);
    this.usual = traces.every(({ source }) => hasEventsAlone(source.rows)) ? "events" : "normal";
    const { density, orientation, filter, here } = arrangementOf(address, this.usual);
    const several = traces.length > 1;
    const clocks: Clocks = address.get("clocks") === "separate" ? "separate" : "aligned";
    const infos = traces.map(({ info }) => info);
    const shifts = infos.map((info, at) => {
      const given = at === 0 ? "0" : address.get(shiftName(at));
      return given === null ? measuredShift(infos[0] ?? info, info) : Number(given) || 0;
    });
    const kinds = [...new Set(traces.flatMap(({ info }) => info.call_kinds))];
    const calls = kinds.length === 0 ? {} : { calls: { kinds, shown: address.get("calls") !== "0" } };
    this.toolbar = new Toolbar({ ...calls, filter, here, density, orientation, clocks: several ? clocks : null, groupedBy: this.groupedBy, groupings: options }, this.tools());
    const lines = make("div", { class: "ws-lines", "data-traces": String(traces.length) });
    const body = make("div", { class: "ws-body" });
    const root = make("div", { class: "ws" },
      ...cautions([...alignmentCaution(infos), ...infos.flatMap((info) =>
        info.cautions.slice(0, MOST_CAUTIONS).map((text) => (several ? `${info.name}: ${text}` : text)))]),
      this.toolbar.element,
      body);
    body.append(lines, splitter({
      label: "Width of the timeline", property: "--ws-lines", direction: "columns", usual: 78, whole: body,
    }), this.details);
    root.append(splitter({
      label: "Height of the timeline", property: "--ws-body", direction: "rows", usual: 58, whole: root,
    }));
    mount(host, root);
    // Those that move as one may all be looked at beyond the ends of the shorter ones.
    const extents = extentsOf(infos, shifts);
    this.views = traces.map((trace, at) => new TraceView(
      lines, { ...trace, source: trace.source.inOrder(inGroups(trace.source.rows, this.groupedBy)) }, address, at === 0 ? "" : String(at + 1), extents[at] ?? { earliest: 0, duration: trace.info.duration },
      density, orientation, (d, o) => { this.arrange(d, o); }, several ? titleOf(trace.info) : "", this.groupedBy,
    ));
    const [first, second] = this.views;
    if (first === undefined) throw new Error("there is no trace to show");
    this.active = first;
    this.pairs = this.views.slice(1).map((view, at) => new Pair(first.selection, view.selection, clocks, shifts[at + 1] ?? 0));
    for (const view of this.views) {
      view.sides = second === undefined || traces.length > 2 ? null : [first.workspace, second.workspace];
      view.filter(filter, here);
    }
    this.activate(first);
    for (const view of this.views) this.follow(view);
    address.subscribe(() => {
      if (groupedByOf(address, all) !== this.groupedBy) {
        this.regroup();
        return;
      }
      this.restore();
      this.tabs?.show(true);
    });
    listenForKeys(host.ownerDocument, {
      help: () => { this.toolbar.showHelp(); },
      search: () => {
        this.active.workspace.openPanel("search", {});
        root.querySelector<HTMLElement>(".ws-panel input[type=search]")?.focus();
      },
      cause: () => showCause(this.details),
      effect: () => showEffect(this.details),
      find: (by) => this.active.workspace.findNext(by),
      timeline: (event) => this.active.timeline.press(event),
    }, this.controller.signal);
    void this.addViews(root);
  }

  /** The views and their charts are many times as large as the timeline, which is seen first. */
  private async addViews(root: HTMLElement): Promise<void> {
    const drawn = Promise.all(this.views.map(({ timeline }) => timeline.drawn));
    await Promise.race([drawn.then(painted), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
    const { PANELS } = await import("./panels");
    if (this.controller.signal.aborted) return;
    // Only now has each the height that those beside it leave.
    for (const view of this.views) view.revealChosen();
    this.tabs = new Tabs(root, PANELS, this.address, this.active.workspace);
  }

  close(): void {
    this.controller.abort();
    this.leave();
    for (const view of this.views) view.close();
    this.tabs?.close();
  }

  private follow(view: TraceView): void {
    for (const event of ["pointerdown", "focusin"] as const) {
      view.element.addEventListener(event, () => { this.activate(view); });
    }
    view.selection.subscribe((_, changed) => {
      if (changed.range) this.toolbar.showRange(this.active.selection);
    });
  }

  /** The trace that was used last is the one that details and views are about. */
  private activate(view: TraceView): void {
    if (view === this.active && this.details.childElementCount > 0) return;
    this.active = view;
    this.leave();
    this.leave = showDetails(this.details, view.workspace);
    for (const each of this.views) each.element.dataset["active"] = each === view ? "yes" : "no";
    this.toolbar.showRange(view.selection);
    this.tabs?.use(view.workspace);
  }

  private arrange(density: Density, orientation: Orientation): void {
    for (const { timeline } of this.views) {
      if (timeline.density !== density || timeline.orientation !== orientation) {
        timeline.arrange(density, orientation);
      }
    }
    this.toolbar.arranged(density, orientation);
    this.address.set({
      rows: density === this.usual ? null : density,
      time: orientation === "vertical" ? "down" : null,
    }, true);
  }

  /** Takes everything from the address: the back button was used. */
  private restore(): void {
    const { density, orientation, filter, here } = arrangementOf(this.address, this.usual);
    for (const view of this.views) {
      view.restore();
      view.filter(filter, here);
      view.timeline.arrange(density, orientation);
    }
    this.toolbar.arranged(density, orientation);
    this.toolbar.filtered(filter, here);
  }

  private tools(): Tools {
    return {
      filter: (text, here) => {
        for (const view of this.views) view.filter(text, here);
        this.address.set({ show: text === "" ? null : text, here: here ? "1" : null }, false);
      },
      arrange: (density, orientation) => { this.arrange(density, orientation); },
      zoom: (factor) => {
        const { selection } = this.active;
        const { view, place } = selection.value;
        const inside = place !== null && place.time > view.begin && place.time < view.end;
        selection.look(zoomSpan(view, factor, inside ? place.time : centreOf(view)));
      },
      whole: () => {
        const { selection } = this.active;
        selection.look(wholeSpan(selection.duration, selection.earliest));
      },
      groupBy: (by) => {
        this.address.set({ group: by, open: null, open2: null }, true);
        this.regroup();
      },
      note: () => { this.active.workspace.noteAnything(); },
      savePicture: (kind) => { void savePicture(this.views, kind); },
      showCalls: (on) => {
        this.address.set({ calls: on ? null : "0" }, true);
        for (const view of this.views) view.showCalls();
      },
      clearRange: () => { this.active.selection.setRange(null); },
      setClocks: (clocks) => {
        if (this.pairs.length === 0) return;
        for (const pair of this.pairs) {
          pair.clocks = clocks;
          pair.settle();
        }
        this.address.set({ clocks: clocks === "separate" ? clocks : null }, false);
      },
      alignChosen: () => {
        const shifts = this.pairs.flatMap((pair, at) =>
          pair.alignChosen() ? [[shiftName(at + 1), String(pair.shift)] as const] : []);
        if (shifts.length === 0) return false;
        this.address.set({ clocks: null, ...Object.fromEntries(shifts) }, true);
        return true;
      },
    };
  }
}

/** Where the address has by how much a trace is moved against the first. */
const shiftName = (at: number): string => (at === 1 ? "shift" : `shift${at + 1}`);

/**
 * When the browser has shown what is drawn by now. What is drawn within a frame goes to the screen
 * with the end of the next one: what takes long waits for the frame behind it.
 */
const painted = (): Promise<void> =>
  new Promise((resolve) => {
    requestAnimationFrame(() => {
      requestAnimationFrame(() => {
        setTimeout(resolve);
      });
    });
  });

/** By what threads are grouped: as the address says, where that puts any together. */
function groupedByOf(address: Address, traces: readonly (readonly Row[])[]): GroupedBy {
  return groupings(...traces).find((by) => by === address.get("group")) ?? usualGrouping(...traces);
}

/** How rows are arranged, and which are shown, as the address says. */
function arrangementOf(address: Address, usual: Density): {
  density: Density;
  orientation: Orientation;
  filter: string;
  here: boolean;
} {
  return {
    density: DENSITIES.find((each) => each === address.get("rows")) ?? usual,
    orientation: address.get("time") === "down" ? "vertical" : "horizontal",
    filter: address.get("show") ?? "",
    here: address.get("here") !== null,
  };
}

/** What must be known before a number is believed. */
function cautions(texts: readonly string[]): HTMLElement[] {
  if (texts.length === 0) return [];
  const items = texts.map((text) => make("li", {}, text));
  return [make("ul", { class: "ws-cautions", "aria-label": "Cautions" }, ...items)];
}
