import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import { createEngine, type Engine, type ToolResult } from "../../../../src/glovebox/index.ts";
import { ScopedEngine } from "../../../../src/server/access/scoped-engine.ts";
import { Guests } from "../../../../src/server/access/guests.ts";

/* A model waits for a call that was kept, and reads its result: its own calls only, and it decides nothing. */

let engine: Engine;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    codeMode: {},
    policy: { rules: [{ allow: { tools: ["*"], pause: true } }] },
    tools: [
      { name: "refund", description: "Pays back.", approval: "always", source: "export default ({ order }) => order" },
      { name: "long", description: "Long.", approval: "always", source: "export default () => 'x'.repeat(50_000)" },
    ],
  });
});
afterAll(() => engine.close());

function idOf({ error }: ToolResult): string {
  return error?.code === "paused" ? (error.details?.id ?? "") : "";
}

async function decide(id: string, decision: "approve" | "refuse"): Promise<void> {
  const call = await engine.calls.durable.get(id);
  const [wait] = call?.waits ?? [];
  if (wait?.kind !== "approval") throw new Error("the call waits for no approval");
  await engine.calls.durable.decide(id, { decision, digest: wait.digest, reason: "so it is" });
}

const wait = (id: unknown, waitMs?: number) => ({
  name: "wait_call",
  arguments: waitMs === undefined ? { id } : { id, waitMs },
});

describe("wait_call", () => {
  test("is offered where calls may wait, and not where none can", async () => {
    const names = (of: Engine) =>
      of
        .forModels()
        .list()
        .map(({ name }) => name);
    expect(names(engine)).toContain("wait_call");
    const mode = codeMode(engine);
    expect(mode.list().map(({ name }) => name)).toEqual(["run_code", "search_tools", "wait_call"]);
    await using plain = await createEngine({
      workers: 1,
      executor: "threads",
      tools: [{ name: "add", description: "Adds.", source: "export default () => 1" }],
    });
    expect(names(plain)).not.toContain("wait_call");
    expect((await plain.forModels().execute(wait("c_1"))).error?.code).toBe("tool_not_found");
  });

  test("gives what a call ended with, once it is decided", async () => {
    const model = engine.forModels();
    const id = idOf(await model.execute({ name: "refund", arguments: { order: "A-1" } }));
    expect((await model.execute(wait(id, 0))).error).toMatchObject({ code: "paused", details: { id } });
    const waiting = model.execute(wait(id, 25_000));
    await decide(id, "approve");
    expect((await waiting).output).toBe("A-1");
  });

  test("gives the error of a call that was refused", async () => {
    const model = engine.forModels();
    const id = idOf(await model.execute({ name: "refund", arguments: { order: "A-2" } }));
    await decide(id, "refuse");
    const { error } = await model.execute(wait(id));
    expect(error).toMatchObject({ code: "approval_refused", message: expect.stringContaining("so it is") as string });
  });

  test("cuts a long output as that of any call", async () => {
    const model = engine.forModels();
    const id = idOf(await model.execute({ name: "long", arguments: {} }));
    await decide(id, "approve");
    expect(String((await model.execute(wait(id))).output)).toContain("read_output");
  });

  test("says of a program of code mode how it has ended", async () => {
    const mode = codeMode(engine);
    const id = idOf(await mode.run('return await tools.refund({ order: "A-3" });'));
    await decide(id, "approve");
    expect((await mode.execute(wait(id))).output).toMatchObject({ result: "A-3" });
  });

  test("finds the calls of its caller alone", async () => {
    const guests = new Guests();
    const scoped = new ScopedEngine(engine);
    const modelOf = (name: string, tenant: string | null) => {
      const runner = scoped.runnerFor(guests.admit({ name, tenant, roles: ["execute", "approve", "calls"] }));
      const model = runner.forModels?.();
      if (model === undefined) throw new Error("the runner is for no model");
      return model;
    };
    const own = modelOf("ann", "acme");
    const id = idOf(await own.execute({ name: "refund", arguments: { order: "A-4" } }));
    await decide(id, "approve");
    for (const other of [modelOf("bob", "acme"), modelOf("ann", "other"), engine.forModels()]) {
      expect((await other.execute(wait(id))).error?.code).toBe("invalid_arguments");
    }
    expect((await own.execute(wait(id))).output).toBe("A-4");
  });

  test.each([
    [{ id: 7 }],
    [{ id: "c".repeat(1_000) }],
    [{ id: "c_x", waitMs: 25_001 }],
    [{ id: "c_x", waitMs: -1 }],
    [{ id: "c_x", waitMs: "5" }],
    [{ id: "c_none" }],
  ])("refuses %j", async (args) => {
    const { error } = await engine.forModels().execute({ name: "wait_call", arguments: args });
    expect(error?.code).toBe("invalid_arguments");
  });
});
