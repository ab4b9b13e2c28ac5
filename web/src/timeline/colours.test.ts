import { expect, it } from "vitest";

import { actorColour, mixed, pixelOf } from "./colours";

it("gives workers of one kind one colour, whatever their numbers", () => {
  expect(actorColour("thread", "kworker/0:1")).toBe(actorColour("thread", "kworker/1:2"));
  expect(actorColour("irq", "eth0")).toMatch(/^--irq-[123]$/);
  const names = ["bash", "iperf3", "sshd", "ksoftirqd/0", "rcu_sched", "systemd", "stress-ng", "swapper"];
  expect(new Set(names.map((name) => actorColour("thread", name))).size).toBeGreaterThan(4);
});

it("makes pixels of colours", () => {
  expect(pixelOf("#0b62b8")).toBe(0xffb8620b);
  expect(pixelOf("rgb(1, 2, 3)")).toBe(0xff030201);
  expect(mixed("#ffffff", "#000000", 0.5)).toBe("rgb(128, 128, 128)");
});
