import { decades, durationTicks, linear, logarithmic, logDomain, type Scale, timeTicks } from "./scales";

/** Points in the plane, as columns; `flags` other than 0 are incomplete. */
export interface Cloud {
  readonly length: number;
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly flags: Uint8Array;
}

export interface Plan {
  readonly x: Scale;
  readonly y: Scale;
  readonly width: number;
  readonly height: number;
}

export interface Axes {
  /** Whether x is time since the first event; then it spans `xDomain`. */
  readonly time: boolean;
  readonly xDomain: readonly [number, number];
  readonly log: boolean;
}

export const LEFT = 68;
export const RIGHT = 16;
const TOP = 12;
const BOTTOM = 30;
const TICK_WIDTH = 110;
const TICK_HEIGHT = 34;
const RADIUS = 2.6;
const REACH = 14;

/** Where everything lies on a chart of a size. */
export function plan(cloud: Cloud, axes: Axes, width: number, height: number): Plan {
  const [left, right, top, bottom] = [LEFT, Math.max(LEFT + 1, width - RIGHT), TOP, height - BOTTOM];
  const across = Math.max(2, Math.floor((right - left) / TICK_WIDTH));
  const up = Math.max(2, Math.floor((bottom - top) / TICK_HEIGHT));
  const x = axes.time
    ? linear(axes.xDomain[0], axes.xDomain[1], left, right, timeTicks(axes.xDomain[0], axes.xDomain[1], across))
    : durations(extent(cloud.x), left, right, across, axes.log);
  return { x, y: durations(extent(cloud.y), bottom, top, up, axes.log), width, height };
}

function durations(
  [low, high]: readonly [number, number],
  from: number,
  to: number,
  most: number,
  log: boolean,
): Scale {
  if (log) {
    const [least, greatest] = logDomain(low, high);
    return logarithmic(least, greatest, from, to, decades(least, greatest, most));
  }
  const top = high > 0 ? high * 1.05 : 1;
  return linear(0, top, from, to, durationTicks(0, top, most));
}

export function extent(values: Float64Array): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

/** The point nearest to a place, no farther than a fingertip; -1 for none. */
export function nearest(cloud: Cloud, { x, y }: Plan, atX: number, atY: number): number {
  let closest = -1;
  let best = REACH * REACH;
  for (let point = 0; point < cloud.length; point += 1) {
    const dx = x.at(cloud.x[point] ?? 0) - atX;
    if (dx > REACH || dx < -REACH) continue;
    const dy = y.at(cloud.y[point] ?? 0) - atY;
    const distance = dx * dx + dy * dy;
    if (distance < best) {
      best = distance;
      closest = point;
    }
  }
  return closest;
}

/** Draws axes and points; `mark` is a moment that a line stands at, `property` names a point's colour. */
export function paint(
  canvas: HTMLCanvasElement,
  cloud: Cloud,
  where: Plan,
  mark: number | null,
  property: (point: number) => string,
): void {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(where.width * ratio);
  canvas.height = Math.round(where.height * ratio);
  const context = canvas.getContext("2d");
  if (context === null) return;
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  context.scale(ratio, ratio);
  context.font = `11px ${style.fontFamily}`;
  paintAxes(context, where, colour("--rule"), colour("--muted"));
  if (mark !== null) {
    const at = where.x.at(mark);
    context.strokeStyle = colour("--accent");
    if (at >= LEFT && at <= where.width - RIGHT) line(context, at, TOP, at, where.height - BOTTOM);
  }
  const colours = new Map<string, string>();
  const sure = (point: number): string => {
    const name = property(point);
    const known = colours.get(name) ?? colour(name);
    colours.set(name, known);
    return known;
  };
  const doubt = colour("--doubt");
  // Many points at one place are to look darker than one.
  context.globalAlpha = cloud.length > 1500 ? 0.55 : 0.8;
  for (let point = 0; point < cloud.length; point += 1) {
    const incomplete = (cloud.flags[point] ?? 0) !== 0;
    const x = where.x.at(cloud.x[point] ?? 0);
    const y = where.y.at(cloud.y[point] ?? 0);
    context.beginPath();
    if (incomplete) {
      context.strokeStyle = doubt;
      context.rect(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS);
      context.stroke();
    } else {
      context.fillStyle = sure(point);
      context.arc(x, y, RADIUS, 0, 2 * Math.PI);
      context.fill();
    }
  }
}

function paintAxes(context: CanvasRenderingContext2D, where: Plan, rule: string, ink: string): void {
  const bottom = where.height - BOTTOM;
  context.lineWidth = 1;
  context.strokeStyle = rule;
  context.fillStyle = ink;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const { value, text } of where.y.ticks) {
    const y = Math.round(where.y.at(value)) + 0.5;
    line(context, LEFT, y, where.width - RIGHT, y);
    context.fillText(text, LEFT - 8, y);
  }
  context.textBaseline = "top";
  context.textAlign = "center";
  for (const { value, text } of where.x.ticks) {
    const x = Math.round(where.x.at(value)) + 0.5;
    line(context, x, bottom, x, bottom + 4);
    context.fillText(text, x, bottom + 9);
  }
  line(context, LEFT, bottom + 0.5, where.width - RIGHT, bottom + 0.5);
}

function line(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
