import type { Columns } from "../../base/arrow";
import { onMediaChange } from "../../base/media";
import { actorColour } from "../../timeline/colours";
import type { Panel, Workspace } from "../panel";
import { actorField, reveal } from "./actors";
import { address, Answer, columns, nothing } from "./answer";
import { choice, labelled, make, tick } from "./elements";
import { pointing } from "./pointing";
import { type Axes, type Cloud, LEFT, nearest, paint, plan, type Plan, RIGHT } from "./scatter";
import { WindowMark } from "./window-mark";
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

interface Found {
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
    const answer = new Answer<Found>(
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
        const found = await columns(where, WANTED, signal);
        return found.ok ? { ok: true, value: read(found.value) } : found;
      },
      (found) => {
        view.show(found);
        note.replaceChildren(nothing(summary(found)));
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
      else if (changed.view) view.markWindow();
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

function read(found: Columns): Found {
  const numbers = (name: string): Float64Array => found.get(name, Float64Array);
  return {
    length: found.length,
    figures: {
      begin: numbers("begin"),
      execution: numbers("execution"),
      response: numbers("response"),
      latency: numbers("latency"),
      period: numbers("period"),
    },
    actor: found.get("actor", Uint32Array),
    cpu: found.get("cpu", Uint16Array),
    flags: found.get("flags", Uint8Array),
    stands: found.get("count", Uint32Array),
    end: numbers("end"),
    ready: numbers("ready"),
  };
}

function summary(found: Found): string {
  if (found.length === 0) return "No instance begins in this span, or none has both figures.";
  const all = found.stands.reduce((sum, each) => sum + each, 0);
  const incomplete = found.flags.reduce((sum, flags) => sum + Number(flags !== 0), 0);
  const merged = all > found.length ? `, of which ${count(found.length)} can be told apart here` : "";
  const doubt = incomplete > 0 ? ` ${plural(incomplete, "hollow square")}: cut by an end of the trace, or events are missing.` : "";
  return `${plural(all, "instance")}${merged}. A click moves the timeline, a drag over time chooses a range.${doubt}`;
}

class View {
  private found: Found | null = null;
  private drawn: Plan | null = null;
  private cloud: Cloud | null = null;
  private readonly canvas = make("canvas", { "aria-hidden": "true" });
  private readonly mark: WindowMark;
  readonly stop: () => void;

  constructor(
    private readonly stage: HTMLElement,
    private readonly workspace: Workspace,
  ) {
    stage.append(this.canvas);
    this.mark = new WindowMark(stage);
    this.stop = pointing(stage, "Instances", () => {
      const { found, drawn, cloud } = this;
      if (found === null || drawn === null || cloud === null) return null;
      const over = figureOf(workspace, "x") === "begin";
      return {
        length: cloud.length,
        nearest: (x, y) => nearest(cloud, drawn, x, y),
        place: (point) => ({ x: drawn.x.at(cloud.x[point] ?? 0), y: drawn.y.at(cloud.y[point] ?? 0) }),
        text: (point) => this.text(found, point),
        choose: (point) => {
          const begin = found.figures.begin[point] ?? 0;
          const ready = found.ready[point] ?? NaN;
          reveal(
            workspace,
            found.actor[point] ?? null,
            Number.isFinite(ready) ? Math.min(ready, begin) : begin,
            found.end[point] ?? begin,
          );
        },
        span: over ? (from, to) => ({ begin: drawn.x.value(from), end: drawn.x.value(to) }) : null,
        chooseSpan: (span) => {
          workspace.selection.setRange(span);
        },
      };
    });
  }

  show(found: Found): void {
    this.found = found;
    this.draw();
  }

  draw(): void {
    const { found, workspace } = this;
    if (found === null) return;
    const [x, y] = [figureOf(workspace, "x"), figureOf(workspace, "y")];
    this.cloud = {
      length: found.length,
      x: found.figures[x],
      y: found.figures[y],
      flags: found.flags,
    };
    const { range, place } = workspace.selection.value;
    const axes: Axes = {
      time: x === "begin",
      xDomain: range === null ? [0, workspace.info.duration] : [range.begin, range.end],
      log: isLog(workspace),
    };
    this.drawn = plan(this.cloud, axes, this.stage.clientWidth, HEIGHT);
    paint(this.canvas, this.cloud, this.drawn, axes.time ? (place?.time ?? null) : null, (point) => {
      const row = workspace.rowOf(found.actor[point] ?? 0);
      return row === null ? "--line-1" : actorColour(row.kind, row.name);
    });
    this.markWindow();
  }

  /** Shows where the timeline stands. */
  markWindow(): void {
    const { drawn, stage, workspace } = this;
    const over = drawn !== null && figureOf(workspace, "x") === "begin";
    this.mark.show(workspace.selection.value.view, over ? drawn.x : null, LEFT, stage.clientWidth - RIGHT);
  }

  private text(found: Found, point: number): string {
    const { figures } = found;
    const figure = (name: Figure): string => `${NAMES[name]} ${duration(figures[name][point])}`;
    const more = (found.stands[point] ?? 1) - 1;
    return [
      this.workspace.actorName(found.actor[point] ?? 0),
      `${moment(figures.begin[point] ?? 0)}, CPU ${found.cpu[point] ?? 0}`,
      ...FIGURES.map(figure),
      ...((found.flags[point] ?? 0) !== 0 ? ["incomplete"] : []),
      ...(more > 0 ? [`and ${count(more)} more here`] : []),
    ].join("\n");
  }
}
