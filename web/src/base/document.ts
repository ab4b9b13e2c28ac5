import type { DiagnosisFigures } from "./diagnosis";
import type { HealthFigures } from "./health";
import type { ResponseFigure } from "./responses";
import { failed, okay, type Result } from "./result";

/**
 * What the charts draw, as `benchvise.report.figures` writes it into the page. Field names and units
 * are those of the Python side.
 */
export interface ReportDocument {
  readonly format: 1;
  readonly curves: readonly CurveFigure[];
  readonly latencies: readonly LatencyFigure[];
  readonly samples: readonly SampleFigure[];
  readonly changes: readonly ChangeFigure[];
  readonly bars?: readonly BarFigure[];
  readonly grids?: readonly GridFigure[];
  /** Of the pages of the workbench about one series. */
  readonly evidence?: readonly EvidenceFigure[];
  readonly histories?: readonly HistoryFigure[];
  /** Of the evidence page only, which has nothing of the others. */
  readonly diagnosis?: DiagnosisFigures;
  /** Of a board's health page only. */
  readonly health?: HealthFigures;
  /** Where response times of signals were measured. */
  readonly responses?: readonly ResponseFigure[];
}

/** Values of several lines over one parameter that is a size or a count. */
export interface CurveFigure {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  /** What runs along the x axis. */
  readonly x_name: string;
  /** Whether that is a number of bytes, or of anything else. */
  readonly x_kind: "size" | "count";
  readonly y_scale: "linear" | "log";
  /** Whether lines are named at their ends, or by a legend outside of the chart. */
  readonly name_lines: boolean;
  readonly caches: readonly Cache[];
  readonly lines: readonly CurveLine[];
}

export interface Cache {
  readonly name: string;
  readonly size: number;
}

export interface CurveLine {
  readonly name: string;
  /** Index of the colour and marker, so that one thing looks alike in all charts. */
  readonly style: number;
  /** True when the probe gave a caveat: these numbers do not mean what the axis says. */
  readonly caveat: boolean;
  readonly points: readonly CurvePoint[];
}

export interface CurvePoint {
  readonly x: number;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly stable: boolean;
  readonly n: number;
}

/** Histograms of latencies on common axes. */
export interface LatencyFigure {
  readonly id: string;
  readonly title: string;
  /** What runs along the x axis; a latency where nothing is said. */
  readonly x_name?: string;
  readonly lines: readonly LatencyLine[];
}

export interface LatencyLine {
  readonly name: string;
  /** Index of the colour and marker. */
  readonly style: number;
  readonly latencies: Latencies;
}

export interface Latencies {
  readonly count: number;
  /** Both in ns. */
  readonly minimum: number;
  readonly maximum: number;
  /** By rising latency; those that hold nothing are left out. */
  readonly steps: readonly LatencyStep[];
}

/** The share of all latencies that lie from `low` to `high` ns. */
export interface LatencyStep {
  readonly low: number;
  readonly high: number;
  readonly share: number;
}

/** Every sample of one series. */
export interface SampleFigure {
  readonly id: string;
  readonly name: string;
  readonly unit: string;
  readonly stable: boolean;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** In the order in which they were measured. */
  readonly samples: readonly SamplePoint[];
}

export interface SamplePoint {
  readonly process: number;
  readonly value: number;
  /** What polluted this batch; empty when nothing did. */
  readonly flags: readonly string[];
}

/** Ratios of one run to the base run, the largest change first. */
export interface ChangeFigure {
  readonly id: string;
  readonly base: string;
  readonly other: string;
  readonly rows: readonly ChangeRow[];
}

export interface ChangeRow {
  readonly name: string;
  readonly verdict: Verdict;
  readonly better: "higher" | "lower";
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  /** Changes up to this share are seen between runs of the same board. */
  readonly noise_floor: number;
  /** True when the probe gave a caveat, in either run. */
  readonly caveat: boolean;
}

/** The series of one benchmark as bars, the runs of a series next to each other. */
export interface BarFigure {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly rows: readonly BarRow[];
}

export interface BarRow {
  readonly name: string;
  readonly bars: readonly Bar[];
}

export interface Bar {
  /** Index of the colour: that of the run. */
  readonly style: number;
  readonly run: string;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** The best batch of all. */
  readonly best: number;
  readonly stable: boolean;
  readonly caveat: boolean;
  readonly n: number;
}

/** What a switch of context costs by number and size of processes. */
export interface GridFigure {
  readonly id: string;
  readonly title: string;
  readonly run: string;
  readonly unit: string;
  /** Both rising. */
  readonly processes: readonly number[];
  readonly sizes: readonly number[];
  readonly places: readonly GridPlace[];
  readonly steps: readonly GridStep[];
  readonly caches: readonly Cache[];
}

export interface GridPlace {
  readonly processes: number;
  readonly size: number;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly stable: boolean;
}

/** Processes of `size` stop fitting a cache together between these two numbers of them. */
export interface GridStep {
  readonly size: number;
  readonly low: number;
  readonly high: number;
}

/** The samples of a series, and what else was read at each of them. */
export interface EvidenceFigure {
  readonly id: string;
  readonly samples: SampleFigure;
  readonly strips: readonly Strip[];
}

export interface Strip {
  readonly name: string;
  readonly unit: string;
  /** One a sample; null where it could not be had. */
  readonly values: readonly (number | null)[];
}

/** One series over all runs that measured it, a line for each board. */
export interface HistoryFigure {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly better: "higher" | "lower";
  /** Whether runs stand in their order or by their time. */
  readonly by: "order" | "time";
  readonly lines: readonly HistoryLine[];
}

export interface HistoryLine {
  readonly name: string;
  readonly style: number;
  readonly points: readonly HistoryPoint[];
  readonly levels: readonly HistoryLevel[];
  readonly changes: readonly HistoryChange[];
}

export interface HistoryPoint {
  /** The number of the run in the picture, from 1; runs of all boards are counted together. */
  readonly order: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly name: string;
  readonly url: string;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly stable: boolean;
  readonly n: number;
}

/** The median of the runs between two changes, from and to these points of the line. */
export interface HistoryLevel {
  readonly first: number;
  readonly last: number;
  readonly median: number;
}

/** Between the point before `at` and that one the values changed. */
export interface HistoryChange {
  readonly at: number;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly verdict: "faster" | "slower";
}

/** As `benchvise.measure.compare` words them; what is not comparable has no ratio to draw. */
export type Verdict = "faster" | "slower" | "no difference shown" | "unstable";

/** Reads the page's data; the format number guards against a page and script of two versions. */
export function parseDocument(text: string): Result<ReportDocument> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return failed(`the data of this page cannot be read: ${String(error)}`);
  }
  if (typeof parsed !== "object" || parsed === null || !("format" in parsed)) {
    return failed("the data of this page is not a report");
  }
  if (parsed.format !== 1) {
    return failed(`the data of this page has format ${String(parsed.format)}, expected 1`);
  }
  return okay(parsed as ReportDocument);
}
