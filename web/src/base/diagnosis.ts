/** What the charts of a diagnosis draw, as `benchvise.report.why.figures` writes it. */
export interface DiagnosisFigures {
  readonly trials: TrialsFigure | null;
  readonly covariates: readonly Covariate[];
  readonly shares: SharesFigure | null;
  readonly ranking: RankingFigure | null;
}

/** A side as it is, with a cause flipped, or with anything else flipped. */
export type ArmKind = "good" | "bad" | "repaired" | "broken" | "bad, other" | "good, other";

export interface TrialsFigure {
  readonly id: string;
  readonly unit: string;
  readonly good: number | null;
  readonly bad: number | null;
  readonly points: readonly TrialPoint[];
  readonly phases: readonly Phase[];
  readonly bands: readonly Band[];
}

export interface TrialPoint {
  /** Seconds since the diagnosis began. */
  readonly at: number;
  readonly value: number;
  readonly arm: ArmKind;
  readonly note: string;
  readonly polluted: boolean;
}

/** The stretch of time that one experiment took, in seconds. */
export interface Phase {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Between which values an arm lay while it was confirmed. */
export interface Band {
  readonly arm: ArmKind;
  readonly start: number;
  readonly end: number;
  readonly low: number;
  readonly high: number;
}

export interface Covariate {
  readonly id: string;
  readonly name: string;
  readonly unit: string;
  readonly points: readonly (readonly [at: number, value: number, side: string])[];
}

export interface SharesFigure {
  readonly id: string;
  readonly rows: readonly ShareRow[];
}

export interface ShareRow {
  readonly name: string;
  readonly kind: "cause" | "unexplained";
  /** Where the shares before it end; one is the whole gap. */
  readonly begin: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly text: string;
}

export interface RankingFigure {
  readonly id: string;
  readonly terms: readonly string[];
  readonly rows: readonly RankRow[];
}

export interface RankRow {
  readonly name: string;
  readonly score: number;
  readonly cause: boolean;
  /** In the order of the figure's terms. */
  readonly points: readonly number[];
}
