import { save } from "../base/saving";
import { pngOf, svgFile } from "../timeline/snapshot";
import { formatLength, formatTime } from "../timeline/time-format";
import type { TraceView } from "./trace-view";

/** Pixels of a PNG picture to one of CSS: it is looked at on paper, too. */
const SHARPNESS = 2;

/** Saves what the timelines show, below the name of each trace and the span that is seen. */
export async function savePicture(views: readonly TraceView[], kind: "png" | "svg"): Promise<void> {
  const [first] = views;
  if (first === undefined) return;
  const pictures = views.map(({ trace, selection, timeline }) => {
    const { begin, end } = selection.value.view;
    const step = (end - begin) / 1000;
    const title = `${trace.info.name}: ${formatLength(end - begin)} from ${formatTime(begin, step)}`;
    return { ...timeline.picture(), title };
  });
  const svg = svgFile(pictures, first.timeline.colours);
  const name = pictures.map(({ title }) => title).join(" ").replaceAll("\u2009", "").slice(0, 100);
  if (kind === "svg") save(new Blob([svg], { type: "image/svg+xml" }), `${name}.svg`);
  else save(await pngOf(svg, SHARPNESS), `${name}.png`);
}
