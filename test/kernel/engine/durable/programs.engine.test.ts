import { afterAll, beforeAll, expect, test } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import { createEngine, type Engine, type ToolResult } from "../../../../src/glovebox/index.ts";

/* Programs of code mode wait where a tool needs an approval, and by themselves. */

let engine: Engine;
let sold: unknown[] = [];

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: { kind: "threads" },
    codeMode: {},
    policy: { rules: [], approvals: [{ tools: ["sell"] }] },
  });
  const source = "export default ({ item }) => ({ item, sold: true });";
  await engine.register({ name: "sell", description: "Sells.", source });
  await engine.register({ name: "look", description: "Looks.", source: "export default ({ item }) => item * 2;" });
  engine.on("tool:post", ({ tool, result }) => void (tool === "sell" && sold.push(result.output)));
});
afterAll(() => engine.close());

async function run(code: string): Promise<{ readonly id: string; readonly result: () => Promise<ToolResult> }> {
  sold = [];
  const { error } = await codeMode(engine).run(code);
  expect(error?.code).toBe("paused");
  const { id = "" } = (error?.details ?? {}) as { readonly id?: string };
  return { id, result: async () => (await engine.calls.durable.result(id, {}, { waitMs: 5_000 })) as ToolResult };
}

async function approveAll(id: string): Promise<void> {
  const call = await engine.calls.durable.get(id);
  for (const wait of call?.waits ?? []) {
    if (wait.kind !== "approval" || wait.state !== "open") continue;
    await engine.calls.durable.decide(id, { wait: wait.step, decision: "approve", digest: wait.digest });
  }
}

test("a program waits in the middle of a loop, and each of its calls happens once", async () => {
  const { id, result } = await run(`const done = [];
    for (const item of [1, 2]) {
      const twice = await tools.look({ item });
      done.push(await tools.sell({ item: twice }));
    }
    return done.map(({ item }) => item);`);
  await approveAll(id);
  await expect.poll(async () => (await engine.calls.durable.get(id))?.waits.length).toBe(2);
  await expect.poll(async () => (await engine.calls.durable.get(id))?.state).toBe("paused");
  await approveAll(id);
  const { output } = (await result()) as {
    output: { result: unknown; calls: readonly { tool: string; code: string }[] };
  };
  expect(output.result).toEqual([2, 4]);
  expect(output.calls.map(({ tool, code }) => `${tool} ${code}`)).toEqual(["look ok", "sell ok", "look ok", "sell ok"]);
  expect(sold).toEqual([
    { item: 2, sold: true },
    { item: 4, sold: true },
  ]);
});

test("a program waits by itself for a person, a signal and a time", async () => {
  const { id, result } = await run(`const { data } = await approval({ message: "Go on?" });
    const sum = await signal("payment");
    await sleepUntil(Date.now() + 50);
    return { data, sum };`);
  const [wait] = (await engine.calls.durable.get(id))?.waits ?? [];
  const digest = wait?.kind === "approval" ? wait.digest : "";
  await engine.calls.durable.decide(id, { decision: "approve", digest, data: "yes" });
  await engine.calls.durable.signal(id, "payment", 12);
  expect((await result()).output).toMatchObject({ result: { data: "yes", sum: 12 } });
});

test("a program hears that a call was refused, and may go another way", async () => {
  const { id, result } = await run(`try { await tools.sell({ item: 1 }); } catch (error) { return error.code; }`);
  await engine.calls.durable.decide(id, { decision: "refuse", reason: "too early" });
  expect((await result()).output).toMatchObject({ result: "approval_refused" });
});
