import { expect, test } from "vitest";
import { beforeProcessEnds } from "../../../../src/kernel/executor/threads/process-end.ts";

test("at the process's end all are ordered to end before any is waited for", () => {
  const others = process.listeners("exit");
  const done: string[] = [];
  const ending = (name: string) => ({
    order: () => void done.push(`order ${name}`),
    await: () => void done.push(`await ${name}`),
  });
  const guards = ["a", "b", "c"].map((name) => beforeProcessEnds(ending(name)));
  guards[1]?.[Symbol.dispose]();
  const [listener, ...more] = process.listeners("exit").filter((known) => !others.includes(known));
  expect(more).toEqual([]);
  listener?.(0);
  expect(done).toEqual(["order a", "order c", "await a", "await c"]);
  for (const guard of guards) guard[Symbol.dispose]();
  expect(process.listeners("exit")).toEqual(others);
});
