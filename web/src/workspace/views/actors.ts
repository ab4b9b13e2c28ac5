import type { Row } from "../../timeline/source";
import { lengthOf, type Span } from "../../timeline/span";
import type { Workspace } from "../panel";
import { type Attributes, button, choice, labelled, make } from "./elements";

const MOST = 3000;
const FAR = 0.05;
const NEAR = 0.005;

/**
 * A field that says whom the view is about, and changes it for all views. Returns it with what
 * brings it up to date.
 */
export function actorField(workspace: Workspace, every: string): [HTMLElement, () => void] {
  // A handler has a row for each CPU, and is one actor.
  const actors = [...new Set(workspace.rows.flatMap(({ actor }) => (actor === null ? [] : [actor])))];
  const options = actors.slice(0, MOST).map((actor) => [String(actor), workspace.actorName(actor)] as const);
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

/**
 * Moves the timeline to a span of an actor and chooses what is there; where no actor is known,
 * what a CPU did.
 */
export function reveal(
  workspace: Workspace,
  actor: number | null,
  begin: number,
  end = begin,
  cpu: number | null = null,
): void {
  const { selection } = workspace;
  const row = (actor === null ? null : workspace.rowOf(actor)) ?? cpuRow(workspace, cpu);
  const place = row === null ? null : { row: row.id, time: begin };
  const wanted = end > begin ? { begin, end } : around(begin, selection.value.view, selection.duration);
  selection.reveal(wanted, place, actor);
}

/** What to see of a moment: as much as now, unless that is most of the trace. */
export function around(time: number, view: Span, duration: number): Span {
  const length = lengthOf(view);
  const shown = length > duration * FAR ? duration * NEAR : length;
  // The timeline shows five times what is wanted, or what it shows already.
  return { begin: time - shown / 10, end: time + shown / 10 };
}

/** The row of a CPU; of any where none is named. */
function cpuRow({ rows }: Workspace, cpu: number | null): Row | null {
  const cpus = rows.filter(({ kind }) => kind === "cpu");
  return cpus.find(({ name }) => name === `CPU ${cpu ?? ""}`) ?? cpus[0] ?? null;
}

/** A button that reads as a number or a name, and leads to a place of the timeline. */
export function link(text: string, act: () => void, title: string, more: Attributes = {}): HTMLButtonElement {
  return button(text, act, { class: "view-link", title, ...more });
}
