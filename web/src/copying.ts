const SAID = 1500;

/** Puts a button beside each element with `data-copy`, which takes its text to the clipboard. */
export function addCopyButtons(page: ParentNode): void {
  for (const text of page.querySelectorAll<HTMLElement>("[data-copy]")) {
    const button = text.ownerDocument.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${text.dataset["copy"] ?? ""}`);
    button.addEventListener("click", () => {
      void copied(text).then((done) => {
        button.textContent = done ? "Copied" : "Selected";
        setTimeout(() => {
          button.textContent = "Copy";
        }, SAID);
      });
    });
    text.before(button);
  }
}

/** Whether the clipboard took the text; where it is out of reach, the text is selected instead. */
async function copied(text: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text.textContent);
    return true;
  } catch {
    getSelection()?.selectAllChildren(text);
    return false;
  }
}
