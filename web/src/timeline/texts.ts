import { type Brush, setFont } from "./brush";

/** Texts on a canvas, cut to the room that they have. Measuring is dear, so each is measured once. */
export class Texts {
  private readonly widths = new Map<string, number>();

  constructor(
    private readonly context: Brush,
    readonly font: string,
  ) {}

  /** Draws with the font that is set; false when there is no room for two letters. */
  draw(text: string, x: number, y: number, room: number): boolean {
    const fitting = this.cut(text, room);
    if (fitting === "") return false;
    this.context.fillText(fitting, x, y);
    return true;
  }

  width(text: string): number {
    const cached = this.widths.get(text);
    if (cached !== undefined) return cached;
    if (this.widths.size >= MOST) this.widths.clear();
    const { font } = this.context;
    setFont(this.context, this.font);
    const { width } = this.context.measureText(text);
    setFont(this.context, font);
    this.widths.set(text, width);
    return width;
  }

  /** The text, or as much of its begin as fits; empty where two letters do not. */
  cut(text: string, room: number): string {
    // No letter is narrower than this: a long name is not measured to learn that it is long.
    const short = text.length * NARROWEST > room ? text.slice(0, Math.ceil(room / NARROWEST)) : text;
    const width = this.width(short);
    if (short === text && width <= room) return text;
    const least = this.width("…");
    let letters = Math.floor((short.length * (room - least)) / Math.max(width, 1));
    // The begin may have wider letters than the rest.
    while (letters >= 2 && this.width(`${short.slice(0, letters)}…`) > room) letters -= 1;
    return letters < 2 ? "" : `${short.slice(0, letters)}…`;
  }
}

const MOST = 20_000;
const NARROWEST = 2;
