import * as Plot from "@observablehq/plot";

import { FAINT, lineColour, MUTED, SURFACE } from "../../base/palette";
import { chart, type Chart } from "../../base/plot";
import { actorColour } from "../../timeline/colours";
import type { Panel, Workspace } from "../panel";
import type { OverTime, Series } from "./answers";
import { address, Answer, askDocument, nothing } from "./answer";
import { choice, labelled, make } from "./elements";
import { link, reveal } from "./actors";
import { pointing } from "./pointing";
import { linear, niceStep, timeTicks } from "./scales";
import { WindowMark } from "./window-mark";
import { moment, rate, share } from "./words";

const HEIGHT = 280;
const LEFT = 62;
const RIGHT = 16;
const TOP = 14;
const BOTTOM = 32;
const MOST_BINS = 400;
const PIXELS_A_BIN = 4;
const COLOURS = 6;

interface Kind {
  readonly id: string;
  readonly title: string;
  readonly label: string;
  /** Whether the lines of a chart add up to something. */
  readonly stacked: boolean;
  readonly amount: (value: number) => string;
}

/** The load of the CPUs over time, by actor or by CPU. */
export const load: Panel = overTime({
  id: "load",
  title: "CPU load",
  label: "CPU load over time",
  stacked: true,
  amount: share,
});

/** How often the CPUs went from one task to another, over time. */
export const switches: Panel = overTime({
  id: "switches",
  title: "Context switches",
  label: "Context switches a second over time",
  stacked: false,
  amount: rate,
});

function overTime(kind: Kind): Panel {
  return {
    id: kind.id,
    title: kind.title,
    mount(host, workspace) {
      const stage = make("div", { class: "view-stage" });
      const picture = make("div", { class: "view-picture" });
      const legend = make("div", { class: "view-legend" });
      const by = labelled(
        "Of",
        choice(
          [
            ["actors", "actors"],
            ["names", "names of actors"],
            ["cpus", "CPUs"],
          ],
          lineKind(workspace, kind),
          (value) => {
            workspace.setParameter(`${kind.id}-of`, value === "actors" ? null : value);
            answer.again();
          },
        ),
      );
      host.append(make("div", { class: "view-bar" }, by), stage, legend);
      stage.append(picture);
      const mark = new WindowMark(stage);
      let found: OverTime | null = null;
      const draw = (): void => {
        if (found === null || stage.clientWidth < 50) return;
        const lines = linesOf(found, lineKind(workspace, kind));
        picture.replaceChildren(drawing(kind, found, lines, stage.clientWidth, workspace));
        legend.replaceChildren(...key(kind, found, lines, workspace));
        markWindow();
      };
      const markWindow = (): void => {
        if (found === null) return;
        const [from, to] = [LEFT, stage.clientWidth - RIGHT];
        mark.show(workspace.selection.value.view, linear(found.begin, found.end, from, to, []), from, to);
      };
      const answer = new Answer<OverTime>(
        picture,
        (signal) =>
          askDocument(
            address(workspace, kind.id, {
              bins: Math.max(20, Math.min(MOST_BINS, Math.floor(stage.clientWidth / PIXELS_A_BIN))),
              by_name: lineKind(workspace, kind) === "names",
              top: COLOURS,
            }),
            signal,
          ),
        (now) => {
          found = now;
          draw();
        },
      );
      answer.again();
      const endPointing = pointing(stage, kind.label, () =>
        found === null ? null : points(kind, found, stage.clientWidth, workspace),
      );
      const resized = new ResizeObserver(draw);
      resized.observe(stage);
      const unsubscribe = workspace.selection.subscribe((_, changed) => {
        if (changed.range) answer.again();
        if (changed.place || changed.actor) draw();
        else if (changed.view) markWindow();
      });
      return () => {
        unsubscribe();
        resized.disconnect();
        endPointing();
        answer.stop();
      };
    },
  };
}

function lineKind(workspace: Workspace, { id }: Kind): string {
  const wanted = workspace.parameter(`${id}-of`);
  return wanted === "cpus" || wanted === "names" ? wanted : "actors";
}

function linesOf(found: OverTime, kind: string): readonly Series[] {
  if (kind === "cpus") return found.cpus;
  return found.others === null ? found.actors : [...found.actors, found.others];
}

