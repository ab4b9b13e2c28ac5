/**
 * Which of the colours of the style sheet an actor has. By its name alone, without numbers: one
 * thing has one colour in every trace, and all workers of one kind look alike.
 */
const THREADS = 12;
const IRQS = 3;
const SOFTIRQS = 2;

/** The custom property of an actor's colour, for a canvas or for a chart: `--actor-4`. */
export function actorColour(kind: string, name: string): string {
  const hash = hashOf(name.replace(/[\d:/_.-]+/g, " ").trim().toLowerCase());
  if (kind === "irq") return `--irq-${(hash % IRQS) + 1}`;
  if (kind === "softirq") return `--softirq-${(hash % SOFTIRQS) + 1}`;
  return `--actor-${(hash % THREADS) + 1}`;
}

/** FNV-1a, with its bits mixed once more: the last letters alone must change the remainder. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 12)) >>> 0;
}

/** `#rrggbb` or `rgb(r, g, b)` as a pixel of an image: bytes red, green, blue, alpha in memory. */
export function pixelOf(colour: string): number {
  const [red, green, blue] = channels(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The colour laid on `ground` with some opacity. */
export function mixed(colour: string, ground: string, opacity: number): string {
  const over = channels(colour);
  const under = channels(ground);
  const each = over.map((value, at) => {
    const below = under[at] ?? 0;
    return Math.round(below + (value - below) * opacity);
  });
  return `rgb(${each.join(", ")})`;
}

function channels(colour: string): [number, number, number] {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour.trim());
  if (hex !== null) {
    return [parseInt(hex[1] ?? "", 16), parseInt(hex[2] ?? "", 16), parseInt(hex[3] ?? "", 16)];
  }
  const [red = 0, green = 0, blue = 0] = [...colour.matchAll(/\d+/g)].map(Number);
  return [red, green, blue];
}
