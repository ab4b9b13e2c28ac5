import { histogram } from "../../charts/histogram";
import type { Panel, Workspace } from "../panel";
import { link, reveal } from "./actors";
import type { Distribution, Hop, Latency, Names } from "./answers";
import { address, Answer, askDocument, failure, nothing } from "./answer";
import { choice, labelled, make } from "./elements";
import { count, duration, moment, plural, share } from "./words";

const WIDEST = 760;

/** From one point to another over all occurrences: how long it takes, and which stage takes it. */
export const latency: Panel = {
  id: "latency",
  title: "Latency",
  mount(host, workspace) {
    const result = make("div", { class: "view-result" });
    const names = make("datalist", { id: "latency-ends" });
    const from = endField(workspace, "from", names.id, "irq:eth0");
    const to = endField(workspace, "to", names.id, "task:iperf3");
    const match = choice(
      [
        ["auto", "by cause, else in order"],
        ["cause", "by who woke whom"],
        ["next", "each with the next"],
      ],
      workspace.parameter("latency-match") ?? "auto",
      (value) => {
        workspace.setParameter("latency-match", value === "auto" ? null : value);
        answer.again();
      },
    );
    const fields = make("datalist", { id: "latency-fields" });
    const by = make("input", {
      type: "text", list: fields.id, placeholder: "dev, sector", spellcheck: "false", autocomplete: "off",
      title: "Pairs each event with the one that has the same value: FIELD, FIELD=FIELD of From and To, several with commas",
    });
    by.value = workspace.parameter("latency-by") ?? "";
    const chooseOne = (): void => { match.disabled = by.value.trim() !== ""; };
    chooseOne();
    by.addEventListener("input", chooseOne);
    const form = make(
      "form",
      { class: "view-bar" },
      labelled("From", from),
      labelled("To", to),
      labelled("By field", by),
      labelled("Matched", match),
      make("button", { type: "submit" }, "Measure"),
      names,
      fields,
    );
    const measure = (): void => {
      workspace.setParameter("latency-from", from.value.trim() || null);
      workspace.setParameter("latency-to", to.value.trim() || null);
      workspace.setParameter("latency-by", by.value.trim() || null);
      answer.again();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      measure();
    });
    host.append(form, result);
    const answer = new Answer<Latency>(
      result,
      (signal) => {
        const [start, end] = ends(workspace);
        if (start === null || end === null) {
          result.replaceChildren(nothing(HELP));
          return null;
        }
        const paired = workspace.parameter("latency-by");
        const query = {
          from: start, to: end, by: paired === null ? null : paired.split(",").map((field) => field.trim()).join("\n"),
          match: paired === null ? workspace.parameter("latency-match") : null,
        };
        return askDocument(address(workspace, "latency", query), signal);
      },
      (found) => {
        result.replaceChildren(...drawing(workspace, found, Math.min(WIDEST, result.clientWidth)));
      },
    );
    answer.again();
    const naming = new AbortController();
    const suggestFields = (known: Names): void => {
      fields.replaceChildren(...sharedFields(known, from.value, to.value).map((value) => make("option", { value })));
    };
    void suggest(workspace, names, naming.signal).then((known) => {
      if (known === null) return;
      suggestFields(known);
      const ends = pointNames(known);
      for (const end of [from, to]) {
        end.addEventListener("input", () => {
          suggestFields(known);
          // Nothing is left to say.
          if ([from, to].every(({ value }) => ends.has(value.trim()))) measure();
        });
      }
    });
    const unsubscribe = workspace.selection.subscribe((_, changed) => {
      if (changed.range) answer.again();
    });
    return () => {
      unsubscribe();
      naming.abort();
      answer.stop();
    };
  },
};

const HELP =
  "Name two points of the trace. irq:NAME, softirq:NAME and task:NAME are the begin of each instance, " +
  "NAME.end its end, NAME.ready its wake-up; event:NAME is each event, event:NAME[field==5] some of them. " +
  "By field pairs two events with the same value, as a request and its completion have one sector.";

const ends = (workspace: Workspace): readonly [string | null, string | null] => [
  workspace.parameter("latency-from"),
  workspace.parameter("latency-to"),
];

function endField(
  workspace: Workspace,
  name: "from" | "to",
  list: string,
  example: string,
): HTMLInputElement {
  const field = make("input", { type: "text", list, placeholder: example, spellcheck: "false", autocomplete: "off" });
  field.value = workspace.parameter(`latency-${name}`) ?? "";
  return field;
}

/** The names of all points of a trace, but for events with conditions. */
export function pointNames({ actors, events }: Names): ReadonlySet<string> {
  return new Set([
    ...actors.flatMap((name) => [name, `${name}.end`, `${name}.ready`]),
    ...events.map(({ name }) => `event:${name}`),
  ]);
}

async function suggest(workspace: Workspace, list: HTMLElement, signal: AbortSignal): Promise<Names | null> {
  const names = await askDocument<Names>(`${workspace.api}/names`, signal);
  if (signal.aborted) return null;
  if (!names.ok) {
    list.after(failure(names.error));
    return null;
  }
  const texts = [...pointNames(names.value)].filter((name) => !/\.(end|ready)$/.test(name));
  list.replaceChildren(...texts.map((value) => make("option", { value })));
  return names.value;
}

