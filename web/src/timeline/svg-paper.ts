import type { Brush, Surface } from "./brush";

type Matrix = readonly [number, number, number, number, number, number];

const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];

/** How wide a text is in a font, pixels. */
export type Measure = (text: string, font: string) => TextMetrics;

let papers = 0;

/** What a drawn thing looks like. */
interface Ink {
  fillStyle: Brush["fillStyle"];
  strokeStyle: Brush["strokeStyle"];
  font: string;
  globalAlpha: number;
  lineWidth: number;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  matrix: Matrix;
}

/**
 * A surface that keeps what is drawn as SVG: shapes as shapes, texts as texts, and the pixels of an
 * image as rectangles of one colour each. It shows what a canvas of the same size would.
 */
export class SvgPaper implements Surface, Brush {
  imageSmoothingEnabled = false;
  private ink: Ink = {
    fillStyle: "#000", strokeStyle: "#000", font: "10px sans-serif", globalAlpha: 1, lineWidth: 1,
    textAlign: "start", textBaseline: "alphabetic", matrix: IDENTITY,
  };
  private readonly saved: Ink[] = [];
  private readonly parts: string[] = [];
  private readonly definitions: string[] = [];
  private readonly patterns = new Map<CanvasPattern, string>();
  private readonly id: string;
  private path = "";
  /** The pixels of the image that was drawn last: reading them is dear. */
  private read: { readonly image: HTMLCanvasElement; readonly pixels: ImageData } | null = null;

  /** `width` and `height` in pixels of the device, `ratio` of them to a pixel of CSS. */
  constructor(
    readonly width: number,
    readonly height: number,
    private readonly ratio = 1,
    private readonly measure: Measure = measureOnCanvas(),
  ) {
    papers += 1;
    this.id = `p${papers}`;
  }

  get clientWidth(): number {
    return this.width / this.ratio;
  }

  getContext(): Brush {
    return this;
  }

  /** All of it as an element of SVG at a place of another, in pixels of CSS. */
  element(x: number, y: number): string {
    const definitions = this.definitions.length === 0 ? "" : `<defs>${this.definitions.join("")}</defs>`;
    return `<svg x="${x}" y="${y}" width="${shortest(this.clientWidth)}" height="${shortest(this.height / this.ratio)}" ` +
      `viewBox="0 0 ${this.width} ${this.height}" overflow="hidden">${definitions}${this.parts.join("\n")}</svg>`;
  }

  // -- state ----------------------------------------------------------------------------------------

  get fillStyle(): Brush["fillStyle"] { return this.ink.fillStyle; }
  set fillStyle(value: Brush["fillStyle"]) { this.ink.fillStyle = value; }
  get strokeStyle(): Brush["strokeStyle"] { return this.ink.strokeStyle; }
  set strokeStyle(value: Brush["strokeStyle"]) { this.ink.strokeStyle = value; }
  get font(): string { return this.ink.font; }
  set font(value: string) { this.ink.font = value; }
  get globalAlpha(): number { return this.ink.globalAlpha; }
  set globalAlpha(value: number) { this.ink.globalAlpha = value; }
  get lineWidth(): number { return this.ink.lineWidth; }
  set lineWidth(value: number) { this.ink.lineWidth = value; }
  get textAlign(): CanvasTextAlign { return this.ink.textAlign; }
  set textAlign(value: CanvasTextAlign) { this.ink.textAlign = value; }
  get textBaseline(): CanvasTextBaseline { return this.ink.textBaseline; }
  set textBaseline(value: CanvasTextBaseline) { this.ink.textBaseline = value; }

  save(): void {
    this.saved.push({ ...this.ink });
  }

  restore(): void {
    this.ink = this.saved.pop() ?? this.ink;
  }

  setTransform(...numbers: unknown[]): void {
    const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = numbers as number[];
    this.ink.matrix = [a, b, c, d, e, f];
  }

  translate(x: number, y: number): void {
    const { matrix: [a, b, c, d, e, f] } = this.ink;
    this.ink.matrix = [a, b, c, d, a * x + c * y + e, b * x + d * y + f];
  }

  rotate(angle: number): void {
    const { matrix: [a, b, c, d, e, f] } = this.ink;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    this.ink.matrix = [a * cos + c * sin, b * cos + d * sin, c * cos - a * sin, d * cos - b * sin, e, f];
  }

  // -- shapes ---------------------------------------------------------------------------------------

