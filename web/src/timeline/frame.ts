import { FittedCanvas } from "./brush";

/** The elements of a timeline: mini-map above, names, axis, and the stage with the bars. */
export interface Elements {
  readonly root: HTMLElement;
  readonly mapHost: HTMLElement;
  readonly map: FittedCanvas;
  readonly corner: HTMLElement;
  readonly axisHost: HTMLElement;
  readonly axis: FittedCanvas;
  readonly namesHost: HTMLElement;
  readonly names: FittedCanvas;
  /** What has the keyboard. */
  readonly stage: HTMLElement;
  readonly bars: FittedCanvas;
  readonly thumb: HTMLElement;
  readonly note: HTMLElement;
  /** Read out when it changes. */
  readonly status: HTMLElement;
}

let frames = 0;

export function buildFrame(host: HTMLElement, name: string): Elements {
  frames += 1;
  const add = (parent: HTMLElement, className: string): HTMLElement => {
    const element = parent.appendChild(document.createElement("div"));
    element.className = className;
    return element;
  };
  const paper = (parent: HTMLElement): FittedCanvas => {
    const canvas = parent.appendChild(document.createElement("canvas"));
    canvas.setAttribute("aria-hidden", "true");
    return new FittedCanvas(canvas, parent);
  };
  const root = add(host, "tl");
  const mapHost = add(root, "tl-map");
  const map = paper(mapHost);
  const corner = add(root, "tl-corner");
  const axisHost = add(root, "tl-axis");
  const axis = paper(axisHost);
  const namesHost = add(root, "tl-names");
  const names = paper(namesHost);
  const stage = add(root, "tl-stage");
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  stage.setAttribute("aria-label", `Timeline of ${name}`);
  stage.setAttribute("aria-describedby", `tl-help-${frames}`);
  const bars = paper(stage);
  const thumb = add(stage, "tl-thumb");
  const note = add(stage, "tl-note");
  note.hidden = true;
  const help = add(root, "tl-unseen");
  help.id = `tl-help-${frames}`;
  help.textContent =
    "Arrow left and right move in time, up and down choose a row, W and S zoom, comma and full stop " +
    "choose the item before and behind, Enter shows it, M filters to it, Escape chooses nothing.";
  const status = add(root, "tl-unseen");
  status.setAttribute("role", "status");
  return {
    root, mapHost, map, corner, axisHost, axis, namesHost, names, stage, bars, thumb, note, status,
  };
}
