import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolResult } from "../../../../src/glovebox/index.ts";
import type { DurableCall } from "../../../../src/kernel/store/calls/durable/durable-call.ts";
import { type ModuleEngine, openModuleEngine } from "./module-engine.ts";
import { APPROVALS } from "./shapes.ts";

/* What libraries call `needsApproval` and `requireApproval` is the approval of a person before a call. */

let modules: ModuleEngine;

beforeAll(async () => {
  modules = await openModuleEngine({ policy: { rules: [{ allow: { pause: true } }] } });
  await modules.register("approvals", APPROVALS);
});
afterAll(() => modules[Symbol.asyncDispose]());

async function paused(name: string, args: Record<string, unknown>): Promise<DurableCall> {
  const { error } = await modules.engine.execute({ name, arguments: args });
  const call = await modules.engine.calls.durable.get(error?.code === "paused" ? (error.details?.id ?? "") : "");
  if (call === undefined) throw new Error(`the call does not wait: ${error?.message}`);
  return call;
}

async function decided(call: DurableCall, decision: "approve" | "refuse"): Promise<ToolResult | undefined> {
  const [wait] = call.waits;
  if (wait?.kind !== "approval") throw new Error("the call waits for no approval");
  const { durable } = modules.engine.calls;
  const made = decision === "approve" ? { decision, digest: wait.digest } : { decision, reason: "too much" };
  await durable.decide(call.id, { wait: wait.step, ...made });
  return durable.result(call.id, {}, { waitMs: 120_000 });
}

const ALWAYS = ["ai_always", "agents_always", "mastra_always", "plain_always"];
const SOME = ["ai_some", "agents_some", "mastra_some", "plain_some"];

test.each(ALWAYS)("%s, whose calls all need an approval, does not start without one", async (name) => {
  expect(modules.engine.get(name)?.approval).toBe("always");
  expect(modules.engine.get(name)?.capabilities).toEqual({});
  expect((await decided(await paused(name, { amount: 1 }), "approve"))?.output).toBe(1);
});

describe.each(SOME)("%s, whose function says which calls need an approval,", (name) => {
  test("asks for the capability to wait", () => {
    expect(modules.engine.get(name)?.approval).toBeUndefined();
    expect(modules.engine.get(name)?.capabilities).toEqual({ pause: true });
  });

  test("runs others at once", async () => {
    expect(await modules.output(name, { amount: 1 })).toBe(1);
  });

  test("waits for a person, who sees the arguments, and goes on once", async () => {
    const call = await paused(name, { amount: 500 });
    const message = expect.stringContaining(name) as unknown;
    expect(call.waits).toMatchObject([{ kind: "approval", message, arguments: { amount: 500 } }]);
    expect((await decided(call, "approve"))?.output).toBe(500);
  });

  test("does not run where the person refuses", async () => {
    const result = await decided(await paused(name, { amount: 500 }), "refuse");
    expect(result?.error).toMatchObject({ code: "approval_refused", details: { reason: "too much" } });
    expect(result?.metadata.logs).toEqual([]);
  });
});

test("a function that fails, or answers with a reason, asks for an approval", async () => {
  expect((await paused("fails", { amount: 1 })).waits).toMatchObject([{ kind: "approval" }]);
  expect((await paused("reasoned", { amount: 1 })).waits).toMatchObject([{ message: "it is a lot" }]);
});

test("capabilities that a place names do not take away that a tool may wait", async () => {
  await using placed = await openModuleEngine({ policy: { rules: [{ allow: { kv: true, pause: true } }] } });
  await placed.register("placed", APPROVALS, { capabilities: { kv: true } });
  expect(placed.engine.get("ai_some")?.capabilities).toEqual({ kv: true, pause: true });
});
