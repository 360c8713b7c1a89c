import { expect, test } from "vitest";
import type { ExecutorEvents } from "../../../src/kernel/executor/executor.ts";
import { ThreadsExecutor } from "../../../src/kernel/executor/threads/threads-executor.ts";
import { loadPrelude } from "../../../src/kernel/tool/runtimes/prelude.ts";
import { executorSuite } from "./suite.ts";

executorSuite("threads");

test("a thread that cannot start is started again later and later, and its error is told", async () => {
  const told: (readonly [keyof ExecutorEvents, unknown])[] = [];
  const missing = new URL("no-such-runtime.ts", import.meta.url).href;
  const runtime = { name: "missing", isInterpreted: false, engine: null, module: missing, files: null };
  const executor = new ThreadsExecutor({
    workers: 1,
    prelude: { ...(await loadPrelude({})), runtimes: [runtime] },
    entropyKey: "a key for tests",
    warmIsolates: 0,
    spinMs: 0,
    nextCallNumber: () => 1,
    emit: (name, event) => void told.push([name, event]),
  });
  await executor.start();
  await expect.poll(() => told.filter(([name]) => name === "executor:delay").length).toBeGreaterThan(2);
  await executor.close();
  expect(told[0]).toMatchObject([
    "executor:lost",
    { reason: "crash", cause: expect.stringMatching(/^Cannot find module 'no-such-runtime.ts'/) },
  ]);
  const delays = told.flatMap(([name, event]) => (name === "executor:delay" ? [Object(event).delayMs as number] : []));
  expect(delays.slice(0, 3)).toEqual([50, 100, 200]);
});
