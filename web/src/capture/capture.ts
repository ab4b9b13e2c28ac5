import { okay } from "../base/result";
import type { Density, Orientation } from "../timeline/layout";
import { ServerSource } from "../timeline/server-source";
import { centreOf, wholeSpan, zoomSpan } from "../timeline/span";
import { Timeline } from "../timeline/timeline";
import { Address, readChosen, writeChosen } from "../workspace/address";
import { Selection } from "../workspace/selection";
import { Toolbar } from "../workspace/toolbar";
import { make, mount } from "../workspace/views/elements";
import { CaptureDetails } from "./capture-details";
import { captureLook } from "./capture-look";

/** What the server says of a capture, `GET info`. Times in ns. */
interface CaptureInfo {
  readonly name: string;
  readonly duration: number;
  readonly tick: number;
  readonly states: readonly string[];
  readonly event_types: readonly string[];
  readonly texts: readonly string[];
  readonly tag: string;
}

/** Pixels that the timeline takes besides its rows, and for each of them. */
const AROUND = 150;
const EACH = 27;

const DENSITIES: readonly Density[] = ["compact", "normal", "events"];

/** Makes the timeline of a capture in an element; `api` is where its answers are. */
export async function startCapture(host: HTMLElement, api: string): Promise<void> {
  const opened = await ServerSource.open(
    api,
    (info) => okay(info as CaptureInfo),
    ({ states, event_types, texts }) => captureLook(states, event_types, texts),
  );
  if (!opened.ok) throw new Error(opened.error);
  new CaptureView(host, api, opened.value.info, opened.value.source);
}

/** The lines of a capture with tools, the timeline, and the details of what is chosen. */
class CaptureView {
  private readonly address = new Address(window);
  private readonly selection: Selection;
  private readonly timeline: Timeline;
  private readonly toolbar: Toolbar;

  constructor(host: HTMLElement, api: string, info: CaptureInfo, private readonly source: ServerSource) {
    const { density, orientation, filter } = this.arrangement();
    this.selection = new Selection(info.duration, this.fromAddress());
    this.toolbar = this.tools(density, orientation, filter);
    const line = make("div", { class: "ws-line" });
    const details = new CaptureDetails(api, this.selection, info.tick);
    const lines = make("div", { class: "ws-lines", "data-traces": "1" },
      make("section", { class: "ws-trace", "aria-label": info.name }, line));
    // A capture mostly has few lines: what is beneath should not be pushed out of sight.
    lines.style.height = `min(58vh, ${AROUND + EACH * source.rows.length}px)`;
    mount(host, make("div", { class: "ws cp" },
      this.toolbar.element,
      make("div", { class: "ws-body" },
        lines,
        details.element)));
    this.timeline = new Timeline(line, source, this.selection, {
      density, orientation, turned: (d, o) => { this.arrange(d, o); },
    });
    if (filter !== "") this.filter(filter);
    this.follow();
  }

  private follow(): void {
    const { address, selection } = this;
    let restoring = false;
    selection.subscribe((now, changed) => {
      if (changed.range) this.toolbar.showRange(selection);
      if (!restoring) address.set(writeChosen(now), changed.range || changed.place);
    });
    address.subscribe(() => {
      const { density, orientation, filter } = this.arrangement();
      restoring = true;
      selection.restore(this.fromAddress());
      restoring = false;
      this.filter(filter);
      this.timeline.arrange(density, orientation);
      this.toolbar.arranged(density, orientation);
      this.toolbar.filtered(filter, false);
    });
    this.toolbar.showRange(selection);
    const { place } = selection.value;
    if (place !== null) this.timeline.reveal(place.row);
  }

  private tools(density: Density, orientation: Orientation, filter: string): Toolbar {
    const { selection } = this;
    return new Toolbar({ filter, density, orientation, clocks: null }, {
      filter: (text) => {
        this.filter(text);
        this.address.set({ show: text === "" ? null : text }, false);
      },
      arrange: (d, o) => { this.arrange(d, o); },
      zoom: (factor) => {
        const { view, place } = selection.value;
        const inside = place !== null && place.time > view.begin && place.time < view.end;
        selection.look(zoomSpan(view, factor, inside ? place.time : centreOf(view)));
      },
      whole: () => { selection.look(wholeSpan(selection.duration)); },
      clearRange: () => { selection.setRange(null); },
      groupBy: () => undefined,
      setClocks: () => undefined,
      alignChosen: () => false,
    });
  }

  private arrange(density: Density, orientation: Orientation): void {
    const { timeline } = this;
    if (timeline.density !== density || timeline.orientation !== orientation) {
      timeline.arrange(density, orientation);
    }
    this.toolbar.arranged(density, orientation);
    this.address.set({
      rows: density === "normal" ? null : density,
      time: orientation === "vertical" ? "down" : null,
    }, true);
  }

  /** How rows are arranged, and which are shown, as the address says. */
  private arrangement(): { density: Density; orientation: Orientation; filter: string } {
    const { address } = this;
    return {
      density: DENSITIES.find((each) => each === address.get("rows")) ?? "normal",
      orientation: address.get("time") === "down" ? "vertical" : "horizontal",
      filter: address.get("show") ?? "",
    };
  }

  private filter(text: string): void {
    const wanted = text.trim().toLowerCase();
    const fits = this.source.rows.flatMap(({ name }, order) =>
      name.toLowerCase().includes(wanted) ? [order] : []);
    this.timeline.filter(wanted === "" ? null : fits);
  }

  private fromAddress(): ReturnType<typeof readChosen> {
    return readChosen((name) => this.address.get(name));
  }
}
