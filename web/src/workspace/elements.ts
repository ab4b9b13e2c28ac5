/** Elements with texts and children, for the parts of the workspace. */
type Child = Node | string;

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className = "",
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.append(...children);
  return made;
}

/** `hint` is what the pointer shows, and what is read out. */
export function button(text: string, hint: string, act: () => void): HTMLButtonElement {
  const made = element("button", "", text);
  made.type = "button";
  made.title = hint;
  if (text.length < 2) made.setAttribute("aria-label", hint);
  made.addEventListener("click", act);
  return made;
}

/** Buttons of which one is pressed; what is returned presses another. */
export function choice<T extends string>(
  label: string,
  options: readonly (readonly [T, string, string])[],
  chosen: T,
  choose: (value: T) => void,
): { readonly group: HTMLElement; press(value: T): void } {
  const group = element("span", "ws-group");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  const buttons = new Map<T, HTMLButtonElement>();
  const press = (value: T): void => {
    for (const [each, made] of buttons) made.setAttribute("aria-pressed", String(each === value));
  };
  for (const [value, text, hint] of options) {
    const made = button(text, hint, () => {
      press(value);
      choose(value);
    });
    buttons.set(value, made);
    group.append(made);
  }
  press(chosen);
  return { group, press };
}

/** Names and values, one below the other. */
export function facts(pairs: readonly (readonly [string, Child | null])[]): HTMLElement {
  const list = element("dl");
  for (const [name, value] of pairs) {
    if (value === null) continue;
    list.append(element("dt", "", name), element("dd", "", value));
  }
  return list;
}
