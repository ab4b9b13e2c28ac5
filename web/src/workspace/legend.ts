import { make } from "./views/elements";

/** How each state is drawn: the class of its sample, and what it is. */
const STATES = [
  ["running", "running"],
  ["runnable", "woken, waiting for a CPU"],
  ["preempted", "preempted"],
  ["uninterruptible", "waiting uninterruptibly"],
  ["sleeping", "sleeping or stopped"],
  ["lost", "events are missing"],
] as const;

const COLOURS = [
  ["thread", "thread: one colour for each name"],
  ["irq", "interrupt"],
  ["softirq", "soft interrupt"],
] as const;

/** What states and colours of the timeline mean. */
export function legend(): HTMLElement {
  const entry = (name: string, text: string): HTMLElement =>
    make("li", {}, make("span", { class: `ws-sample ws-sample-${name}`, "aria-hidden": "true" }), text);
  return make("ul", { class: "ws-legend" },
    ...STATES.map(([name, text]) => entry(name, text)),
    ...COLOURS.map(([name, text]) => entry(name, text)));
}
