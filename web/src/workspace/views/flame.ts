import type { Panel, Workspace } from "../panel";
import { address, Answer, askDocument, nothing } from "./answer";
import { choice, labelled, make, namedTable } from "./elements";
import { type FlameDifference, differenceLook, differenceNote } from "./flame-difference";
import { belowWhat, FlameDrawing, type FlameLook, withoutNames } from "./flame-drawing";
import { type FlameGraph, moduleOf, nameOf, sumsOf, weightOf } from "./flame-layout";
import { count, duration, share } from "./words";

const LISTED = 30;

/**
 * A flame graph of what is seen of the trace, or of the time selected; of two traces beside each
 * other, that of their difference.
 */
export const flame: Panel = {
  id: "flame",
  title: "Flame graph",
  mount(host, workspace) {
    const bar = make("div", { class: "view-bar" });
    const place = make("div", { class: "view-scroll" });
    host.append(bar, place);
    let drawing: FlameDrawing | null = null;
    const again = (): void => { answer.again(); };
    const answer = new Answer<Shown>(
      place,
      (signal) => (compares(workspace) ? askDifference(workspace, signal) : askOne(workspace, signal)),
      (shown) => {
        drawing?.end();
        drawing = null;
        const { graph } = shown;
        if (graph.events.length === 0) {
          bar.replaceChildren(...kind(workspace, again));
          place.replaceChildren(nothing("The trace has no stacks of functions. perf record -g, ftrace's trigger stacktrace and benchvise trace record BOARD --functions NAME --graph record some."));
          return;
        }
        const parts = shown.of === "one" ? one(workspace, shown.graph) : difference(workspace, shown.graph);
        bar.replaceChildren(...kind(workspace, again), ...parts.choices(again),
          searchField(workspace, (text) => { drawing?.search(text); }));
        if (!parts.some) {
          place.replaceChildren(...parts.notes, nothing("No stack of this event lies here. Choose a longer time, or all threads."));
          return;
        }
        drawing = new FlameDrawing(parts.look, workspace.parameter("flame-search") ?? "");
        place.replaceChildren(...parts.notes, drawing.element);
        drawing.draw();
      },
    );
    answer.again();
    const unsubscribe = (workspace.sides() ?? [workspace]).map((side) => side.selection.subscribe((now, changed) => {
      const asked = side === workspace || compares(workspace);
      if (asked && (changed.range || (changed.view && now.range === null))) answer.again();
    }));
    return () => {
      for (const end of unsubscribe) end();
      drawing?.end();
      answer.stop();
    };
  },
};

type Shown =
  | { readonly of: "one"; readonly graph: FlameGraph }
  | { readonly of: "difference"; readonly graph: FlameDifference };

/** What stands around the picture of an answer. */
interface Parts {
  readonly look: FlameLook;
  /** Whether there is any stack. */
  readonly some: boolean;
  readonly notes: readonly HTMLElement[];
  choices(again: () => void): readonly HTMLElement[];
}

function compares(workspace: Workspace): boolean {
  return workspace.sides() !== null && workspace.parameter("flame-show") === "difference";
}

async function askOne(workspace: Workspace, signal: AbortSignal): ReturnType<typeof askDocument<Shown>> {
  const { range, view } = workspace.selection.value;
  const words = { event: workspace.parameter("flame-event"), thread: workspace.parameter("flame-thread") };
  const answer = await askDocument<FlameGraph>(address(workspace, "flame", words, range ?? view), signal);
  return answer.ok ? { ok: true, value: { of: "one", graph: answer.value } } : answer;
}

async function askDifference(workspace: Workspace, signal: AbortSignal): ReturnType<typeof askDocument<Shown>> {
  const [a, b] = workspace.sides() ?? [workspace, workspace];
  const [first, second] = [a, b].map(({ selection: { value: { range, view } } }) => range ?? view);
  const words = {
    with: b.key, begin2: second?.begin ?? null, end2: second?.end ?? null,
    event: workspace.parameter("flame-event"), name: workspace.parameter("flame-name"), basis: workspace.parameter("flame-basis"),
  };
  const answer = await askDocument<FlameDifference>(address(a, "flame-difference", words, first), signal);
  return answer.ok ? { ok: true, value: { of: "difference", graph: answer.value } } : answer;
}

/** Sets a word of the address, and asks again. */
function setting(workspace: Workspace, name: string, again: () => void): (value: string) => void {
  return (value) => {
    workspace.setParameter(name, value === "" ? null : value);
    again();
  };
}

