import type { CallKind } from "../timeline/calls";
import type { Density, Orientation } from "../timeline/layout";
import { formatLength } from "../timeline/time-format";
import { helpDialog } from "./help";
import type { Clocks } from "./pair";
import type { GroupedBy } from "./groups";
import { segments } from "./segments";
import type { Selection } from "./selection";
import { button, choice, labelled, make } from "./views/elements";

/** What the tools of a workspace do. */
export interface Tools {
  filter(text: string, here: boolean): void;
  arrange(density: Density, orientation: Orientation): void;
  zoom(factor: number): void;
  whole(): void;
  groupBy(by: GroupedBy): void;
  /** Shows calls of functions, or not. */
  readonly showCalls?: (on: boolean) => void;
  /** Saves what is seen as a file. Left out where there is no such picture. */
  readonly savePicture?: (kind: "png" | "svg") => void;
  clearRange(): void;
  /** Left out where no notes are kept. */
  readonly note?: () => void;
  setClocks(clocks: Clocks): void;
  /** False when nothing is chosen in one of the two traces. */
  alignChosen(): boolean;
}

export interface ToolState {
  readonly filter: string;
  /** Only rows that are there in the span that is shown; left out where rows do not come and go. */
  readonly here?: boolean;
  readonly density: Density;
  readonly orientation: Orientation;
  /** What calls there are, and whether they are shown; left out where there are none. */
  readonly calls?: { readonly kinds: readonly CallKind[]; readonly shown: boolean };
  /** Null for one trace. */
  readonly clocks: Clocks | null;
  /** By what threads may be grouped, and by which they are; left out where there are none. */
  readonly groupings?: readonly GroupedBy[];
  readonly groupedBy?: GroupedBy;
}

const GROUPED_BY: Readonly<Record<GroupedBy, string>> = {
  process: "by process",
  container: "by container",
  name: "by name",
  none: "one by one",
};

const CALLS: Readonly<Record<CallKind, { readonly label: string; readonly title: string }>> = {
  function: { label: "Functions", title: "The calls of kernel functions beneath the threads that made them" },
  "user function": { label: "User functions", title: "The calls of instrumented functions of programs, by thread" },
  slice: { label: "Slices", title: "The slices that programs told, on their tracks" },
};

/** The row of tools above the timelines. */
export class Toolbar {
  readonly element = make("div", { class: "ws-tools", role: "toolbar", "aria-label": "Timeline" });
  private readonly density;
  private readonly orientation;
  private readonly help = helpDialog();
  private readonly search;
  private readonly here;
  private readonly calls: HTMLButtonElement | null;
  private readonly range = make("span", { class: "ws-range", hidden: true });
  private readonly length = make("span");
  private state: ToolState;

