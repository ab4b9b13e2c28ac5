import type { Panel, Workspace } from "../panel";
import { address, Answer, askDocument, nothing } from "./answer";
import { button, choice, labelled, make, namedTable } from "./elements";
import {
  beside, type Box, boxesOf, callersOf, childrenOf, type FlameGraph, found, moduleOf, nameOf, sumsOf,
} from "./flame-layout";
import { count, duration, share } from "./words";

const LINE = 19;
const LISTED = 30;
/** Pixels: what is narrower is not drawn, and has no name below the second. */
const LEAST = 0.4;
const NAMED = 26;

/** A flame graph of what is seen of the trace, or of the time selected: callers above what they call. */
export const flame: Panel = {
  id: "flame",
  title: "Flame graph",
  mount(host, workspace) {
    const bar = make("div", { class: "view-bar" });
    const place = make("div", { class: "view-scroll" });
    host.append(bar, place);
    let drawing: Drawing | null = null;
    const answer = new Answer<FlameGraph>(
      place,
      (signal) => {
        const { range, view } = workspace.selection.value;
        const words = { event: workspace.parameter("flame-event"), thread: workspace.parameter("flame-thread") };
        return askDocument(address(workspace, "flame", words, range ?? view), signal);
      },
      (graph) => {
        drawing?.end();
        if (graph.events.length === 0) {
          bar.replaceChildren();
          place.replaceChildren(nothing("The trace has no stacks of functions. perf record -g, ftrace's trigger stacktrace and benchvise trace record BOARD --functions NAME --graph record some."));
          return;
        }
        bar.replaceChildren(...choices(workspace, graph, () => { answer.again(); }, (text) => { drawing?.search(text); }));
        drawing = new Drawing(graph, workspace.parameter("flame-search") ?? "");
        place.replaceChildren(...(graph.stacks === 0
          ? [nothing("No stack of this event lies here. Choose a longer time, or all threads.")]
          : [drawing.element]));
        drawing.draw();
      },
    );
    answer.again();
    const unsubscribe = workspace.selection.subscribe((now, changed) => {
      if (changed.range || (changed.view && now.range === null)) answer.again();
    });
    return () => {
      unsubscribe();
      drawing?.end();
      answer.stop();
    };
  },
};

function choices(
  workspace: Workspace, graph: FlameGraph, again: () => void, search: (text: string) => void,
): HTMLElement[] {
  const set = (name: string) => (value: string): void => {
    workspace.setParameter(name, value === "" ? null : value);
    again();
  };
  const events = graph.events.map(({ name, stacks }) => [name, `${name} (${count(stacks)})`] as const);
  const threads = graph.threads.map(({ thread, name, weight }) =>
    [String(thread), `${name} ${thread} (${weighed(graph, weight)})`] as const);
  const field = make("input", { type: "search", placeholder: "function or file", value: workspace.parameter("flame-search") });
  field.addEventListener("input", () => {
    workspace.setParameter("flame-search", field.value === "" ? null : field.value);
    search(field.value);
  });
  return [
    labelled("Event", choice(events, graph.event, set("flame-event"))),
    labelled("Thread", choice([["", "all"], ...threads], workspace.parameter("flame-thread") ?? "", set("flame-thread"))),
    labelled("Find", field),
  ];
}

function weighed(graph: FlameGraph, weight: number): string {
  return graph.unit === "ns" ? duration(weight) : count(weight);
}

/** The picture, and the table of what it is zoomed to. */
class Drawing {
  readonly element = make("div", { class: "flame" });
  private readonly canvas = make("canvas");
  private readonly stage: HTMLElement;
  private readonly told = make("p", { class: "view-note", "aria-live": "polite" });
  private readonly out: HTMLButtonElement;
  private readonly table = make("div");
  private readonly children: readonly (readonly number[])[];
  private readonly resized = new ResizeObserver(() => { this.draw(); });
  private boxes: Box[] = [];
  private zoom = 0;
  private at = -1;
  private hits: ReadonlySet<number> = new Set();
  /** What was found of what is searched for; empty for nothing. */
  private result = "";

  constructor(private readonly graph: FlameGraph, text: string) {
    this.children = childrenOf(graph);
    this.stage = make("div", {
      class: "flame-stage", tabindex: "0", role: "group",
      "aria-label": "Flame graph: arrow keys go from function to function, Enter zooms, Escape shows all. The table below lists the functions.",
    }, this.canvas);
    this.out = button("Show all", () => { this.zoomTo(0); });
    const kind = (name: string, text: string): HTMLElement =>
      make("span", { class: `flame-kind flame-${name} view-note` }, text);
    const legend = make("div", { class: "view-bar" }, kind("user", "programs"), kind("kernel", "kernel"), kind("thread", "threads"), kind("found", "found"));
    this.element.append(make("div", { class: "flame-head" }, this.told, this.out), this.stage, legend, this.table);
    const pointed = (event: PointerEvent | MouseEvent): number => this.hit(event.offsetX, event.offsetY);
    this.canvas.addEventListener("pointermove", (event) => { this.show(pointed(event)); });
    this.canvas.addEventListener("pointerleave", () => { this.show(-1); });
    this.canvas.addEventListener("click", (event) => {
      const box = this.boxes[pointed(event)];
      if (box !== undefined) this.zoomTo(box.node);
    });
    this.stage.addEventListener("keydown", (event) => { this.key(event); });
    this.resized.observe(this.element);
    this.search(text);
  }

