import { nothing } from "./answer";
import { button, make } from "./elements";
import { beside, type Box, boxesOf, callersOf, childrenOf, type FlameTree, found, type Missing, nameOf } from "./flame-layout";

const LINE = 19;
/** Pixels: what is narrower is not drawn, and has no name below the second. */
const LEAST = 0.4;
const NAMED = 26;
const HATCH = 6;

/** How a box looks: the name of a colour, how strong it is, and whether it is hatched. */
export interface Fill {
  readonly colour: string;
  readonly strength: number;
  readonly hatched: boolean;
}

/** What a picture shows besides the tree. */
export interface FlameLook {
  readonly tree: FlameTree;
  fill(node: number): Fill;
  /** What stands in a box. */
  label(node: number): string;
  /** All that is known of a node, in a line. */
  describe(node: number): string;
  /** What nodes of which none is below another weigh: the answer to a search. */
  weigh(outermost: readonly number[]): string;
  /** Names of kinds of boxes; their colours and patterns are those of the class `flame-KIND`. */
  readonly legend: readonly (readonly [kind: string, text: string])[];
  /** Tables beneath the picture, of what it is zoomed to. */
  tables(zoom: number): readonly HTMLElement[];
}

/** The picture of a tree of functions, callers above what they call, and the tables beneath it. */
export class FlameDrawing {
  readonly element = make("div", { class: "flame" });
  private readonly canvas = make("canvas");
  private readonly stage: HTMLElement;
  private readonly told = make("p", { class: "view-note", "aria-live": "polite" });
  private readonly out: HTMLButtonElement;
  private readonly tables = make("div");
  private readonly children: readonly (readonly number[])[];
  private readonly resized = new ResizeObserver(() => { this.draw(); });
  private boxes: Box[] = [];
  private zoom = 0;
  private at = -1;
  private hits: ReadonlySet<number> = new Set();
  /** What was found of what is searched for; empty for nothing. */
  private result = "";

  constructor(private readonly look: FlameLook, text: string) {
    this.children = childrenOf(look.tree);
    this.stage = make("div", {
      class: "flame-stage", tabindex: "0", role: "group",
      "aria-label": "Flame graph: arrow keys go from function to function, Enter zooms, Escape shows all. The table below lists the functions.",
    }, this.canvas);
    this.out = button("Show all", () => { this.zoomTo(0); });
    const legend = make("div", { class: "view-bar" }, ...look.legend.map(([kind, words]) =>
      make("span", { class: `flame-kind flame-${kind} view-note` }, words)));
    this.element.append(make("div", { class: "flame-head" }, this.told, this.out), this.stage, legend, this.tables);
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
    const { nodes, outermost } = found(this.look.tree, text);
    this.hits = nodes;
    this.result = text.trim() === "" ? ""
      : nodes.size === 0 ? `No function or file holds “${text}”.` : `“${text}”: ${this.look.weigh(outermost)}`;
    this.draw();
  }

  draw(): void {
    const width = this.stage.clientWidth;
    if (width === 0) return;
    this.boxes = boxesOf(this.look.tree, this.children, this.zoom, LEAST / width);
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
    this.tables.replaceChildren(...this.look.tables(this.zoom));
    this.tell();
  }

  private paint(context: CanvasRenderingContext2D, width: number): void {
    const style = getComputedStyle(this.canvas);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const [ink, rule, surface] = [colour("--ink"), colour("--rule-strong"), colour("--surface")];
    const hatch = context.createPattern(hatched(ink), "repeat");
    context.font = `12px ${style.fontFamily}`;
    context.textBaseline = "middle";
    this.boxes.forEach((box, index) => {
      const [x, y] = [box.from * width, box.depth * LINE];
      const wide = Math.max(LEAST, (box.to - box.from) * width);
      const fill = this.look.fill(box.node);
      const filled = (style: string | CanvasPattern, strength: number): void => {
        context.globalAlpha = strength;
        context.fillStyle = style;
        context.fillRect(x, y, wide > 3 ? wide - 1 : wide, LINE - 1);
        context.globalAlpha = 1;
      };
      context.fillStyle = surface;
      context.fillRect(x, y, wide, LINE - 1);
      filled(colour(this.hits.has(box.node) ? "--flame-found" : fill.colour), box.above ? 0.45 * fill.strength : fill.strength);
      if (fill.hatched && hatch !== null) filled(hatch, 0.3);
      if (index === this.at || box.above) {
        context.strokeStyle = index === this.at ? ink : rule;
        context.strokeRect(x + 0.5, y + 0.5, Math.max(1, wide - 2), LINE - 2);
      }
      if (wide < NAMED) return;
      context.fillStyle = ink;
      context.fillText(fitted(context, this.look.label(box.node), wide - 8), x + 4, y + LINE / 2);
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
    this.told.textContent = this.at < 0 && this.result !== ""
      ? this.result
      : this.look.describe(this.boxes[this.at]?.node ?? this.zoom);
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
    else if (event.key === "Backspace") this.zoomTo(callersOf(this.look.tree, this.zoom).at(-1) ?? 0);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** ` below NAME`, where it is zoomed to anything. */
export function belowWhat(tree: FlameTree, zoom: number): string {
  return zoom === 0 ? "" : ` below ${nameOf(tree, zoom)}`;
}

/** Why functions have no names. */
export function withoutNames(missing: Missing): HTMLElement[] {
  return missing.map(({ module, reason }) => nothing(`No names of ${module}: not available: ${reason}.`));
}

/** A tile of lines that rise from left to right. */
function hatched(ink: string): HTMLCanvasElement {
  const tile = make("canvas");
  tile.width = tile.height = HATCH;
  const context = tile.getContext("2d");
  if (context !== null) {
    context.strokeStyle = ink;
    context.beginPath();
    for (const shift of [-HATCH, 0, HATCH]) {
      context.moveTo(shift - 1, HATCH + 1);
      context.lineTo(shift + HATCH + 1, -1);
    }
    context.stroke();
  }
  return tile;
}

/** As much of a text as a width holds. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  const each = context.measureText("n").width;
  const most = Math.max(0, Math.floor(width / each) - 1);
  return most < 2 ? "" : `${text.slice(0, most)}…`;
}
