import type { Panel, Workspace } from "../panel";
import { link, reveal } from "./actors";
import { answerTables, nothing } from "./answer";
import type { CpuNoise, NoiseAnswer, WorstActivation } from "./answers";
import { type Cells, make, namedTable } from "./elements";
import { count, duration, share } from "./words";

/** What the tracers osnoise and timerlat measured, who interfered, and the worst latencies apart. */
export const noise: Panel = {
  id: "noise",
  title: "OS noise",
  suits: ({ has_noise: has }) => has,
  mount: (host, workspace) =>
    answerTables<NoiseAnswer>(host, workspace, { view: "noise", draw: (found) => drawAll(workspace, found) }).end,
};

function drawAll(workspace: Workspace, found: NoiseAnswer): HTMLElement[] {
  const { cpus, sources, more, latencies, worst } = found;
  const drawn: HTMLElement[] = [];
  if (latencies.length > 0) {
    drawn.push(namedTable("noise", "Latency of timers (timerlat), from when the timer was due",
      ["Context", "CPU", "n", "Min", "Mean", "Median", "p99", "p99.9", "Longest"],
      latencies.map(({ context, cpu, latency, worst_at: at, worst_cpu: on }) => [
        context, cpu === null ? "all" : String(cpu), count(latency.count),
        ...[latency.minimum, latency.mean, latency.median, latency.p99, latency.p999].map(duration),
        longest(workspace, latency.maximum, at - latency.maximum, on),
      ]), 2));
  }
  drawn.push(...worst.map((activation, at) => drawWorst(workspace, activation, at + 1, found.has_noises)));
  if (cpus.length > 0) {
    drawn.push(namedTable("noise", "Noise by CPU (osnoise). Available is what the tracer's thread had of the CPU; HW counts noises without any interference of the operating system.",
      ["CPU", "Periods", "Runtime", "Noise", "Available", "Worst period", "Longest noise", "HW", "NMI", "IRQ", "softirq", "Thread"],
      cpus.map((cpu) => noiseCells(workspace, cpu)), 1));
  }
  if (sources.length > 0) {
    const caption = "Who interfered. Times are without what interrupted it in turn.";
    drawn.push(namedTable("noise", more > 0 ? `${caption} ${count(more)} more not shown.` : caption,
      ["Who", "n", "Total", "Share", "Median", "p99", "p99.9", "Longest"],
      sources.map(({ name, duration: time, share: part, worst_at: at, worst_cpu: on }) => [
        name, count(time.count), duration(time.total), share(part),
        ...[time.median, time.p99, time.p999].map(duration), longest(workspace, time.maximum, at, on),
      ]), 1));
  }
  return drawn.length > 0 ? drawn : [nothing("Neither osnoise nor timerlat tells of anything here.")];
}

function drawWorst(workspace: Workspace, worst: WorstActivation, number: number, known: boolean): HTMLElement {
  const { cpu, activation, context, latency, due, at, parts, stack, incomplete } = worst;
  const said = [`Longest latency ${number}: ${duration(latency)} (${context}) on CPU ${cpu}, activation ${activation}.`];
  if (incomplete) said.push("Incomplete: events are missing meanwhile.");
  if (!known) said.push("The events osnoise:* tell who ran: trace-cmd record -e osnoise.");
  // Above the table and not its caption: that is as wide as the table, which scrolls on a phone.
  const heading = make("p", { class: "view-note" }, said.join(" "), " ",
    link("Show it", () => { reveal(workspace, null, due, at, cpu); }, "Move the timeline to it"));
  const table = namedTable("noise", `Parts of latency ${number}`, ["Part", "Who", "n", "Time", "Share"],
    parts.map(({ what, who, count: times, time, share: part }): Cells => [
      what, who, times === 0 ? "–" : count(times), duration(time), share(part),
    ]), 2);
  if (stack.length === 0) return make("div", {}, heading, table);
  return make("div", {}, heading, table,
    make("details", {}, make("summary", {}, "Stack at the timer's interrupt"),
      make("ol", { class: "view-stack" }, ...stack.map((name) => make("li", {}, name)))));
}

function noiseCells(workspace: Workspace, cpu: CpuNoise): Cells {
  const { available, longest: time, longest_at: at } = cpu;
  return [
    String(cpu.cpu), count(cpu.periods), duration(cpu.runtime), duration(cpu.noise),
    available === null ? "–" : `${(100 * available).toFixed(3)} %`,
    link(duration(cpu.most), () => { reveal(workspace, null, cpu.most_at, cpu.most_at, cpu.cpu); }, "Move the timeline to its end"),
    longest(workspace, time, at, cpu.cpu),
    ...[cpu.hardware, cpu.nmi, cpu.irq, cpu.softirq, cpu.thread].map(count),
  ];
}

function longest(workspace: Workspace, length: number, begin: number, cpu: number): HTMLElement {
  return link(duration(length), () => {
    reveal(workspace, null, begin, begin + length, cpu);
  }, "Move the timeline to it");
}