/** The choice between one trace and the difference, where there are two. */
function kind(workspace: Workspace, again: () => void): HTMLElement[] {
  const sides = workspace.sides();
  if (sides === null) return [];
  const [a, b] = sides.map(({ info }) => info.name);
  const kinds = [["", `${workspace.info.name} alone`], ["difference", `difference, from ${a ?? ""} to ${b ?? ""}`]] as const;
  return [labelled("Show", choice(kinds, compares(workspace) ? "difference" : "", setting(workspace, "flame-show", again)))];
}

function searchField(workspace: Workspace, search: (text: string) => void): HTMLElement {
  const field = make("input", { type: "search", placeholder: "function or file", value: workspace.parameter("flame-search") });
  field.addEventListener("input", () => {
    workspace.setParameter("flame-search", field.value === "" ? null : field.value);
    search(field.value);
  });
  return labelled("Find", field);
}

function one(workspace: Workspace, graph: FlameGraph): Parts {
  return {
    look: look(graph), some: graph.stacks > 0, notes: [],
    choices: (again) => {
      const events = graph.events.map(({ name, stacks }) => [name, `${name} (${count(stacks)})`] as const);
      const threads = graph.threads.map(({ thread, name, weight }) =>
        [String(thread), `${name} ${thread} (${weighed(graph, weight)})`] as const);
      return [
        labelled("Event", choice(events, graph.event, setting(workspace, "flame-event", again))),
        labelled("Thread", choice([["", "all"], ...threads], workspace.parameter("flame-thread") ?? "", setting(workspace, "flame-thread", again))),
      ];
    },
  };
}

function difference(workspace: Workspace, graph: FlameDifference): Parts {
  const [a, b] = workspace.sides() ?? [workspace, workspace];
  return {
    look: differenceLook(graph), some: graph.a.stacks + graph.b.stacks > 0,
    notes: [differenceNote(graph, [a.info.name, b.info.name])],
    choices: (again) => {
      const events = graph.events.map(({ name, stacks_a, stacks_b }) => [name, `${name} (${count(stacks_a)}, ${count(stacks_b)})`] as const);
      const threads = graph.threads.map(({ name }) => [name, name] as const);
      const bases = [["", "shares of samples"], ["rate", "per second"]] as const;
      return [
        labelled("Compare", choice(bases, graph.basis === "rate" ? "rate" : "", setting(workspace, "flame-basis", again))),
        labelled("Event", choice(events, graph.event, setting(workspace, "flame-event", again))),
        labelled("Threads", choice([["", "all"], ...threads], workspace.parameter("flame-name") ?? "", setting(workspace, "flame-name", again))),
      ];
    },
  };
}

function weighed({ unit }: Pick<FlameGraph, "unit">, weight: number): string {
  return unit === "ns" ? duration(weight) : count(weight);
}

/** One trace: the colours are by whose functions they are. */
function look(graph: FlameGraph): FlameLook {
  const all = Math.max(1, graph.total[0] ?? 1);
  return {
    tree: graph,
    fill: (node) => ({ colour: colourOf(graph, node), strength: 1, hatched: false }),
    label: (node) => nameOf(graph, node),
    describe: (node) => {
      const [self, total] = [graph.self_weight[node] ?? 0, graph.total[node] ?? 0];
      const file = moduleOf(graph, node);
      return `${nameOf(graph, node)}${file === "" ? "" : ` (${file})`}: total ${weighed(graph, total)}, ${share(total / all)}; self ${weighed(graph, self)}, ${share(self / all)}`;
    },
    weigh: (outermost) => `in ${share(weightOf(graph.total, outermost) / all)} of the stacks`,
    legend: [["user", "programs"], ["kernel", "kernel"], ["thread", "threads"], ["found", "found"]],
    tables: (zoom) => {
      const sums = sumsOf(graph, zoom);
      const more = sums.length > LISTED ? `; ${count(sums.length - LISTED)} more functions not shown` : "";
      const left = graph.left_out > 0 ? `; ${count(graph.left_out)} places that weigh least are left out` : "";
      const rows = sums.slice(0, LISTED).map((row) => [
        row.name, row.module, weighed(graph, row.self), share(row.self / all), weighed(graph, row.total), share(row.total / all),
      ]);
      return [
        namedTable("flame-functions", `Functions${belowWhat(graph, zoom)}, most self first${more}${left}`, ["Function", "File", "Self", "Share", "Total", "Share"], rows, 2),
        ...withoutNames(graph.missing),
      ];
    },
  };
}

function colourOf(graph: FlameGraph, node: number): string {
  const file = moduleOf(graph, node);
  if (file === "") return "--flame-thread";
  return file === "kernel" || file.startsWith("[") ? "--flame-kernel" : "--flame-user";
}
