import { actorColour, mixed, pixelOf } from "./colours";
import type { Look } from "./source";

/** The colours of the style sheet, as the canvas needs them. */
export interface Theme {
  readonly page: string;
  readonly panel: string;
  readonly ink: string;
  readonly muted: string;
  readonly rule: string;
  readonly strong: string;
  readonly accent: string;
  readonly loss: string;
  /** Of notes. */
  readonly flag: string;
  /** Of text in a coloured bar. */
  readonly onBar: string;
  readonly line: string;
  readonly sans: string;
  readonly mono: string;
  /** Any custom property. */
  property(name: string): string;
}

export function themeOf(element: Element): Theme {
  const style = getComputedStyle(element);
  const property = (name: string): string => style.getPropertyValue(name).trim();
  return {
    page: property("--surface"),
    panel: property("--panel"),
    ink: property("--ink"),
    muted: property("--muted"),
    rule: property("--rule"),
    strong: property("--rule-strong"),
    accent: property("--accent"),
    loss: property("--loss"),
    flag: property("--flag"),
    onBar: property("--on-bar"),
    line: property("--line-1"),
    sans: property("--sans"),
    mono: property("--mono"),
    property,
  };
}

/** Pixels of a colour in full, and of the same laid thinly on the page. */
export interface Paint {
  readonly full: number;
  readonly faint: number;
  /** Where a long item begins: it is set apart from the one before. */
  readonly edge: number;
  /** For shares of a pixel's time, from a little to all. */
  readonly shades: readonly number[];
}

/** Even a little is to be seen. */
const SHADES = [0.5, 0.62, 0.75, 0.88, 1];

/** How much of its colour the begin of an item has; the rest is ink. */
const EDGE = 0.72;

/** The pixels of every actor and state, looked up once each. */
export class Paints {
  /** The actor that is brought out among all others; null is none. */
  only: number | null = null;
  /** By the actors' numbers, which follow each other; no map, as each item of each frame looks here. */
  private readonly actors: (Paint | undefined)[] = [];
  private readonly byProperty = new Map<string, Paint>();
  private readonly states: readonly (Paint | null)[];

  constructor(
    private readonly theme: Theme,
    private readonly look: Look,
  ) {
    this.states = look.states.map(({ paint }) => {
      if (paint === "actor") return null;
      if (paint === "line") return this.paint(theme.line, 0.16);
      return this.paint(paint === "warning" ? theme.property("--doubt") : theme.strong, 0.45);
    });
  }

  of(state: number, actor: number): Paint {
    const paint = this.states[state] ?? this.ofActor(actor);
    if (this.only === null || this.only === actor) return paint;
    return { full: paint.faint, faint: paint.faint, edge: paint.faint, shades: [paint.faint] };
  }

  private ofActor(actor: number): Paint {
    const cached = this.actors[actor];
    if (cached !== undefined) return cached;
    const name = actorColour(this.look.actorKind(actor), this.look.actorName(actor));
    const paint = this.byProperty.get(name) ?? this.paint(this.theme.property(name), 0.38);
    this.byProperty.set(name, paint);
    if (actor >= 0) this.actors[actor] = paint;
    return paint;
  }

  private paint(colour: string, faint: number): Paint {
    const shade = (opacity: number): number => pixelOf(mixed(colour, this.theme.page, opacity));
    const edge = pixelOf(mixed(colour, this.theme.ink, EDGE));
    return { full: pixelOf(colour), faint: shade(faint), edge, shades: SHADES.map(shade) };
  }
}