/** The fields that two ends of a latency have, where both are events. */
export function sharedFields({ events }: Names, from: string, to: string): string[] {
  const of = (end: string): readonly string[] => {
    const name = /^event:([^[]+)/.exec(end.trim())?.[1];
    return events.find((event) => event.name === name)?.fields ?? [];
  };
  const second = of(to);
  return of(from).filter((field) => second.includes(field));
}

function drawing(workspace: Workspace, found: Latency, width: number): Node[] {
  const notes: HTMLElement[] = found.hops.map((hop) => make("p", { class: "view-note" }, hopText(hop)));
  if (found.unsure > 0) {
    const kept = found.unsure_kept ? "kept" : "left out";
    notes.push(nothing(`${plural(found.unsure, "occurrence")} with events missing on the way: ${kept}.`));
  }
  const { total } = found;
  if (total === null) return [nothing("Nothing matched: no start led to an end."), ...notes];
  const picture = histogram(
    {
      id: "latency",
      title: "",
      lines: [
        {
          name: "latency",
          style: 0,
          latencies: {
            count: found.occurrences,
            minimum: total.minimum,
            maximum: total.maximum,
            steps: found.steps,
          },
        },
      ],
    },
    width,
  );
  return [
    quantiles(total, found.occurrences),
    make("div", { class: "view-stage" }, picture),
    ...notes,
    ...found.ways.map((way) => stages(way, found.ways.length > 1)),
    ...(found.more_ways > 0 ? [nothing(`${plural(found.more_ways, "rarer way")} not shown.`)] : []),
    worst(workspace, found),
  ];
}

/** How one hop was matched, and how much of it. */
export function hopText(hop: Hop): string {
  const how = {
    cause: "by cause (who woke or raised whom)",
    next: "NOT BY CAUSE: each start with the next end after it",
    fields: "by field: each start with the next end that has its values",
  }[hop.method];
  const few = hop.few_by_cause === 0 ? "" : `; by cause only ${count(hop.few_by_cause)}`;
  return (
    `${hop.start} → ${hop.end}: ${how}${few}; ${count(hop.starts_matched)} of ${count(hop.starts)} starts ` +
    `led to an end, ${count(hop.ends_matched)} of ${count(hop.ends)} ends have a start.`
  );
}

function quantiles(total: Distribution, occurrences: number): HTMLElement {
  const list = make("dl", { class: "view-figures" });
  const figures = [
    ["Occurrences", count(occurrences)],
    ["Median", duration(total.median)],
    ["p95", duration(total.p95)],
    ["p99", duration(total.p99)],
    ["p99.9", duration(total.p999)],
    ["Max", duration(total.maximum)],
  ] as const;
  for (const [name, text] of figures) {
    list.append(make("div", {}, make("dt", {}, name), make("dd", {}, text)));
  }
  return list;
}

function stages(way: Latency["ways"][number], several: boolean): HTMLElement {
  const body = make("tbody");
  way.stages.forEach((stage, at) => {
    const bar = make("span", { class: "view-share", "aria-hidden": "true" });
    bar.style.width = `${Math.max(0, Math.min(1, stage.share)) * 100}%`;
    body.append(
      make(
        "tr",
        {},
        make("td", { class: "num" }, String(at + 1)),
        make("th", { scope: "row" }, stage.name),
        make("td", { class: "view-shares" }, bar),
        make("td", { class: "num" }, share(stage.share)),
        make("td", { class: "num" }, duration(stage.time.median)),
        make("td", { class: "num" }, duration(stage.time.p95)),
        make("td", { class: "num" }, duration(stage.time.p99)),
        make("td", { class: "num" }, duration(stage.time.p999)),
        make("td", { class: "num" }, duration(stage.time.maximum)),
      ),
    );
  });
  const title = several ? `Stages of ${plural(way.count, "occurrence")} that took this way` : "Stages";
  return scrolled(table(title, ["#", "Stage", "", "Share", "Median", "p95", "p99", "p99.9", "Max"], body));
}

function worst(workspace: Workspace, found: Latency): HTMLElement {
  const body = make("tbody");
  for (const occurrence of found.worst) {
    const lead = link(duration(occurrence.latency), () => {
      reveal(workspace, occurrence.actor, occurrence.begin, occurrence.end);
    }, "Move the timeline to this occurrence");
    body.append(
      make(
        "tr",
        {},
        make("td", { class: "num" }, lead),
        make("td", { class: "num" }, moment(occurrence.begin)),
        make("td", { class: "num" }, String(occurrence.begin_cpu ?? "–")),
        make("td", { class: "num" }, String(occurrence.end_cpu ?? "–")),
        make("th", { scope: "row" }, occurrence.end_actor),
        make("td", {}, occurrence.stages.map(({ time }) => duration(time)).join(" + ")),
      ),
    );
  }
  return scrolled(table("The longest", ["Latency", "From", "CPU", "To CPU", "Ends in", "Stages"], body));
}

const NUMERIC = new Set(["#", "Share", "Median", "p95", "p99", "p99.9", "Max", "Latency", "From", "CPU", "To CPU"]);

function table(title: string, heads: readonly string[], body: HTMLElement): HTMLElement {
  const row = make("tr");
  for (const head of heads) {
    const name = NUMERIC.has(head) ? "num" : null;
    row.append(head === "" ? make("td") : make("th", { scope: "col", class: name }, head));
  }
  return make("table", { class: "view-table" }, make("caption", {}, title), make("thead", {}, row), body);
}

function scrolled(content: HTMLElement): HTMLElement {
  return make("div", { class: "view-scroll" }, content);
}
