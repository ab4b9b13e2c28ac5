/** Response times side by side, as `benchvise.report.histograms` writes them; all in ns. */
export interface ResponseFigure {
  readonly id: string;
  /** In the order of their styles. */
  readonly conditions: readonly string[];
  readonly rows: readonly ResponseRow[];
}

/** What is compared with itself under several conditions. */
export interface ResponseRow {
  readonly name: string;
  readonly lines: readonly ResponseLine[];
}

export interface ResponseLine {
  readonly name: string;
  readonly condition: string;
  /** Index of the colour. */
  readonly style: number;
  readonly count: number;
  readonly missed: number;
  readonly median: number;
  /** The ends of the median's 95 % interval. */
  readonly low: number | null;
  readonly high: number | null;
  readonly p05: number;
  readonly p95: number;
  readonly minimum: number;
  readonly maximum: number;
  /** Of its median to the row's first, with its interval. */
  readonly ratio: readonly [value: number, low: number, high: number] | null;
  /** The bins that hold anything, by rising time. */
  readonly steps: readonly ResponseStep[];
  /** The shortest and the longest times, one by one. */
  readonly far: readonly number[];
}

/** The share of all times that lie from `low` to `high`. */
export interface ResponseStep {
  readonly low: number;
  readonly high: number;
  readonly share: number;
}
