/**
 * What is used of a canvas to draw a timeline: the screen has all of it, and so has the paper that
 * becomes an SVG file (`svg-paper.ts`).
 */
export type Brush = Pick<
  CanvasRenderingContext2D,
  | "arc" | "beginPath" | "createPattern" | "drawImage" | "fill" | "fillRect" | "fillStyle" | "fillText" | "font"
  | "globalAlpha" | "imageSmoothingEnabled" | "lineTo" | "lineWidth" | "measureText" | "moveTo" | "restore" | "rotate"
  | "save" | "setTransform" | "stroke" | "strokeStyle" | "textAlign" | "textBaseline" | "translate"
>;

/** What is drawn on: a canvas in the page, or paper. */
export interface Surface {
  /** Pixels of the device. */
  readonly width: number;
  readonly height: number;
  /** Pixels of CSS. */
  readonly clientWidth: number;
  getContext(kind: "2d"): Brush | null;
}

export function brushOf(surface: Surface): Brush {
  const brush = surface.getContext("2d");
  if (brush === null) throw new Error("this browser cannot draw on a canvas");
  return brush;
}

const fonts = new WeakMap<Brush, { readonly wanted: string; readonly set: string }>();

/**
 * Sets a font unless it is set already: with each setting the browser works out the style of the
 * whole page before it goes on, even where the font stays.
 */
export function setFont(brush: Brush, font: string): void {
  const last = fonts.get(brush);
  // A canvas that was given another size has forgotten its font.
  if (last?.wanted === font && last.set === brush.font) return;
  brush.font = font;
  fonts.set(brush, { wanted: font, set: brush.font });
}

/**
 * A canvas that has as many pixels as its place on the screen. That is measured when it changes, not
 * when something is drawn: then the browser would lay out the page in the middle of a frame.
 */
export class FittedCanvas implements Surface {
  private cssWidth = 1;
  private cssHeight = 1;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly host: HTMLElement,
  ) {}

  get width(): number {
    return this.canvas.width;
  }

  get height(): number {
    return this.canvas.height;
  }

  get clientWidth(): number {
    return this.cssWidth;
  }

  get clientHeight(): number {
    return this.cssHeight;
  }

  getContext(kind: "2d"): Brush | null {
    return this.canvas.getContext(kind);
  }

  /** Measures its place; a canvas that gets another size is empty until something is drawn. */
  fit(): void {
    const ratio = globalThis.devicePixelRatio || 1;
    this.cssWidth = Math.max(this.host.clientWidth, 1);
    this.cssHeight = Math.max(this.host.clientHeight, 1);
    const width = Math.max(1, Math.round(this.cssWidth * ratio));
    const height = Math.max(1, Math.round(this.cssHeight * ratio));
    if (this.canvas.width === width && this.canvas.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
  }
}
