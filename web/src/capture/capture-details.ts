import { askJson } from "../base/answers";
import { formatValue } from "../base/units";
import { formatLength, formatTime } from "../timeline/time-format";
import type { Selection } from "../workspace/selection";
import { button, make } from "../workspace/views/elements";

/** What the server tells of one place, `GET item`. Times in ns. */
export type CaptureItem = LevelItem | TextItem;

interface LevelItem {
  readonly kind: "line";
  readonly name: string;
  readonly level: string;
  readonly begin: number;
  readonly end: number;
  /** Which edge began it, counted from 1; 0 is the beginning of the capture. */
  readonly number: number;
  readonly of: number;
  /** From this edge to the next of its kind; null at the ends of a line. */
  readonly period: number | null;
  readonly duty: number | null;
}

interface TextItem {
  readonly kind: "annotation";
  readonly name: string;
  /** Null where nothing was decoded at that time. */
  readonly text: string | null;
  readonly number?: number;
  readonly of?: number;
  readonly begin?: number;
  readonly end?: number;
}

/** What lies in a range, `GET measure`. */
export interface Measured {
  readonly lines: readonly {
    readonly name: string;
    readonly edges: number;
    /** Hz, of the rising edges; null with fewer than two. */
    readonly frequency: number | null;
    readonly high: number;
  }[];
}

type Fact = readonly [name: string, value: string | null];

/** What is chosen and what was measured in the range, beside the timeline. */
export class CaptureDetails {
  readonly element = make("aside", { class: "ws-details", "aria-label": "What is chosen", tabindex: "0" });
  private readonly chosen = make("div");
  private readonly range = make("div", { "aria-live": "polite" });
  private under = new AbortController();

  constructor(
    private readonly api: string,
    private readonly selection: Selection,
    private readonly tick: number,
  ) {
    this.element.append(this.chosen, this.range);
    selection.subscribe((_, changed) => {
      if (changed.place || changed.range) void this.update();
    });
    void this.update();
  }

  private async update(): Promise<void> {
    this.under.abort();
    const { signal } = (this.under = new AbortController());
    const { place, range } = this.selection.value;
    const [item, measured] = await Promise.all([
      place === null ? null : askJson(`${this.api}/item?row=${place.row}&t=${place.time}`, signal),
      range === null ? null : askJson(`${this.api}/measure?begin=${range.begin}&end=${range.end}`, signal),
    ]);
    if (signal.aborted) return;
    if (item === null) this.chosen.replaceChildren(...hints(this.tick));
    else if (item.ok) this.chosen.replaceChildren(...this.itemParts(item.value as CaptureItem));
    else this.chosen.replaceChildren(make("p", { role: "alert" }, item.error));
    if (measured === null || range === null) this.range.replaceChildren();
    else if (measured.ok) {
      this.range.replaceChildren(...rangeParts(range.end - range.begin, measured.value as Measured));
    } else this.range.replaceChildren(make("p", { role: "alert" }, measured.error));
  }

  private itemParts(item: CaptureItem): HTMLElement[] {
    const { begin, end } = item;
    const parts: HTMLElement[] = [make("h2", {}, item.kind === "line" ? `${item.name} is ${item.level}` : (item.text ?? "Nothing here"))];
    if (item.kind === "annotation") parts.push(make("p", {}, item.name));
    parts.push(facts(factsOf(item)));
    if (begin !== undefined && end !== undefined) {
      parts.push(make("div", { class: "ws-acts" },
        button("Show", () => {
          const margin = (end - begin) * 0.4;
          this.selection.look({ begin: begin - margin, end: end + margin });
        }, { title: "In full width" }),
        button("Measure", () => { this.selection.setRange({ begin, end }); },
          { title: "Count edges and frequencies in this span" })));
    }
    return parts;
  }
}

/** Names and values of what is at a place. */
export function factsOf(item: CaptureItem): Fact[] {
  const { begin, end, number, of } = item;
  const lines: Fact[] = begin === undefined || end === undefined ? [] : [
    ["From", formatTime(begin, 1)],
    ["To", formatTime(end, 1)],
    ["Length", formatLength(end - begin)],
  ];
  if (item.kind === "annotation") {
    if (number !== undefined && of !== undefined) lines.push(["Number", `${number + 1} of ${of}`]);
    return lines;
  }
  const { period, duty } = item;
  return [
    ...lines,
    ["Began with", item.number === 0 ? "the capture" : `edge ${item.number} of ${item.of}`],
    ["Period", period === null ? null : formatLength(period)],
    ["Frequency", period === null ? null : formatValue(1e9 / period, "Hz")],
    ["Share of it", duty === null ? null : `${(duty * 100).toFixed(1)} %`],
  ];
}

function rangeParts(length: number, { lines }: Measured): HTMLElement[] {
  const rows = lines.map(({ name, edges, frequency, high }) =>
    make("tr", {},
      make("th", { scope: "row" }, name),
      make("td", { class: "num" }, String(edges)),
      make("td", { class: "num" }, frequency === null ? "–" : formatValue(frequency, "Hz")),
      make("td", { class: "num" }, `${(high * 100).toFixed(1)} %`)));
  const head = make("tr", {}, ...["Line", "Edges", "Frequency", "High"].map((text, at) =>
    make("th", { scope: "col", class: at === 0 ? null : "num" }, text)));
  return [
    make("h3", {}, `In ${formatLength(length)}`),
    make("table", { class: "cp-measured" }, make("thead", {}, head), make("tbody", {}, ...rows)),
  ];
}

function hints(tick: number): HTMLElement[] {
  return [
    make("p", {}, "Click a level or what was decoded for its details. Drag moves; Shift and drag, or a " +
      "drag on the axis, measures; Ctrl and the wheel zooms."),
    facts([["A sample every", formatLength(tick)]]),
  ];
}

/** Names and values, one below the other; what is null is left out. */
function facts(pairs: readonly Fact[]): HTMLElement {
  const rows = pairs.flatMap(([name, value]) =>
    value === null ? [] : [make("dt", {}, name), make("dd", {}, value)]);
  return make("dl", {}, ...rows);
}
