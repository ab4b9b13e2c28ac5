import { afterEach, expect, it } from "vitest";

import { reasonOf, watchTicks } from "./ticking";

afterEach(() => { document.body.replaceChildren(); });

it("lets the button be pressed when as many are ticked as are compared, and says what is missing", () => {
  const boxes = "<input type=checkbox>".repeat(8);
  document.body.innerHTML = `<form>${boxes}<span data-least=2 data-most=6 data-things=runs><button></button><i role=status></i></span></form>`;
  watchTicks(document);
  const button = document.querySelector("button");
  const seen = [...document.querySelectorAll("input")].map((box) => {
    const before = [button?.disabled, document.querySelector("i")?.textContent];
    box.click();
    return before;
  });
  expect(seen.slice(0, 3)).toEqual([[true, "Tick 2 to 6 runs"], [true, "1 ticked: tick one more"], [false, ""]]);
  expect(seen[6]).toEqual([false, ""]);
  expect(seen[7]).toEqual([true, "7 runs are ticked, at most 6 are compared at once"]);
});

it("names one number where there is one", () => {
  expect(reasonOf(0, 2, 2, "traces")).toBe("Tick 2 traces");
});
