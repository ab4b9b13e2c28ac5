import { KEYS } from "../timeline/keys";
import { legend } from "./legend";
import { button, make } from "./views/elements";

const NAMES: Readonly<Record<string, string>> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
};

/** What the keys and the mouse do, in a dialog. */
export function helpDialog(): HTMLDialogElement {
  const mouse = [
    ["Drag", "move in time, and from row to row"],
    ["Ctrl + wheel, pinch", "zoom around the pointer"],
    ["Wheel", "from row to row; Shift + wheel in time"],
    ["Shift + drag, drag on the axis", "filter all views to a span"],
    ["Double click on the axis", "write a note on this moment"],
    ["Shift + drag over rows", "sum up these rows in Area"],
    ["Click, double click", "choose an item, show it in full width"],
  ].flatMap(([act, help]) => [make("dt", {}, act ?? ""), make("dd", {}, help ?? "")]);
  const keys = KEYS.flatMap(({ keys: names, help }) => [
    make("dt", {}, ...names.flatMap((name) => [make("kbd", {}, NAMES[name] ?? (name.length === 1 ? name.toUpperCase() : name)), " "])),
    make("dd", {}, help),
  ]);
  for (const [key, help] of [["C", "go to what woke or raised what is chosen, back to the interrupt that began it"], ["Shift+C", "go to the first that it woke or raised"], ["/", "search in names and events; Enter goes to the next, Shift+Enter to the one before"], ["J", "go to the next event that the search found"], ["K", "go to the one before"], ["?", "show this help"]] as const) {
    keys.push(make("dt", {}, make("kbd", {}, key)), make("dd", {}, help));
  }
  const dialog = make("dialog", { class: "ws-keys", "aria-label": "Mouse and keys" });
  // The first that takes the focus: the dialog opens at its top.
  const head = make("div", { class: "ws-keys-head" }, make("h2", {}, "Mouse and keys"), button("Close", () => { dialog.close(); }));
  dialog.append(head, make("div", { class: "ws-keys-columns" },
    make("div", {}, make("dl", {}, ...mouse), make("h2", {}, "States and colours"), legend()),
    make("dl", {}, ...keys)));
  return dialog;
}