interface Corner {
  readonly line: number;
  readonly time: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Steps of the bins, as corners: each value reaches from the begin of its bin to its end, and
 * stands on those of the lines before it where they add up.
 */
export function corners(
  { first, width, end }: OverTime,
  lines: readonly Series[],
  stacked: boolean,
): Corner[] {
  const below: number[] = [];
  return lines.flatMap(({ values }, line) =>
    values.flatMap((value, bin) => {
      const low = stacked ? (below[bin] ?? 0) : 0;
      const high = low + value;
      below[bin] = high;
      return [
        { line, time: first + bin * width, low, high },
        { line, time: Math.min(end, first + (bin + 1) * width), low, high },
      ];
    }),
  );
}

function drawing(
  kind: Kind,
  found: OverTime,
  lines: readonly Series[],
  width: number,
  workspace: Workspace,
): Chart {
  const bins = corners(found, lines, kind.stacked);
  const colour = ({ line }: Corner): string => colourOf(found, lines, line, workspace);
  const { place, actor } = workspace.selection.value;
  // When the actor that is brought out has a line, the others step back.
  const own = actor === null ? -1 : lines.findIndex(({ ids }) => ids.includes(actor));
  const faded = ({ line }: Corner): number => (own < 0 || line === own ? 0.9 : 0.3);
  const top = topOf(kind, found, lines);
  const step = niceStep(0, top, 5);
  const across = Math.max(2, Math.floor((width - LEFT - RIGHT) / 110));
  const ticks = timeTicks(found.begin, found.end, across);
  return chart(`${kind.label}: ${lines.map(({ name }) => name).join(", ")}`, {
    width,
    height: HEIGHT,
    marginLeft: LEFT,
    marginRight: RIGHT,
    marginTop: TOP,
    marginBottom: BOTTOM,
    x: { domain: [found.begin, found.end], axis: null },
    y: { domain: [0, top], axis: null },
    marks: [
      Plot.gridY({ stroke: FAINT, strokeOpacity: 1, ticks: multiples(step, top) }),
      Plot.axisY({ ticks: multiples(step, top), tickFormat: kind.amount, tickSize: 0, color: MUTED, label: null }),
      Plot.axisX({
        ticks: ticks.map(({ value }) => value),
        tickFormat: (value: number) => ticks.find((tick) => tick.value === value)?.text ?? "",
        tickSize: 4,
        color: MUTED,
        label: null,
      }),
      kind.stacked
        ? Plot.areaY(bins, {
            x: "time",
            y1: "low",
            y2: "high",
            z: "line",
            fill: colour,
            fillOpacity: faded,
            // Two of one colour are still two.
            stroke: SURFACE,
            strokeWidth: 0.6,
          })
        : Plot.lineY(bins, {
            x: "time",
            y: "high",
            z: "line",
            stroke: colour,
            strokeOpacity: faded,
            strokeWidth: 1.3,
          }),
      ...(place === null ? [] : [Plot.ruleX([place.time], { stroke: "var(--accent)", clip: true })]),
      Plot.ruleY([0], { stroke: "var(--rule-strong)" }),
    ],
  });
}

function multiples(step: number, top: number): number[] {
  const ticks: number[] = [];
  for (let at = 0; at * step <= top * 1.0001; at += 1) ticks.push(at * step);
  return ticks;
}

/** The top of the axis: of what adds up the sum, of all else the largest. */
export function topOf(kind: { readonly stacked: boolean }, found: OverTime, lines: readonly Series[]): number {
  const bins = found.everything.values.length;
  let top = 0;
  for (let bin = 0; bin < bins; bin += 1) {
    const values = lines.map(({ values: all }) => all[bin] ?? 0);
    top = Math.max(top, kind.stacked ? values.reduce((a, b) => a + b, 0) : Math.max(...values));
  }
  return top > 0 ? top * 1.02 : 1;
}

/** An actor has its colour of the timeline. The rest together is grey: it is no actor. */
export function colourOf(
  { others }: Pick<OverTime, "others">,
  lines: readonly Series[],
  line: number,
  { rowOf }: Pick<Workspace, "rowOf">,
): string {
  if (others !== null && lines[line] === others) return "var(--rule-strong)";
  const first = lines[line]?.ids[0];
  const row = first === undefined ? null : rowOf(first);
  return row === null ? lineColour(line) : `var(${actorColour(row.kind, row.name)})`;
}

/** The CPU on which the most happened in a bin. */
function busiest({ cpus }: OverTime, bin: number): number | null {
  const [first] = [...cpus].sort((a, b) => (b.values[bin] ?? 0) - (a.values[bin] ?? 0));
  return first === undefined ? null : Number(first.name.replace("cpu ", ""));
}

function key(
  kind: Kind,
  found: OverTime,
  lines: readonly Series[],
  workspace: Workspace,
): Node[] {
  if (lines.length === 0) return [nothing("Nothing ran in this span.")];
  return lines.map((line, at) => {
    const swatch = make("span", { class: "view-swatch", "aria-hidden": "true" });
    swatch.style.background = colourOf(found, lines, at, workspace);
    const text = `${line.name} ${kind.amount(line.whole)}`;
    const first = line.ids[0];
    const name =
      first === undefined
        ? make("span", {}, text)
        : link(text, () => {
            workspace.selection.setActor(first);
          }, "Bring it out in all views");
    return make("span", { class: "view-key" }, swatch, name);
  });
}

function points(kind: Kind, found: OverTime, width: number, workspace: Workspace) {
  const x = linear(found.begin, found.end, LEFT, width - RIGHT, []);
  const lines = linesOf(found, lineKind(workspace, kind));
  const top = topOf(kind, found, lines);
  const y = linear(0, top, HEIGHT - BOTTOM, TOP, []);
  const bins = found.everything.values.length;
  const timeOf = (bin: number): number => found.first + bin * found.width;
  const heights = (bin: number): number[] => lines.map(({ values }) => values[bin] ?? 0);
  return {
    length: bins,
    nearest: (at: number): number => {
      const bin = Math.floor((x.value(at) - found.first) / found.width);
      return bin >= 0 && bin < bins ? bin : -1;
    },
    place: (bin: number) => {
      const values = heights(bin);
      const height = kind.stacked ? values.reduce((a, b) => a + b, 0) : Math.max(0, ...values);
      return { x: x.at(Math.min(found.end, timeOf(bin) + found.width / 2)), y: y.at(height) };
    },
    text: (bin: number): string => {
      const foremost = heights(bin)
        .map((value, line) => ({ value, name: lines[line]?.name ?? "" }))
        .filter(({ value }) => value > 0)
        .sort((a, b) => b.value - a.value)
        .slice(0, COLOURS);
      return [moment(timeOf(bin)), ...foremost.map(({ value, name }) => `${name} ${kind.amount(value)}`)].join("\n");
    },
    choose: (bin: number): void => {
      const begin = timeOf(bin);
      reveal(workspace, null, begin, Math.min(found.end, begin + found.width), busiest(found, bin));
    },
    span: (from: number, to: number) => ({ begin: x.value(from), end: x.value(to) }),
    chooseSpan: (span: { readonly begin: number; readonly end: number }): void => {
      workspace.selection.setRange(span);
    },
  };
}
