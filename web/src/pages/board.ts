// One board of the rig, live; and its buttons, where the server was told to allow them.

import { followRig } from "./rig-state";

interface Outcome {
  readonly action: string;
  readonly state: "running" | "done" | "failed";
  readonly message: string;
  readonly remedy: string;
}

/** Keeps the state up to date, and lets buttons act without leaving the page. */
export function start(element: HTMLElement): void {
  followRig(element);
  const forms = [...element.querySelectorAll<HTMLFormElement>(".controls form")];
  const told = element.querySelector<HTMLElement>('[data-field="last"]');
  for (const form of forms) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void act(form, forms, (text) => {
        if (told !== null) told.textContent = text;
      });
    });
  }
}

async function act(
  form: HTMLFormElement,
  all: readonly HTMLFormElement[],
  tell: (text: string) => void,
): Promise<void> {
  const buttons = all.flatMap((one) => [...one.querySelectorAll("button")]);
  for (const button of buttons) button.disabled = true;
  tell("…");
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      headers: { Accept: "application/json" },
    });
    const said = (await answer.json()) as Outcome | { readonly error: Omit<Outcome, "action"> };
    tell("error" in said ? `${said.error.message}: ${said.error.remedy}` : outcomeText(said));
  } catch {
    tell("the workbench does not answer: is `benchvise serve` still running?");
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

/** `power off: done`, or what kept it from being so. */
export function outcomeText({ action, state, message, remedy }: Outcome): string {
  const why = [message, remedy].filter((part) => part !== "").join(": ");
  return why === "" ? `${action}: ${state}` : `${action}: ${state}. ${why}`;
}