  end(): void {
    this.resized.disconnect();
  }

  search(text: string): void {
    const { nodes, share: part } = found(this.graph, text);
    this.hits = nodes;
    this.result = text.trim() === "" ? ""
      : nodes.size === 0 ? `No function or file holds “${text}”.` : `“${text}”: in ${share(part)} of the stacks`;
    this.draw();
  }

  draw(): void {
    const width = this.stage.clientWidth;
    if (width === 0) return;
    this.boxes = boxesOf(this.graph, this.children, this.zoom, LEAST / width);
    const height = (1 + Math.max(0, ...this.boxes.map(({ depth }) => depth))) * LINE + 1;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    context.scale(ratio, ratio);
    this.paint(context, width);
    this.out.hidden = this.zoom === 0;
    this.table.replaceChildren(...this.list());
    this.tell();
  }

  private paint(context: CanvasRenderingContext2D, width: number): void {
    const style = getComputedStyle(this.canvas);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const [ink, rule, surface] = [colour("--ink"), colour("--rule-strong"), colour("--surface")];
    context.font = `12px ${style.fontFamily}`;
    context.textBaseline = "middle";
    this.boxes.forEach((box, index) => {
      const [x, y] = [box.from * width, box.depth * LINE];
      const wide = Math.max(LEAST, (box.to - box.from) * width);
      context.fillStyle = surface;
      context.fillRect(x, y, wide, LINE - 1);
      context.fillStyle = colour(this.hits.has(box.node) ? "--flame-found" : kindOf(this.graph, box.node));
      context.globalAlpha = box.above ? 0.45 : 1;
      context.fillRect(x, y, wide > 3 ? wide - 1 : wide, LINE - 1);
      context.globalAlpha = 1;
      if (index === this.at) {
        context.strokeStyle = ink;
        context.strokeRect(x + 0.5, y + 0.5, Math.max(1, wide - 2), LINE - 2);
      } else if (box.above) {
        context.strokeStyle = rule;
        context.strokeRect(x + 0.5, y + 0.5, Math.max(1, wide - 2), LINE - 2);
      }
      if (wide < NAMED) return;
      context.fillStyle = ink;
      const text = fitted(context, nameOf(this.graph, box.node), wide - 8);
      context.fillText(text, x + 4, y + LINE / 2);
    });
  }

  private hit(x: number, y: number): number {
    const width = this.stage.clientWidth;
    const depth = Math.floor(y / LINE);
    return this.boxes.findIndex((box) => box.depth === depth && box.from * width <= x && x < box.to * width);
  }

  private show(at: number): void {
    if (at === this.at) return;
    this.at = at;
    const context = this.canvas.getContext("2d");
    if (context !== null) this.paint(context, this.stage.clientWidth);
    this.tell();
  }

  private tell(): void {
    const { graph } = this;
    if (this.at < 0 && this.result !== "") {
      this.told.textContent = this.result;
      return;
    }
    const node = this.boxes[this.at]?.node ?? this.zoom;
    const all = Math.max(1, graph.total[0] ?? 1);
    const [self, total] = [graph.self_weight[node] ?? 0, graph.total[node] ?? 0];
    const file = moduleOf(graph, node);
    this.told.textContent = `${nameOf(graph, node)}${file === "" ? "" : ` (${file})`}: total ${weighed(graph, total)}, ${share(total / all)}; self ${weighed(graph, self)}, ${share(self / all)}`;
  }

  private zoomTo(node: number): void {
    this.zoom = node;
    this.at = -1;
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key.startsWith("Arrow")) {
      this.show(beside(this.boxes, this.at, event.key));
    } else if (event.key === "Enter" || event.key === " ") {
      const box = this.boxes[this.at];
      if (box !== undefined) this.zoomTo(box.node);
    } else if (event.key === "Escape" && this.zoom !== 0) this.zoomTo(0);
    else if (event.key === "Backspace") this.zoomTo(callersOf(this.graph, this.zoom).at(-1) ?? 0);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private list(): HTMLElement[] {
    const { graph } = this;
    const all = Math.max(1, graph.total[0] ?? 1);
    const sums = sumsOf(graph, this.zoom);
    const more = sums.length > LISTED ? `; ${count(sums.length - LISTED)} more functions not shown` : "";
    const left = graph.left_out > 0 ? `; ${count(graph.left_out)} places that weigh least are left out` : "";
    const where = this.zoom === 0 ? "" : ` below ${nameOf(graph, this.zoom)}`;
    const rows = sums.slice(0, LISTED).map((row) => [
      row.name, row.module, weighed(graph, row.self), share(row.self / all), weighed(graph, row.total), share(row.total / all),
    ]);
    return [
      namedTable("flame-functions", `Functions${where}, most self first${more}${left}`, ["Function", "File", "Self", "Share", "Total", "Share"], rows, 2),
      ...graph.missing.map(({ module, reason }) =>
        make("p", { class: "view-note" }, `No names of ${module}: not available: ${reason}.`)),
    ];
  }
}

/** The colour by whose function it is. */
function kindOf(graph: FlameGraph, node: number): string {
  const file = moduleOf(graph, node);
  if (file === "") return "--flame-thread";
  return file === "kernel" || file.startsWith("[") ? "--flame-kernel" : "--flame-user";
}

/** As much of a text as a width holds. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  const each = context.measureText("n").width;
  const most = Math.max(0, Math.floor(width / each) - 1);
  return most < 2 ? "" : `${text.slice(0, most)}…`;
}
