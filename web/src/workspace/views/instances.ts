import type { Columns } from "../../base/arrow";
import { onMediaChange } from "../../base/media";
import type { Panel, Workspace } from "../panel";
import { actorField, reveal } from "./actors";
import { address, Answer, columns, nothing } from "./asking";
import { choice, labelled, make, tick } from "./elements";
import { pointing } from "./pointing";
import { type Axes, type Cloud, nearest, paint, plan, type Plan } from "./scatter";
import { count, duration, moment, plural } from "./words";

const HEIGHT = 300;
const FIGURES = ["execution", "response", "latency", "period"] as const;

type Figure = (typeof FIGURES)[number];

const NAMES: Readonly<Record<Figure | "begin", string>> = {
  begin: "time",
  execution: "execution time",
  response: "response time",
  latency: "start latency",
  period: "period",
};

interface InstanceColumns {
  readonly length: number;
  readonly figures: Readonly<Record<Figure | "begin", Float64Array>>;
  readonly actor: Uint32Array;
  readonly cpu: Uint16Array;
  readonly flags: Uint8Array;
  readonly stands: Uint32Array;
  readonly end: Float64Array;
  readonly ready: Float64Array;
}

/** The instances of an actor as points: any figure over time, or over another. */
export const instances: Panel = {
  id: "instances",
  title: "Instances",
  mount(host, workspace) {
    const [field, updateField] = actorField(workspace, "all tasks and handlers");
    const stage = make("div", { class: "view-stage instances" });
    const note = make("p", { class: "view-note", role: "status" });
    const again = (): void => {
      answer.again();
    };
    const bar = make(
      "div",
      { class: "view-bar" },
      field,
      figureField(workspace, "Upwards", "y", FIGURES, again),
      figureField(workspace, "Across", "x", ["begin", ...FIGURES], again),
      tick("Logarithmic", isLog(workspace), (on) => {
        workspace.setParameter("instances-linear", on ? null : "1");
        again();
      }),
    );
    host.append(bar, stage, note);
    const view = new View(stage, workspace);
    const answer = new Answer<InstanceColumns>(
      note,
      async (signal) => {
        const where = address(workspace, "instances", {
          actor: workspace.selection.value.actor,
          x: figureOf(workspace, "x"),
          y: figureOf(workspace, "y"),
          scale: isLog(workspace) ? "log" : "linear",
          width: Math.max(200, stage.clientWidth),
          height: HEIGHT,
        });
        const answered = await columns(where, WANTED, signal);
        return answered.ok ? { ok: true, value: read(answered.value) } : answered;
      },
      (points) => {
        view.show(points);
        note.replaceChildren(nothing(summary(points)));
      },
    );
    answer.again();
    const resized = new ResizeObserver(() => {
      view.draw();
    });
    resized.observe(stage);
    const mounted = new AbortController();
    onMediaChange(() => {
      view.draw();
    }, mounted.signal);
    const unsubscribe = workspace.selection.subscribe((_, changed) => {
      if (changed.actor) updateField();
      if (changed.range || changed.actor) answer.again();
      if (changed.place) view.draw();
    });
    return () => {
      unsubscribe();
      resized.disconnect();
      mounted.abort();
      answer.stop();
      view.stop();
    };
  },
};

const isLog = (workspace: Workspace): boolean => workspace.parameter("instances-linear") !== "1";

function figureOf(workspace: Workspace, axis: "x" | "y"): Figure | "begin" {
  const wanted = workspace.parameter(`instances-${axis}`);
  const choices = axis === "x" ? (["begin", ...FIGURES] as const) : FIGURES;
  return choices.find((name) => name === wanted) ?? (axis === "x" ? "begin" : "execution");
}

function figureField(
  workspace: Workspace,
  name: string,
  axis: "x" | "y",
  figures: readonly (Figure | "begin")[],
  changed: () => void,
): HTMLElement {
  const options = figures.map((figure) => [figure, NAMES[figure]] as const);
  return labelled(
    name,
    choice(options, figureOf(workspace, axis), (value) => {
      workspace.setParameter(`instances-${axis}`, value);
      changed();
    }),
  );
}

