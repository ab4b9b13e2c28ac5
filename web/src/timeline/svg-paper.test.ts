import { expect, test } from "vitest";

import { svgFile } from "./snapshot";
import { escaped, runsOf, SvgPaper } from "./svg-paper";
import type { Theme } from "./theme";

const measure = (text: string): TextMetrics => ({ width: text.length * 6 }) as TextMetrics;
const paper = (ratio = 1): SvgPaper => new SvgPaper(200, 100, ratio, measure);

/** Parsed, which fails for what is no XML. */
function parsed(text: string): Document {
  const page = new DOMParser().parseFromString(text, "image/svg+xml");
  expect(page.querySelector("parsererror")?.textContent).toBeUndefined();
  return page;
}

test("texts stay texts, whatever a trace calls its tasks", () => {
  const name = `</text><script>alert("1")</script>&\u0000\u0007\ud800 \u202e 'µs'`;
  const on = paper();
  on.font = "600 11px Inter, sans-serif";
  on.textBaseline = "middle";
  on.textAlign = "right";
  on.fillText(name, 10, 20);
  const page = parsed(on.element(0, 0).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"'));
  const text = page.querySelector("text");
  expect(page.querySelector("script")).toBeNull();
  expect(text?.textContent).toBe(name.replaceAll(/\p{Cc}|\p{Cs}/gu, "\ufffd"));
  expect(text?.getAttribute("font-weight")).toBe("600");
  expect(text?.getAttribute("text-anchor")).toBe("end");
  expect(Number(text?.getAttribute("y"))).toBeGreaterThan(20);
});

test("shapes are where the transformation puts them, in the colour and opacity that is set", () => {
  const on = paper(2);
  on.setTransform(2, 0, 0, 2, 0, 0);
  on.save();
  on.translate(10, 20);
  on.rotate(-Math.PI / 2);
  on.fillStyle = "#123456";
  on.globalAlpha = 0.25;
  on.fillRect(1, 2, 3, 4);
  on.restore();
  on.fillRect(0, 0, 0, 5);
  on.beginPath();
  on.moveTo(0, 0);
  on.lineTo(1.005, 2);
  on.strokeStyle = "#abc";
  on.stroke();
  const page = parsed(on.element(7, 8).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"'));
  const [rect, ...others] = page.querySelectorAll("rect");
  expect(others).toEqual([]);
  expect(rect?.getAttribute("transform")).toBe("matrix(0 -2 2 0 20 40)");
  expect(rect?.getAttribute("fill-opacity")).toBe("0.25");
  expect(page.querySelector("path")?.getAttribute("transform")).toBe("matrix(2 0 0 2 0 0)");
  expect(page.documentElement.getAttribute("width")).toBe("100");
  expect(page.documentElement.getAttribute("viewBox")).toBe("0 0 200 100");
});

test("every pixel of a line is in exactly one run of its colour, and no other pixel is", () => {
  let seed = 7;
  const next = (): number => (seed = (seed * 1103515245 + 12345) % 2 ** 31);
  const colours = [[0, 0, 0, 0], [255, 0, 0, 255], [0, 128, 255, 255]] as const;
  const wanted = Array.from({ length: 500 }, () => colours[(next() >> 16) % 3] ?? colours[0]);
  const shown = new Array<string>(500).fill("");
  for (const [colour, runs] of runsOf(new Uint8ClampedArray(wanted.flat()))) {
    for (const [from, to] of runs) {
      for (let at = from; at < to; at += 1) {
        expect(shown[at]).toBe("");
        shown[at] = colour;
      }
    }
  }
  expect(shown).toEqual(wanted.map(([, green, , alpha]) => (alpha === 0 ? "" : green === 0 ? "#ff0000" : "#0080ff")));
});

test("a file has each timeline below its title", () => {
  const theme = { ink: "#111", page: "#fff", sans: '"Inter", sans-serif' } as Theme;
  const page = parsed(svgFile([
    { title: "a & b", width: 300, height: 50, content: '<rect width="1" height="1"/>' },
    { title: "<c>", width: 200, height: 40, content: "" },
  ], theme));
  expect([...page.querySelectorAll("text")].map(({ textContent }) => textContent)).toEqual(["a & b", "<c>"]);
  expect(page.querySelector("title")?.textContent).toBe("a & b; <c>");
  expect(page.documentElement.getAttribute("viewBox")).toBe("0 0 300 146");
  expect(escaped("\u{1f50d}\n")).toBe("\u{1f50d}\n");
});
