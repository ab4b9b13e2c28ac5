import { assertExists } from "../base/assert";
import type { ChangeFigure } from "../base/document";
import { formatChange, formatRatio, formatValue } from "../base/units";
import { changes } from "../charts/changes";
import { compareBoards, differingFacts, type SiteChange } from "./comparison";
import type { SiteBoard, SiteDocument, SiteValue } from "./document";

const DRAWN = 36;

/** The page that compares any two boards: its address names them, `#BASE,OTHER`. */
export function startComparison(page: Document, site: SiteDocument): void {
  const slot = assertExists(page.querySelector("[data-site=comparison]"), "the comparison");
  const choices = ["base", "other"].map((side) =>
    assertExists(page.querySelector<HTMLSelectElement>(`[data-site=${side}]`), side),
  );
  const show = (): void => {
    const [base, other] = choices.map((choice) =>
      site.boards.find((board) => board.id === choice.value),
    );
    slot.replaceChildren(
      ...(base === undefined || other === undefined ? [] : compared(page, site, base, other)),
    );
  };
  const fromAddress = (): void => {
    const names = location.hash.slice(1).split(",");
    choices.forEach((choice, side) => {
      if (site.boards.some((board) => board.id === names[side])) choice.value = names[side] ?? "";
    });
    show();
  };
  for (const choice of choices) {
    choice.addEventListener("change", () => {
      history.replaceState(null, "", `#${choices.map((each) => each.value).join(",")}`);
      show();
    });
  }
  addEventListener("hashchange", fromAddress);
  fromAddress();
}

function compared(page: Document, site: SiteDocument, base: SiteBoard, other: SiteBoard): Node[] {
  const make = maker(page);
  const found = compareBoards(site, base, other);
  const counted = (verdict: string): number => found.filter((c) => c.verdict === verdict).length;
  const nodes: Node[] = [
    make("p", "lede", [
      `${other.name} against ${base.name}: ${counted("faster")} faster, ${counted("slower")} slower, `,
      `${counted("no difference shown")} no difference shown, ${counted("unstable")} unstable, `,
      `${found.filter((c) => c.verdict === undefined).length} not comparable.`,
    ]),
  ];
  if (base.simulated || other.simulated) {
    nodes.push(make("p", "notice", [
      "Numbers of an emulated board show that things work, not how fast they are.",
    ]));
  }
  if (base.id === other.id) nodes.push(make("p", "notice", ["This is the same board twice."]));
  const drawn = found.filter((change) => change.verdict !== undefined).slice(0, DRAWN);
  if (drawn.length > 0) {
    const plot = make("div", "plot", []);
    nodes.push(make("figure", "wide", [plot]));
    // Its width is known once it is in the page.
    requestAnimationFrame(() => {
      plot.replaceChildren(changes(figure(base, other, drawn), figure(base, other, drawn).rows,
        Math.max(320, Math.floor(plot.clientWidth))));
    });
  }
  nodes.push(table(page, "Metrics", [
    ["Metric", base.name, other.name, "Change", "Ratio and bounds", "Verdict"],
    ...found.map(row),
  ], "changes"));
  const facts = differingFacts(base, other);
  if (facts.length > 0) {
    nodes.push(make("h2", "", ["What differs in the boards and their state"]));
    nodes.push(table(page, "Facts", [["", base.name, other.name], ...facts], "runs"));
  }
  return nodes;
}

function figure(base: SiteBoard, other: SiteBoard, drawn: readonly SiteChange[]): ChangeFigure {
  return {
    id: "comparison",
    base: base.name,
    other: other.name,
    rows: drawn.map((change) => ({
      name: change.metric.key,
      verdict: change.verdict ?? "unstable",
      better: change.metric.better,
      ratio: change.ratio,
      low: change.low,
      high: change.high,
      noise_floor: Number.isFinite(change.noiseFloor) ? change.noiseFloor : 0,
      caveat: false,
    })),
  };
}

function row(change: SiteChange): string[] {
  const value = (side: SiteValue | undefined): string => {
    if (side === undefined) return "–";
    const text = formatValue(side.median, change.metric.unit);
    return side.stable ? text : `~${text} ⚠`;
  };
  const compared = change.verdict !== undefined;
  return [
    `${change.metric.key}${change.metric.better === "lower" ? " ↓" : ""}`,
    value(change.base),
    value(change.other),
    compared ? formatChange(change.ratio) : "–",
    compared
      ? `${formatRatio(change.ratio)} (${formatRatio(change.low)} – ${formatRatio(change.high)})`
      : "–",
    [change.verdict ?? "not comparable", change.reason].filter((text) => text !== "").join(": "),
  ];
}

type Make = (name: string, look: string, content: (string | Node)[]) => HTMLElement;

/** Makes elements of texts, which stay texts whatever they hold. */
function maker(page: Document): Make {
  return (name, look, content) => {
    const element = page.createElement(name);
    if (look !== "") element.className = look;
    element.append(...content);
    return element;
  };
}

function table(page: Document, title: string, rows: readonly string[][], look: string): HTMLElement {
  const make = maker(page);
  const [head = [], ...body] = rows;
  const cells = (row: readonly string[]): HTMLElement[] =>
    row.map((text, column) => {
      const last = column === row.length - 1;
      const numeric = look === "changes" && column > 0 && !last;
      const element = make(column === 0 ? "th" : "td", numeric ? "num" : "", [text]);
      const verdict = text.split(":", 1)[0] ?? "";
      if (look === "changes" && last && (verdict === "faster" || verdict === "slower")) {
        element.classList.add(`verdict-${verdict}`);
      }
      if (column === 0) element.setAttribute("scope", "row");
      return element;
    });
  const heads = head.map((text, column) => {
    const last = column === head.length - 1;
    const element = make(text === "" ? "td" : "th", column > 0 && !last && look === "changes" ? "num" : "", [text]);
    if (text !== "") element.setAttribute("scope", "col");
    return element;
  });
  const scroll = make("div", "scroll", [
    make("table", look, [
      make("thead", "", [make("tr", "", heads)]),
      make("tbody", "", body.map((row) => make("tr", "", cells(row)))),
    ]),
  ]);
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", title);
  return scroll;
}
