import type { Panel, Workspace } from "../panel";
import { actorField, link, reveal } from "./actors";
import type { ActivationMode, Modes } from "./answers";
import { answerTables, nothing } from "./answer";
import { choice, labelled, make, namedTable } from "./elements";
import { count, duration, plural, share } from "./words";

const METRICS = [
  ["response", "Response"], ["execution", "Execution"], ["latency", "Start latency"], ["period", "Period"],
] as const;

/** Response times that come in groups, and what the activations of each have in common. */
export const modes: Panel = {
  id: "modes",
  title: "Modes",
  mount(host, workspace) {
    const [actors, updateActors] = actorField(workspace, "the most active");
    const metric = choice(METRICS, metricOf(workspace), (value) => {
      workspace.setParameter("modes-metric", value === "response" ? null : value);
      tables.again();
    });
    host.append(make("div", { class: "view-bar" }, actors, labelled("By", metric)));
    const tables = answerTables<Modes>(host, workspace, {
      view: "modes",
      words: () => ({ actor: workspace.selection.value.actor, metric: metricOf(workspace) }),
      actorChanged: updateActors,
      draw: (found) => drawAll(workspace, found),
    });
    return tables.end;
  },
};

function metricOf(workspace: Workspace): string {
  const asked = workspace.parameter("modes-metric");
  return METRICS.find(([value]) => value === asked)?.[0] ?? "response";
}

function drawAll(workspace: Workspace, { of }: Modes): HTMLElement[] {
  const left = of.unsure > 0 ? `; ${plural(of.unsure, "incomplete activation")} left out` : "";
  const caption = `${of.actor}: ${of.metric} of ${plural(of.count, "activation")}${left}`;
  const table = namedTable("modes", caption,
    ["Mode", "Activations", "Share", "Median", "From", "To", "Execution", "Start latency", "Suspended", "Typical", "Longest"],
    of.modes.map((mode, at) => modeCells(workspace, of.ids, mode, at + 1)), 1);
  if (of.modes.length === 1) return [table, nothing("There is one mode: no valley divides these times.")];
  const traits = of.modes.flatMap(({ median, traits: own }, at) =>
    own.map(({ kind, what, share: here, elsewhere }) =>
      [`${at + 1}: ${duration(median)}`, `${kind} ${what}`, share(here), share(elsewhere)]));
  return [table, traits.length === 0
    ? nothing("Nothing that the trace tells distinguishes the modes.")
    : namedTable("modes", "What distinguishes them", ["Mode", "Which", "In this mode", "In others"], traits, 2)];
}

function modeCells(workspace: Workspace, ids: readonly number[], mode: ActivationMode, number: number): readonly (Node | string)[] {
  const lead = (text: string, at: number, title: string): HTMLElement =>
    link(text, () => { reveal(workspace, ids.length === 1 ? (ids[0] ?? null) : null, at); }, title);
  return [
    String(number), count(mode.count), share(mode.share), duration(mode.median), duration(mode.low), duration(mode.high),
    duration(mode.execution), duration(mode.latency), duration(mode.suspended),
    lead(duration(mode.median), mode.typical_at, "Move the timeline to the activation nearest to the median"),
    lead(duration(mode.high), mode.longest_at, "Move the timeline to the longest activation"),
  ];
}
