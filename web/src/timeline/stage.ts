import { type Brush, brushOf, setFont, type Surface } from "./brush";
import { type CallSlices, paintCalls } from "./calls";
import { bandsOf, boxesBetween, type Box, type Layout } from "./layout";
import { paintLosses } from "./losses";
import { paintMarks } from "./marks";
import { BANDS, paintItems, type Scale } from "./raster";
import type { Items, Marks, Source } from "./source";
import type { Span } from "./span";
import { Texts } from "./texts";
import type { Paints, Theme } from "./theme";
import { paintTrack, type TrackLines } from "./tracks";
import type { TileStore } from "./tile-store";
import { BLOCK, levelOf } from "./tiles";

/** What one frame shows. Lengths are CSS pixels unless said otherwise. */
export interface Scene {
  readonly source: Source;
  readonly items: TileStore<Items>;
  readonly marks: TileStore<Marks>;
  readonly layout: Layout;
  readonly scroll: number;
  readonly view: Span;
  /** Times of the axis' labelled ticks. */
  readonly ticks: readonly number[];
  readonly theme: Theme;
  readonly paints: Paints;
  readonly actor: number | null;
  /** Order of the row that is chosen. */
  readonly chosen: number | null;
  /** Of a counter, by its place among them: null is still to come, a text is why there is none. */
  readonly track: (at: number) => TrackLines | string | null;
  /** The same of the calls of a thread, by its key, with the names of functions. */
  readonly calls: (key: number) => { readonly slices: CallSlices | string | null; readonly functions: readonly string[] };
}

const LABEL_PX = 22;
/** Of a column, where text stands across time. */
const LABEL_HEIGHT = 13;
/** Texts of one frame: the widest items have theirs. */
const MOST_LABELS = 400;

interface Label {
  readonly box: Box;
  readonly from: number;
  readonly to: number;
  readonly who: string;
  readonly long: string;
}

/** Draws rows into one canvas, along `main`, the direction of time, and across it. */
export class Stage {
  private readonly context: Brush;
  private readonly strip = document.createElement("canvas");
  private readonly stripContext: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private ranks = new Uint8Array(0);
  private used = new Float64Array(0);
  private texts: Texts | null = null;

  constructor(readonly canvas: Surface) {
    this.context = brushOf(canvas);
    this.stripContext = contextOf(this.strip);
  }

  paint(scene: Scene): void {
    const { canvas, context } = this;
    const { layout, theme, view } = scene;
    const ratio = canvas.width / canvas.clientWidth;
    const vertical = layout.orientation === "vertical";
    const [main, cross] = vertical ? [canvas.height, canvas.width] : [canvas.width, canvas.height];
    const scale: Scale = { begin: view.begin, perPixel: (view.end - view.begin) / main };
    const boxes = boxesBetween(layout, scene.scroll, scene.scroll + cross / ratio);
    const turn = (): void => {
      if (vertical) context.setTransform(0, 1, 1, 0, 0, 0);
      else context.setTransform(1, 0, 0, 1, 0, 0);
    };
    turn();
    this.paintGround(scene, boxes, scale, ratio, main, cross);
    const labels = this.paintBars(scene, boxes, scale, ratio, main);
    this.paintTracks(scene, boxes, scale, ratio, main);
    labels.push(...this.paintLanes(scene, boxes, scale, ratio, main));
    paintLosses(context, scene, boxes, scale, ratio, main);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.texts = this.texts?.font === `11px ${theme.sans}` ? this.texts : this.fresh(theme);
    setFont(context, this.texts.font);
    context.textBaseline = "middle";
    context.fillStyle = theme.onBar;
    for (const label of labels) this.write(label, this.texts, scene, ratio, vertical);
    context.fillStyle = theme.muted;
    for (const label of this.reasonsOf(scene, boxes, main)) this.write(label, this.texts, scene, ratio, vertical);
    if (layout.density === "events") {
      paintMarks(context, this.texts, scene, boxes, scale, ratio, main);
    }
  }

  private paintTracks(scene: Scene, boxes: readonly Box[], scale: Scale, ratio: number, main: number): void {
    for (const box of boxes) {
      const lines = box.track === undefined ? null : scene.track(box.track);
      if (lines === null || typeof lines === "string") continue;
      paintTrack(this.context, lines, box, scene.scroll, scale, ratio, main, scene.theme);
    }
  }

  /** Why counters are not drawn, where they would be. */
  private reasonsOf(scene: Scene, boxes: readonly Box[], main: number): Label[] {
    return boxes.flatMap((box): Label[] => {
      const lines = box.track === undefined ? null : scene.track(box.track);
      return typeof lines === "string" ? [{ box, from: 0, to: main, who: lines, long: "" }] : [];
    });
  }

  /** All calls; returns the names that have room in them. */
  private paintLanes(scene: Scene, boxes: readonly Box[], scale: Scale, ratio: number, main: number): Label[] {
    const labels: Label[] = [];
    const wide = scene.layout.orientation === "vertical" ? Infinity : LABEL_PX * ratio;
    for (const box of boxes) {
      if (box.calls === undefined) continue;
      const { slices, functions } = scene.calls(box.calls.key);
      if (slices === null || typeof slices === "string") continue;
      const top = Math.round((box.from - scene.scroll) * ratio);
      const across = [top, Math.round(box.bar * ratio)] as const;
      for (const { from, to, name } of paintCalls(this.context, slices, functions, box.calls.lane, across, scale, main, scene.theme, wide)) {
        if (labels.length < MOST_LABELS) labels.push({ box, from, to, who: name, long: "" });
      }
    }
    return labels;
  }

  private fresh(theme: Theme): Texts {
    return new Texts(this.context, `11px ${theme.sans}`);
  }

