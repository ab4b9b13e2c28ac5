import type { Workspace } from "../panel";
import { button, choice, labelled, make } from "./elements";

const MOST = 3000;

/**
 * A field that says whom the view is about, and changes it for all views. Returns it with what
 * brings it up to date.
 */
export function actorField(workspace: Workspace, every: string): [HTMLElement, () => void] {
  const options = workspace.rows
    .filter(({ actor }) => actor !== null)
    .slice(0, MOST)
    .map(({ actor }) => [String(actor), workspace.actorName(actor ?? 0)] as const);
  const field = choice([["", every], ...options], "", (value) => {
    workspace.selection.setActor(value === "" ? null : Number(value));
  });
  const update = (): void => {
    const { actor } = workspace.selection.value;
    const value = actor === null ? "" : String(actor);
    if (field.querySelector(`option[value="${value}"]`) === null && actor !== null) {
      field.append(make("option", { value }, workspace.actorName(actor)));
    }
    field.value = value;
  };
  update();
  return [labelled("Actor", field), update];
}

/** Moves the time line to a span of an actor and chooses what is there. */
export function reveal(workspace: Workspace, actor: number | null, begin: number, end = begin): void {
  const row = actor === null ? null : workspace.rowOf(actor);
  workspace.selection.reveal(
    { begin, end: Math.max(end, begin + 1) },
    row === null ? null : { row: row.id, time: begin },
    actor,
  );
}

/** A button that reads as a number or a name, and leads to a place of the time line. */
export function link(text: string, act: () => void, title: string): HTMLButtonElement {
  return button(text, act, { class: "view-link", title });
}
