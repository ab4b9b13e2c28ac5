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