  /** The page, what lies beside the trace, the lines of the axis, headings. */
  private paintGround(
    { layout, scroll, theme, source, ticks, chosen }: Scene,
    boxes: readonly Box[],
    scale: Scale,
    ratio: number,
    main: number,
    cross: number,
  ): void {
    const { context } = this;
    const place = (time: number): number => Math.round((time - scale.begin) / scale.perPixel);
    context.fillStyle = theme.page;
    context.fillRect(0, 0, main, cross);
    context.fillStyle = theme.panel;
    const [first, last] = [place(0), place(source.duration) + 1];
    if (first > 0) context.fillRect(0, 0, first, cross);
    if (last < main) context.fillRect(last, 0, main - last, cross);
    for (const { from, size } of layout.headings) {
      context.fillRect(0, (from - scroll) * ratio, main, size * ratio);
    }
    for (const box of boxes) {
      if (box.order !== chosen) continue;
      const size = box.bar + box.lane + 2;
      context.fillRect(0, (box.from - scroll - 1) * ratio, main, size * ratio);
    }
    context.fillStyle = theme.rule;
    for (const time of ticks) context.fillRect(place(time), 0, Math.max(1, Math.round(ratio)), cross);
  }

  /** All bars; returns the texts that have room in them. */
  private paintBars(
    scene: Scene,
    boxes: readonly Box[],
    scale: Scale,
    ratio: number,
    main: number,
  ): Label[] {
    const { source, layout, view, paints, scroll } = scene;
    const image = this.lines(main, boxes.length);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(0);
    const level = levelOf(scale.perPixel);
    const labels: Label[] = [];
    const vertical = layout.orientation === "vertical";
    const room = vertical ? LABEL_HEIGHT : LABEL_PX;
    const wideFrom = layout.density === "compact" ? Infinity : room * ratio;
    const covers = new Map<number, ReturnType<typeof scene.items.cover>>();
    const piecesOf = (order: number): ReturnType<typeof scene.items.cover> => {
      const block = Math.floor(order / BLOCK);
      const pieces = covers.get(block) ?? scene.items.cover(level, view, block);
      covers.set(block, pieces);
      return pieces;
    };
    boxes.forEach((box, at) => {
      if (box.calls !== undefined) return;
      const from = at * BANDS * main;
      const lines = {
        pixels: pixels.subarray(from, from + BANDS * main),
        ranks: this.ranks.fill(0),
        used: this.used.fill(0),
        width: main,
      };
      paints.only = box.row.actor === null ? scene.actor : null;
      let last: Label | undefined;
      const parts = (box.members ?? [box.order]).flatMap((order) => {
        const id = source.rows[order]?.id;
        return id === undefined ? [] : piecesOf(order).map((piece) => ({ ...piece, id }));
      });
      for (const { tile, clip, id } of parts) {
        const range = tile.rows.get(id);
        if (range === undefined) continue;
        const { data } = tile;
        const wide = (item: number, from: number, to: number): void => {
          // Of a group, several may run at once: a text would be of one of them.
          if (box.members !== undefined) return;
          const actor = data.actor[item] ?? -1;
          // Texts are made for full colours: what is faint has none.
          if (paints.only !== null && paints.only !== actor) return;
          const length = (data.end[item] ?? 0) - (data.begin[item] ?? 0);
          const exact = data.count[item] === 1;
          const [who, long] = source.look.label(box.row, actor, data.state[item] ?? 0, length, exact);
          if (who === "" && long === "") return;
          // What goes on in the next tile is one item, and has one text.
          if (last?.to === from && last.who === who && last.long === long) labels.pop();
          else last = undefined;
          last = { box, from: last?.from ?? from, to, who, long };
          labels.push(last);
        };
        const brush = { look: source.look, paints, wideFrom, wide };
        paintItems(lines, data, range, clip, scale, brush);
      }
    });
    paints.only = null;
    this.show(image, boxes, scroll, ratio, main);
    if (labels.length <= MOST_LABELS) return labels;
    return labels.sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, MOST_LABELS);
  }

  /** Stretches each row's lines to the bands of its bar. */
  private show(
    image: ImageData,
    boxes: readonly Box[],
    scroll: number,
    ratio: number,
    main: number,
  ): void {
    const { context } = this;
    this.stripContext.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    boxes.forEach((box, at) => {
      bandsOf(box.row.kind, box.bar).forEach(([from, size], band) => {
        const top = Math.round((box.from + from - scroll) * ratio);
        const bottom = Math.round((box.from + from + size - scroll) * ratio);
        const line = at * BANDS + band;
        context.drawImage(this.strip, 0, line, main, 1, 0, top, main, bottom - top);
      });
    });
  }

  /** Room for the lines of so many rows. */
  private lines(width: number, rows: number): ImageData {
    const height = Math.max(rows, 1) * BANDS;
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.strip.width = width;
      this.strip.height = height;
      this.ranks = new Uint8Array(width);
      this.used = new Float64Array(width);
    }
    return this.image;
  }

  private write(
    { box, from, to, who, long }: Label,
    texts: Texts,
    { scroll }: Scene,
    ratio: number,
    vertical: boolean,
  ): void {
    const at = box.from - scroll;
    const room = vertical ? box.bar - 8 : (to - from) / ratio - 8;
    const both = who !== "" && long !== "" ? `${who}  ${long}` : who + long;
    // A number that is cut is another number.
    const text = texts.width(both) <= room ? both : who;
    if (text === "") return;
    if (vertical) texts.draw(text, at + 4, from / ratio + 7, room);
    else texts.draw(text, from / ratio + 4, at + box.bar / 2 + 0.5, room);
  }
}

function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("this browser cannot draw on a canvas");
  return context;
}
