/**
 * What the charts of a health page draw, as `benchvise.report.health_figures` writes it. Times are
 * milliseconds since 1970.
 */
export interface HealthFigures {
  readonly counters: readonly CountedFigure[];
  readonly happenings: HappeningsFigure | null;
  readonly sensors: readonly SensorFigure[];
}

/** A counter by days or weeks. */
export interface CountedFigure {
  readonly id: string;
  readonly name: string;
  readonly unit: string;
  readonly by: "day" | "week";
  readonly now: number;
  readonly total: number;
  /** In so many periods in a row, up to the last, it rose. */
  readonly rising: number;
  readonly bars: readonly CountedBar[];
}

export interface CountedBar {
  readonly label: string;
  /** Null where nobody looked. */
  readonly rise: number | null;
  /** True where it may have risen in a period before, while nobody looked. */
  readonly late: boolean;
  /** The share of the period that was watched. */
  readonly watched: number;
}

/** What happened when, a row for each class. */
export interface HappeningsFigure {
  readonly id: string;
  readonly began: number;
  readonly ended: number;
  readonly rows: readonly HappeningRow[];
  readonly gaps: readonly Gap[];
}

export interface HappeningRow {
  readonly name: string;
  readonly points: readonly Happening[];
}

export interface Happening {
  readonly at: number;
  readonly last: number;
  readonly count: number;
  /** `failing`, `warning`, `note`, `alert`, or nothing. */
  readonly severity: string;
  readonly text: string;
}

/** A stretch of time that was not watched. */
export interface Gap {
  readonly began: number;
  readonly ended: number;
  readonly why: string;
}

/** A sensor over time. */
export interface SensorFigure {
  readonly id: string;
  readonly name: string;
  readonly unit: string;
  readonly began: number;
  readonly ended: number;
  readonly points: readonly SensorPoint[];
}

/** What a sensor read from `began` to `until`. */
export interface SensorPoint {
  readonly began: number;
  readonly until: number;
  readonly low: number;
  readonly mean: number;
  readonly high: number;
}
