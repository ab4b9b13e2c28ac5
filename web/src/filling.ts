import type { ReportDocument } from "./base/document";
import type { DiagnosisFigures } from "./base/diagnosis";
import type { HealthFigures } from "./base/health";
import type { Chart } from "./base/plot";
import { bars } from "./charts/bars";
import { changes } from "./charts/changes";
import { counted } from "./charts/counted";
import { curve } from "./charts/curve";
import { distribution } from "./charts/distribution";
import { evidence } from "./charts/evidence";
import { grid } from "./charts/grid";
import { happenings } from "./charts/happenings";
import { histogram } from "./charts/histogram";
import { history } from "./charts/history";
import { ranking } from "./charts/ranking";
import { responses } from "./charts/responses";
import { sensor } from "./charts/sensor";
import { shares } from "./charts/shares";
import { timeorder } from "./charts/timeorder";
import { covariate, trials } from "./charts/trials";

const SAMPLE_HEIGHT = 128;
const SAMPLE_STRIP = 0.34;
// As many rows as a printed page holds: a chart that is one piece would be cut in two.
const ROWS_PER_CHART = 36;

/** Draws into a slot of a given width. */
type Draw = (width: number) => readonly Chart[];

/** What to draw into each slot of the page, by the slot's `data-figure`. */
function drawings(report: ReportDocument): ReadonlyMap<string, Draw> {
  const all = new Map<string, Draw>();
  for (const figure of report.curves) {
    all.set(figure.id, (width) => [curve(figure, width)]);
  }
  for (const figure of report.latencies) {
    all.set(figure.id, (width) => [histogram(figure, width)]);
  }
  for (const figure of report.samples) {
    all.set(figure.id, (width) => {
      const strip = Math.round(width * SAMPLE_STRIP);
      return [
        timeorder(figure, width - strip, SAMPLE_HEIGHT),
        distribution(figure, strip, SAMPLE_HEIGHT),
      ];
    });
  }
  for (const figure of report.changes) {
    all.set(figure.id, (width) => {
      const charts: Chart[] = [];
      for (let at = 0; at < figure.rows.length; at += ROWS_PER_CHART) {
        charts.push(changes(figure, figure.rows.slice(at, at + ROWS_PER_CHART), width));
      }
      return charts;
    });
  }
  for (const figure of report.bars ?? []) all.set(figure.id, (width) => [bars(figure, width)]);
  for (const figure of report.grids ?? []) all.set(figure.id, (width) => [grid(figure, width)]);
  for (const figure of report.evidence ?? []) {
    all.set(figure.id, (width) => evidence(figure, width));
  }
  for (const figure of report.histories ?? []) {
    all.set(figure.id, (width) => [history(figure, width)]);
  }
  for (const figure of report.responses ?? []) {
    all.set(figure.id, (width) => [responses(figure, width)]);
  }
  if (report.diagnosis !== undefined) addDiagnosis(all, report.diagnosis);
  if (report.health !== undefined) addHealth(all, report.health);
  return all;
}

function addHealth(all: Map<string, Draw>, figures: HealthFigures): void {
  for (const figure of figures.counters) all.set(figure.id, (width) => [counted(figure, width)]);
  for (const figure of figures.sensors) all.set(figure.id, (width) => [sensor(figure, width)]);
  const { happenings: what } = figures;
  if (what !== null) all.set(what.id, (width) => [happenings(what, width)]);
}

function addDiagnosis(all: Map<string, Draw>, figures: DiagnosisFigures): void {
  const { trials: measured, shares: parts, ranking: ranked } = figures;
  if (measured !== null) {
    all.set(measured.id, (width) => [
      trials(measured, width),
      ...figures.covariates.map((each) => covariate(each, measured, width)),
    ]);
  }
  if (parts !== null) all.set(parts.id, (width) => [shares(parts, width)]);
  if (ranked !== null) all.set(ranked.id, (width) => [ranking(ranked, width)]);
}

/**
 * Fills every slot; again when its width changes, and for paper with the width it has there. What it
 * returns ends that, for slots that are taken out of the page.
 */
export function fill(page: Document, report: ReportDocument): () => void {
  const all = drawings(report);
  const slots = [...page.querySelectorAll<HTMLElement>("[data-figure]")];
  const redraw = (slot: HTMLElement, width: number): void => {
    const draw = all.get(slot.dataset["figure"] ?? "");
    if (draw === undefined || width < 1 || slot.dataset["width"] === String(width)) return;
    slot.dataset["width"] = String(width);
    slot.replaceChildren(...draw(width));
  };
  const redrawForScreen = (slot: HTMLElement): void => {
    redraw(slot, Math.floor(slot.clientWidth));
  };
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) redrawForScreen(target as HTMLElement);
  });
  for (const slot of slots) {
    redrawForScreen(slot);
    observer.observe(slot);
  }
  // Before it prints, a browser does not tell how wide paper is: the page says what it expects.
  const ended = new AbortController();
  const { signal } = ended;
  const beforePrint = (): void => {
    for (const details of page.querySelectorAll("details")) details.open = true;
    for (const slot of slots) redraw(slot, Number(slot.dataset["paper"] ?? 0));
  };
  addEventListener("beforeprint", beforePrint, { signal });
  addEventListener("afterprint", () => { slots.forEach(redrawForScreen); }, { signal });
  return () => {
    ended.abort();
    observer.disconnect();
  };
}
