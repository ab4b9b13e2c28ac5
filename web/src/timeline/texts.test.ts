import { expect, it } from "vitest";

import { Texts } from "./texts";

it("cuts a text so that it never stands over what follows, be its first letters the widest", () => {
  const widthOf = (text: string): number => text.length * 3 + text.split("W").slice(1).length * 9;
  const context = { font: "", measureText: (text: string) => ({ width: widthOf(text) }) };
  const texts = new Texts(context as unknown as CanvasRenderingContext2D, "12px sans");
  for (const text of ["WWWWWWWWiiiiiiiiiiiiiiii", "iiiiiiiiiiiiiiiiWWWWWWWW", "WiWiWiWiWiWiWiWiWi"]) {
    for (let room = 0; room < 150; room += 7) {
      expect(widthOf(texts.cut(text, room))).toBeLessThanOrEqual(room);
    }
  }
});
