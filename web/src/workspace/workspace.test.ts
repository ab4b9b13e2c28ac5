import { expect, it } from "vitest";

import { row } from "../timeline/fixtures";
import type { Row } from "../timeline/source";
import { traceLook } from "../timeline/trace-look";
import { fullName } from "./trace-view";

it("names idle CPUs, which have no row, and threads with their numbers", () => {
  const rows: readonly Row[] = [row(0, "cpu", "CPU 0"), row(7, "thread", "sleep"), row(8, "irq", "eth0")];
  const look = traceLook(rows, [], [], { 3: "idle/0" });
  const rowOf = (actor: number): Row | null => rows.find((each) => each.actor === actor) ?? null;
  const name = (actor: number): string => fullName({ source: { look }, rowOf } as never, actor);
  expect(name(3)).toBe("idle/0");
  expect(name(7)).toBe("sleep 1007");
  expect(name(8)).toBe("eth0");
});
