/** Elements made in one expression. Text only ever becomes text, whatever a trace calls its tasks. */

type Child = Node | string;

export type Attributes = Readonly<Record<string, string | boolean | null>>;

/** `true` sets an attribute without a value; `false` and null leave it out. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/**
 * Puts a workspace into its place of the page, which then has the whole window. The style sheet knows
 * that by a class: were it to look for the workspace itself (`:has`), the browser would work out the
 * style of the whole page again with every text that a frame of the timeline changes.
 */
export function mount(host: HTMLElement, workspace: HTMLElement): void {
  host.replaceChildren(workspace);
  document.body.classList.add("has-workspace");
}

/** A button that does something on this page. */
export function button(text: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = make("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", act);
  return element;
}

/** A field with its name before it. */
export function labelled(text: string, field: HTMLElement): HTMLLabelElement {
  return make("label", { class: "field" }, make("span", {}, text), field);
}

/** A choice of one; `changed` gets its value. */
export function choice(
  options: readonly (readonly [value: string, text: string])[],
  value: string,
  changed: (value: string) => void,
): HTMLSelectElement {
  const element = make("select");
  for (const [option, text] of options) {
    element.append(make("option", { value: option, selected: option === value }, text));
  }
  element.addEventListener("change", () => {
    changed(element.value);
  });
  return element;
}

/** A box to tick. */
export function tick(text: string, on: boolean, changed: (on: boolean) => void): HTMLLabelElement {
  const box = make("input", { type: "checkbox", checked: on });
  box.addEventListener("change", () => {
    changed(box.checked);
  });
  return make("label", { class: "tick" }, box, text);
}

/** What stands in a row of a table. */
export type Cells = readonly Child[];

/** A table with a caption, whose first `texts` columns are no numbers; the first of all names its row. */
export function namedTable(
  kind: string, caption: string, columns: readonly string[], rows: readonly Cells[], texts: number,
): HTMLTableElement {
  const side = (at: number): string | null => (at < texts ? null : "num");
  return make("table", { class: `view-table ${kind}` },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...columns.map((name, at) => make("th", { scope: "col", class: side(at) }, name)))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell, at) =>
      at === 0 ? make("th", { scope: "row", class: side(at) }, cell) : make("td", { class: side(at) }, cell))))));
}