const WANTED = ["actor", "cpu", "flags", "count", "begin", "end", "ready", ...FIGURES];

function read(table: Columns): InstanceColumns {
  const numbers = (name: string): Float64Array => table.get(name, Float64Array);
  return {
    length: table.length,
    figures: {
      begin: numbers("begin"),
      execution: numbers("execution"),
      response: numbers("response"),
      latency: numbers("latency"),
      period: numbers("period"),
    },
    actor: table.get("actor", Uint32Array),
    cpu: table.get("cpu", Uint16Array),
    flags: table.get("flags", Uint8Array),
    stands: table.get("count", Uint32Array),
    end: numbers("end"),
    ready: numbers("ready"),
  };
}

function summary(points: InstanceColumns): string {
  if (points.length === 0) return "No instance begins in this span, or none has both figures.";
  const all = points.stands.reduce((sum, each) => sum + each, 0);
  const incomplete = points.flags.reduce((sum, flags) => sum + Number(flags !== 0), 0);
  const apart = all > points.length ? `, of which ${count(points.length)} can be told apart here` : "";
  const doubt = incomplete > 0 ? ` ${plural(incomplete, "hollow square")}: cut by an end of the trace, or events are missing.` : "";
  return `${plural(all, "instance")}${apart}. A click moves the timeline, a drag over time chooses a range.${doubt}`;
}

class View {
  private points: InstanceColumns | null = null;
  private chart: Plan | null = null;
  private cloud: Cloud | null = null;
  private readonly canvas = make("canvas", { "aria-hidden": "true" });
  readonly stop: () => void;

  constructor(
    private readonly stage: HTMLElement,
    private readonly workspace: Workspace,
  ) {
    stage.append(this.canvas);
    this.stop = pointing(stage, "Instances", () => {
      const { points, chart, cloud } = this;
      if (points === null || chart === null || cloud === null) return null;
      const over = figureOf(workspace, "x") === "begin";
      return {
        length: cloud.length,
        nearest: (x, y) => nearest(cloud, chart, x, y),
        place: (point) => ({ x: chart.x.at(cloud.x[point] ?? 0), y: chart.y.at(cloud.y[point] ?? 0) }),
        text: (point) => this.text(points, point),
        choose: (point) => {
          const begin = points.figures.begin[point] ?? 0;
          const ready = points.ready[point] ?? NaN;
          reveal(
            workspace,
            points.actor[point] ?? null,
            Number.isFinite(ready) ? Math.min(ready, begin) : begin,
            points.end[point] ?? begin,
          );
        },
        span: over ? (from, to) => ({ begin: chart.x.value(from), end: chart.x.value(to) }) : null,
        chooseSpan: (span) => {
          workspace.selection.setRange(span);
        },
      };
    });
  }

  show(points: InstanceColumns): void {
    this.points = points;
    this.draw();
  }

  draw(): void {
    const { points, workspace } = this;
    if (points === null) return;
    const [x, y] = [figureOf(workspace, "x"), figureOf(workspace, "y")];
    this.cloud = {
      length: points.length,
      x: points.figures[x],
      y: points.figures[y],
      flags: points.flags,
    };
    const { range, place } = workspace.selection.value;
    const axes: Axes = {
      time: x === "begin",
      xDomain: range === null ? [0, workspace.info.duration] : [range.begin, range.end],
      log: isLog(workspace),
    };
    this.chart = plan(this.cloud, axes, this.stage.clientWidth, HEIGHT);
    paint(this.canvas, this.cloud, this.chart, axes.time ? (place?.time ?? null) : null);
  }

  private text(points: InstanceColumns, point: number): string {
    const { figures } = points;
    const figure = (name: Figure): string => `${NAMES[name]} ${duration(figures[name][point])}`;
    const more = (points.stands[point] ?? 1) - 1;
    return [
      this.workspace.actorName(points.actor[point] ?? 0),
      `${moment(figures.begin[point] ?? 0)}, CPU ${points.cpu[point] ?? 0}`,
      ...FIGURES.map(figure),
      ...((points.flags[point] ?? 0) !== 0 ? ["incomplete"] : []),
      ...(more > 0 ? [`and ${count(more)} more here`] : []),
    ].join("\n");
  }
}
