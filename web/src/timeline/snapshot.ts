/** A timeline as one SVG picture: what its canvases and the elements on top of them show. */

import type { ArrowShape } from "./arrows";
import { AxisView } from "./axis-view";
import type { Surface } from "./brush";
import type { FlagMark } from "./flags";
import type { Elements } from "./frame";
import { Names, type NamesScene } from "./names";
import { type FlagBox, flagBoxes, type Frame as StageFrame, frameOf } from "./overlay";
import type { Span } from "./span";
import { type Scene, Stage } from "./stage";
import { escaped, shortest, SvgPaper } from "./svg-paper";
import type { Theme } from "./theme";
import type { Ticks } from "./ticks";
import { formatLength } from "./time-format";

/** What a timeline shows at a moment, but for its pointer. */
export interface Drawn {
  readonly scene: Scene;
  readonly frame: StageFrame;
  readonly ticks: Ticks;
  readonly flags: readonly FlagMark[];
  /** What a search found: times, ascending. */
  readonly found: Float64Array;
  readonly arrows: readonly ArrowShape[];
  readonly range: Span | null;
  /** From where to where across time, of a range of some rows. */
  readonly across: readonly [number, number] | null;
  /** What is chosen, and where its bar is across time. */
  readonly item: Span | null;
  readonly bar: readonly [number, number];
}

/** A part of a picture: an element of SVG of some size, pixels of CSS. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly content: string;
}

/** A rectangle, pixels of CSS. */
interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** What lies on top of the bars. */
export interface Marked {
  readonly range: Rectangle | null;
  readonly rangeText: string;
  readonly chosen: Rectangle | null;
  readonly flags: readonly FlagBox[];
  readonly arrows: readonly ArrowShape[];
}

const HEAD_PX = 28;

/** Draws again what the canvases of a timeline show, as one element of SVG of the same size. */
export function pictureOf(
  { scene, frame, ticks, flags, found, arrows, range, across, item, bar }: Drawn,
  elements: Elements,
  names: Pick<NamesScene, "hovered" | "pins">,
  placeOf: (row: number) => readonly [number, number] | null,
): Picture {
  const { root, stage, bars, axis, axisHost, names: namesCanvas, namesHost, corner, mapHost } = elements;
  const { theme, layout, source, scroll, chosen } = scene;
  const whole = root.getBoundingClientRect();
  const skipped = mapHost.offsetHeight;
  const at = (element: HTMLElement): readonly [number, number] => {
    const { left, top } = element.getBoundingClientRect();
    return [Math.round(left - whole.left), Math.round(top - whole.top) - skipped];
  };
  const paperOf = (canvas: Surface): SvgPaper =>
    new SvgPaper(canvas.width, canvas.height, canvas.width / canvas.clientWidth);
  const [onStage, onAxis, onNames] = [paperOf(bars), paperOf(axis), paperOf(namesCanvas)];
  new Stage(onStage).paint(scene);
  const base = { textContent: "" };
  new AxisView(onAxis, base).paint(ticks, frame.view, source.losses, theme, layout.orientation, flags, found);
  new Names(onNames).paint({ layout, scroll, theme, chosen, ...names });
  const [top, bottom] = across ?? [0, frame.cross];
  const marked = markedShapes({
    range: frameOf(range, frame, top, bottom),
    rangeText: range === null ? "" : formatLength(range.end - range.begin),
    chosen: frameOf(item, frame, bar[0] - 2, bar[1] + 2),
    flags: flagBoxes(flags, placeOf, frame),
    arrows,
  }, theme);
  const [x, y] = at(stage);
  const [left, above] = at(corner);
  return {
    width: root.clientWidth,
    height: root.clientHeight - skipped,
    content: [
      onAxis.element(...at(axisHost)), onNames.element(...at(namesHost)), onStage.element(x, y),
      `<svg x="${x}" y="${y}" width="${stage.clientWidth}" height="${stage.clientHeight}" overflow="hidden">${marked}</svg>`,
      textAt(base.textContent, left + 12, above + corner.offsetHeight - 11, theme, `fill="${escaped(theme.muted)}"`),
    ].join("\n"),
  };
}

/** What lies on top of the bars, as elements of SVG. */
export function markedShapes({ range, rangeText, chosen, flags, arrows }: Marked, theme: Theme): string {
  const box = ({ x, y, width, height }: Rectangle, look: string): string =>
    `<rect x="${shortest(x)}" y="${shortest(y)}" width="${shortest(width)}" height="${shortest(height)}" ${look}/>`;
  const accent = escaped(theme.accent);
  return [
    ...(range === null ? [] : [
      box(range, `fill="${accent}" fill-opacity="0.13" stroke="${accent}"`),
      textAt(rangeText, range.x + range.width / 2, range.y + 15, theme, `fill="${accent}" text-anchor="middle" font-weight="600"`),
    ]),
    ...flags.map((flag) => box(flag,
      `fill="${escaped(theme.flag)}" fill-opacity="0.09" stroke="${escaped(flag.chosen ? theme.ink : theme.flag)}"${flag.chosen ? "" : ' stroke-dasharray="4 3"'}`)),
    ...(chosen === null ? [] : [box(chosen, `fill="none" stroke="${escaped(theme.ink)}" stroke-width="2" rx="2"`)]),
    ...arrows.map(({ kind, line, head }) =>
      `<g${kind === "path" ? ' opacity="0.55"' : ""}><path d="${line}" fill="none" stroke="${escaped(theme.ink)}" stroke-width="1.6"` +
      `${kind === "effect" ? ' stroke-dasharray="5 3"' : ""}/><path d="${head}" fill="${escaped(theme.ink)}"/></g>`),
  ].join("\n");
}

/** An SVG file of pictures, one below the other, each below its title. */
export function svgFile(pictures: readonly (Picture & { readonly title: string })[], theme: Theme): string {
  let top = 0;
  const parts = pictures.map(({ title, height, content }) => {
    const at = top;
    top += HEAD_PX + height;
    return `${textAt(title, 12, at + 19, theme, `fill="${escaped(theme.ink)}"`)}<g transform="translate(0 ${at + HEAD_PX})">${content}</g>`;
  });
  const width = Math.max(...pictures.map((picture) => picture.width));
  const size = `width="${width}" height="${top}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${width} ${top}">` +
    `<title>${escaped(pictures.map(({ title }) => title).join("; "))}</title>` +
    `<rect ${size} fill="${escaped(theme.page)}"/>${parts.join("\n")}</svg>\n`;
}

export const textAt = (text: string, x: number, y: number, theme: Theme, look: string): string =>
  `<text x="${shortest(x)}" y="${shortest(y)}" font-family="${escaped(theme.sans)}" font-size="12" ${look}>${escaped(text)}</text>`;

/** The same picture as a PNG file, `ratio` pixels to one of CSS. */
export async function pngOf(svg: string, ratio: number): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * ratio;
  canvas.height = image.naturalHeight * ratio;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error("the browser cannot make a picture of this size"));
      else resolve(blob);
    }, "image/png");
  });
}