  fillRect(x: number, y: number, width: number, height: number): void {
    if (width <= 0 || height <= 0) return;
    this.parts.push(`<rect x="${shortest(x)}" y="${shortest(y)}" width="${shortest(width)}" height="${shortest(height)}"${this.filled()}${this.placed()}/>`);
  }

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${shortest(x)} ${shortest(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${shortest(x)} ${shortest(y)}`;
  }

  /** A whole circle, whatever the angles: no other is drawn. */
  arc(x: number, y: number, radius: number): void {
    const [left, right, r, middle] = [x - radius, x + radius, radius, y].map(shortest) as [string, string, string, string];
    this.path += `M${right} ${middle}A${r} ${r} 0 1 1 ${left} ${middle}A${r} ${r} 0 1 1 ${right} ${middle}`;
  }

  fill(): void {
    this.parts.push(`<path d="${this.path}"${this.filled()}${this.placed()}/>`);
  }

  stroke(): void {
    const colour = textOf(this.ink.strokeStyle);
    this.parts.push(`<path d="${this.path}" fill="none" stroke="${escaped(colour)}" stroke-width="${this.ink.lineWidth}"${this.placed()}/>`);
  }

  // -- texts ----------------------------------------------------------------------------------------

  measureText(text: string): TextMetrics {
    return this.measure(text, this.font);
  }

  fillText(text: string, x: number, y: number): void {
    const [, weight = "400", size = "10", family = "sans-serif"] = /^(?:(\d+) )?([\d.]+)px (.*)$/.exec(this.font) ?? [];
    const anchor = { right: "end", end: "end", center: "middle", left: "start", start: "start" }[this.textAlign];
    // A part of the size, as not every program knows baselines.
    const down = this.textBaseline === "middle" ? Number(size) * 0.35 : 0;
    this.parts.push(
      `<text x="${shortest(x)}" y="${shortest(y + down)}" font-family="${escaped(family)}" font-size="${size}"` +
      `${weight === "400" ? "" : ` font-weight="${weight}"`}${anchor === "start" ? "" : ` text-anchor="${anchor}"`}` +
      `${this.filled()}${this.placed()} xml:space="preserve">${escaped(text)}</text>`);
  }

  // -- images ---------------------------------------------------------------------------------------

  createPattern(image: CanvasImageSource): CanvasPattern | null {
    if (!(image instanceof HTMLCanvasElement)) return null;
    const pattern = { setTransform: () => undefined };
    const id = `${this.id}-${this.patterns.size}`;
    this.patterns.set(pattern, id);
    const size = `width="${image.width}" height="${image.height}"`;
    this.definitions.push(`<pattern id="${id}" patternUnits="userSpaceOnUse" ${size}><image ${size} href="${image.toDataURL()}"/></pattern>`);
    return pattern;
  }

  /** One line of pixels of a canvas, stretched across: what else is drawn of images is nothing here. */
  drawImage(image: CanvasImageSource, ...numbers: number[]): void {
    const [left = 0, top = 0, long = 0, , x = 0, y = 0, , height = 0] = numbers;
    if (!(image instanceof HTMLCanvasElement) || height <= 0) return;
    const pixels = this.pixelsOf(image);
    if (pixels === null || left !== 0) return;
    const line = pixels.data.subarray(top * pixels.width * 4, (top * pixels.width + long) * 4);
    const high = shortest(height);
    for (const [colour, runs] of runsOf(line)) {
      const path = runs.map(([from, to]) => `M${shortest(x + from)} ${shortest(y)}h${to - from}v${high}h${from - to}z`).join("");
      this.parts.push(`<path d="${path}" fill="${colour}"${this.placed()}/>`);
    }
  }

  /** All of them, which stay as they are as long as this is drawn. */
  private pixelsOf(image: HTMLCanvasElement): ImageData | null {
    if (this.read?.image === image) return this.read.pixels;
    const pixels = image.getContext("2d")?.getImageData(0, 0, image.width, image.height);
    if (pixels === undefined) return null;
    this.read = { image, pixels };
    return pixels;
  }

  private filled(): string {
    const { fillStyle, globalAlpha } = this.ink;
    const pattern = this.patterns.get(fillStyle as CanvasPattern);
    const colour = pattern === undefined ? escaped(textOf(fillStyle)) : `url(#${pattern})`;
    return ` fill="${colour}"${globalAlpha === 1 ? "" : ` fill-opacity="${globalAlpha}"`}`;
  }

  private placed(): string {
    const { matrix } = this.ink;
    return matrix.every((value, at) => value === IDENTITY[at]) ? "" : ` transform="matrix(${matrix.map(shortest).join(" ")})"`;
  }
}

/** Runs of equal pixels by their colour, the first and the one behind the last; clear ones left out. */
export function runsOf(pixels: Uint8ClampedArray): Map<string, (readonly [number, number])[]> {
  const runs = new Map<string, (readonly [number, number])[]>();
  const words = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / 4);
  for (let from = 0; from < words.length; ) {
    let to = from + 1;
    while (to < words.length && words[to] === words[from]) to += 1;
    const at = from * 4;
    if ((pixels[at + 3] ?? 0) > 0) {
      const colour = `#${[0, 1, 2].map((channel) => (pixels[at + channel] ?? 0).toString(16).padStart(2, "0")).join("")}`;
      const own = runs.get(colour);
      if (own === undefined) runs.set(colour, [[from, to]]);
      else own.push([from, to]);
    }
    from = to;
  }
  return runs;
}

const textOf = (style: Brush["fillStyle"]): string => (typeof style === "string" ? style : "#000");

/** A number with as many digits as are seen. */
export const shortest = (value: number): string => String(Math.round(value * 100) / 100);

/** A text for XML: names come from traces, which may hold anything. */
export const escaped = (text: string): string =>
  text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD").replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

function measureOnCanvas(): Measure {
  const context = document.createElement("canvas").getContext("2d");
  return (text, font) => {
    if (context === null) throw new Error("this browser cannot draw on a canvas");
    context.font = font;
    return context.measureText(text);
  };
}
