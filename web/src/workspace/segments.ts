import { button, make } from "./views/elements";

/** Buttons in a row of which one is pressed. */
export interface Segments<T extends string> {
  readonly group: HTMLElement;
  /** Shows another as pressed. */
  press(value: T): void;
}

/** Each option is its value, its text, and what it means. */
export function segments<T extends string>(
  label: string,
  options: readonly (readonly [T, string, string])[],
  chosen: T,
  choose: (value: T) => void,
): Segments<T> {
  const group = make("span", { class: "ws-group", role: "group", "aria-label": label });
  const buttons = new Map<T, HTMLButtonElement>();
  const press = (value: T): void => {
    for (const [each, item] of buttons) item.setAttribute("aria-pressed", String(each === value));
  };
  for (const [value, text, title] of options) {
    const item = button(text, () => {
      press(value);
      choose(value);
    }, { title });
    buttons.set(value, item);
    group.append(item);
  }
  press(chosen);
  return { group, press };
}
