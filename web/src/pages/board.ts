// One board of the rig, live; and its buttons, where the server was told to allow them.

import { csrfHeader } from "../base/answers";
import { actedText, followRig, tell, type Acted } from "./rig-state";

/** Keeps the state up to date, and lets buttons act without leaving the page. */
export function start(element: HTMLElement): void {
  followRig(element, () => void showBoots(element.ownerDocument));
  const forms = [...element.querySelectorAll<HTMLFormElement>(".controls form")];
  for (const form of forms) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void act(form, forms, element);
    });
  }
}

/** The list of boots as the server makes it now: one has come to its end, as like as not. */
async function showBoots(page: Document): Promise<void> {
  const current = page.getElementById("boots");
  const answer = await fetch(page.location.href, { headers: { Accept: "text/html" } });
  if (current === null || !answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const list = fresh.getElementById("boots");
  if (list !== null) current.replaceWith(page.importNode(list, true));
}

async function act(
  form: HTMLFormElement,
  all: readonly HTMLFormElement[],
  element: HTMLElement,
): Promise<void> {
  const buttons = all.flatMap((each) => [...each.querySelectorAll("button")]);
  for (const button of buttons) button.disabled = true;
  tell(element, "…");
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      headers: { Accept: "application/json", ...csrfHeader(element.ownerDocument) },
    });
    const outcome = (await answer.json()) as Acted | { readonly error: Omit<Acted, "action"> };
    tell(element, "error" in outcome ? `${outcome.error.message}: ${outcome.error.remedy}` : actedText(outcome));
  } catch {
    tell(element, "the workbench does not answer: is `benchvise serve` still running?");
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}
