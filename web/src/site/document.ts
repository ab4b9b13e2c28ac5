import { failed, okay, type Result } from "../base/result";

/** What a static site shows, as `benchvise.report.site` writes it. */
export interface SiteDocument {
  readonly format: 1;
  readonly title: string;
  readonly metrics: readonly SiteMetric[];
  readonly boards: readonly SiteBoard[];
}

export interface SiteMetric {
  readonly id: string;
  readonly key: string;
  readonly unit: string;
  readonly better: "higher" | "lower";
}

export interface SiteBoard {
  readonly id: string;
  readonly name: string;
  readonly simulated: boolean;
  readonly facts: readonly { readonly name: string; readonly text: string }[];
  readonly values: readonly SiteValue[];
  readonly gaps: readonly { readonly metric: string; readonly na: string }[];
}

/** The median with its 95 % interval, in the unit of the metric. */
export interface SiteValue {
  readonly metric: string;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly stable: boolean;
  /** How far processes of the run differ, as a share; null when there was only one. */
  readonly noise_floor: number | null;
}

export function parseSite(text: string): Result<SiteDocument> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return failed(`the data of this site cannot be read: ${String(error)}`);
  }
  if (typeof parsed !== "object" || parsed === null || !("format" in parsed)) {
    return failed("the data of this page is none of a site");
  }
  if (parsed.format !== 1) {
    return failed(`the data of this site has format ${String(parsed.format)}, expected 1`);
  }
  return okay(parsed as SiteDocument);
}