  constructor(state: ToolState, tools: Tools) {
    this.state = state;
    const search = this.search = make("input", {
      type: "search", placeholder: "Rows by name", "aria-label": "Show rows by name", value: state.filter,
    });
    const filter = (): void => {
      tools.filter(search.value, here.getAttribute("aria-pressed") === "true");
    };
    search.addEventListener("input", filter);
    const here = this.here = button("There", () => {
      here.setAttribute("aria-pressed", String(here.getAttribute("aria-pressed") !== "true"));
      filter();
    }, { "aria-pressed": String(state.here ?? false), title: "Only rows that have begun, and have not ended, in the span that is shown" });
    const told = (state.calls?.kinds ?? []).map((kind) => CALLS[kind]);
    const calls = state.calls === undefined ? [] : [button(told.map(({ label }) => label).join(", "), () => {
      const on = this.calls?.getAttribute("aria-pressed") !== "true";
      this.calls?.setAttribute("aria-pressed", String(on));
      tools.showCalls?.(on);
    }, { "aria-pressed": String(state.calls.shown), title: told.map(({ title }) => title).join("; ") })];
    this.calls = calls[0] ?? null;
    const arrange = (to: Partial<ToolState>): void => {
      this.state = { ...this.state, ...to };
      tools.arrange(this.state.density, this.state.orientation);
    };
    this.density = segments<Density>("Rows", [
      ["compact", "Narrow", "Many rows, without texts (E)"],
      ["normal", "Wide", "Rows with texts (E)"],
      ["events", "Events", "The names of events beside the rows (E)"],
    ], state.density, (density) => { arrange({ density }); });
    this.orientation = segments<Orientation>("Direction of time", [
      ["horizontal", "Across", "Time runs to the right (V)"],
      ["vertical", "Down", "Time runs down, a column for each row (V)"],
    ], state.orientation, (orientation) => { arrange({ orientation }); });
    const zoom = make("span", { class: "ws-group", role: "group", "aria-label": "Zoom" },
      button("−", () => { tools.zoom(2); }, { title: "Zoom out (S)", "aria-label": "Zoom out" }),
      button("+", () => { tools.zoom(0.5); }, { title: "Zoom in (W)", "aria-label": "Zoom in" }),
      button("Whole", () => { tools.whole(); }, { title: "Show the whole trace (0)" }));
    const { note } = tools;
    this.range.append(this.length, ...(note === undefined ? [] : [button("Note", note, { title: "Write a note on this span (N)" })]), button("Clear", () => { tools.clearRange(); },
      { title: "Take the filter away (Esc)" }));
    const { groupings = [], groupedBy = "none" } = state;
    const groups = groupings.length < 2 ? [] : [labelled("Threads", choice(
      groupings.map((by) => [by, GROUPED_BY[by]] as const), groupedBy,
      (by) => { tools.groupBy(by as GroupedBy); },
    ))];
    this.element.append(search, ...groups, ...(state.here === undefined ? [] : [here]), ...calls, this.density.group, this.orientation.group, zoom, this.range);
    if (state.clocks !== null) this.element.append(...this.pairTools(state.clocks, tools));
    const { savePicture } = tools;
    if (savePicture !== undefined) {
      this.element.append(make("span", { class: "ws-group ws-right", role: "group", "aria-label": "Save the picture" },
        button("Save PNG", () => { savePicture("png"); }, { title: "Save what is seen as PNG" }),
        button("SVG", () => { savePicture("svg"); }, { title: "Save what is seen as SVG, with texts as texts" })));
    }
    this.element.append(button("Keys", () => { this.showHelp(); },
      { class: savePicture === undefined ? "ws-right" : null, title: "What mouse and keys do (?)" }), this.help);
  }

  /** Shows what mouse and keys do. */
  showHelp(): void {
    if (!this.help.open) this.help.showModal();
  }

  /** Shows what the page's address has changed. */
  filtered(filter: string, here: boolean): void {
    this.search.value = filter;
    this.here.setAttribute("aria-pressed", String(here));
  }

  /** Shows what a key has changed. */
  arranged(density: Density, orientation: Orientation): void {
    this.state = { ...this.state, density, orientation };
    this.density.press(density);
    this.orientation.press(orientation);
  }

  showRange({ value }: Selection): void {
    this.range.hidden = value.range === null;
    if (value.range !== null) {
      this.length.textContent = `Views show ${formatLength(value.range.end - value.range.begin)}`;
    }
  }

  private pairTools(clocks: Clocks, tools: Tools): HTMLElement[] {
    const choice = segments<Clocks>("Clocks of the two traces", [
      ["aligned", "Clocks together", "Both timelines move as one"],
      ["separate", "apart", "Each timeline moves by itself"],
    ], clocks, (value) => { tools.setClocks(value); });
    const align = button("Align chosen", () => {
      if (tools.alignChosen()) choice.press("aligned");
      else align.title = "Choose an item in each of the two traces first";
    }, { title: "The chosen items of both traces fall onto each other" });
    return [choice.group, align];
  }
}
