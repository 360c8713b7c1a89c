import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import {
  createEngine,
  type DurableCall,
  type Engine,
  type EngineOptions,
  type ToolResult,
} from "../../../../src/glovebox/index.ts";

/* What a person has edited is what runs, and whoever asked for something else hears it. */

let engine: Engine;
let sold: unknown[] = [];
const ITEM = { type: "object", properties: { item: { type: "integer" } }, required: ["item"] };

const OPTIONS: EngineOptions = {
  workers: 1,
  executor: "threads",
  codeMode: {},
  policy: {
    rules: [{ allow: { pause: true, tools: ["*"] } }],
    approvals: [{ tools: ["sell", "late", "login", "fails"] }],
  },
  tools: [
    { name: "sell", description: "Sells.", inputSchema: ITEM, source: "export default ({ item }) => ({ item });" },
    {
      name: "late",
      description: "Waits once more.",
      inputSchema: ITEM,
      capabilities: { pause: true },
      source: "export default async ({ item }, { host }) => [item, await host.pause.signal({ name: 'go' })];",
    },
    {
      name: "login",
      description: "Logs in.",
      inputSchema: { properties: { user: { type: "string" }, pin: { type: "string", format: "password" } } },
      source: "export default ({ user, pin }) => user + pin.length;",
    },
    { name: "fails", description: "Fails.", source: "export default () => { throw new Error('no'); };" },
    {
      name: "outer",
      description: "Sells.",
      capabilities: { tools: ["sell"] },
      source: "export default (input, { host }) => host.tools.sell(input).catch(({ toolCode }) => toolCode);",
    },
  ],
};

beforeAll(async () => {
  engine = await createEngine(OPTIONS);
  engine.on("tool:post", ({ tool, result }) => void (tool === "sell" && sold.push(result.output)));
});
afterAll(() => engine.close());

async function pausedBy(result: Promise<ToolResult>): Promise<DurableCall> {
  const { error } = await result;
  const call = await engine.calls.durable.get(error?.code === "paused" ? (error.details?.id ?? "") : "");
  if (call === undefined) throw new Error("the call is not kept");
  return call;
}

/** Approves what a call waits for, each with the arguments of its place; `null`: as they are. */
async function approve({ id, waits }: DurableCall, edits: readonly (object | null)[]): Promise<void> {
  const open = waits.flatMap((wait) => (wait.kind === "approval" && wait.state === "open" ? [wait] : []));
  for (const [at, { step, digest }] of open.entries()) {
    const edit = edits[at] ?? null;
    const more = edit === null ? {} : { arguments: edit };
    await engine.calls.decide(id, { wait: step, decision: "approve", digest, ...more });
  }
}

const endOf = (id: string) => engine.calls.result(id, {}, { waitMs: 120_000 });

async function editedEnd(name: string, args: object, edit: object | null): Promise<ToolResult | undefined> {
  const call = await pausedBy(engine.execute({ name, arguments: { ...args } }));
  await approve(call, [edit]);
  return endOf(call.id);
}

describe("a call whose arguments a person has edited", () => {
  test("says so in its result, and others do not", async () => {
    const result = await editedEnd("sell", { item: 1 }, { item: 2 });
    expect(result).toMatchObject({ output: { item: 2 }, metadata: { edited: { arguments: { item: 2 } } } });
    expect((await editedEnd("sell", { item: 1 }, null))?.metadata).not.toHaveProperty("edited");
  });

  test("tells no password, and of long arguments the beginning", async () => {
    const result = await editedEnd("login", { user: "ann", pin: "1" }, { user: "bob", pin: "4711" });
    expect(result?.metadata.edited).toEqual({ arguments: { user: "bob", pin: "[redacted]" } });
    const long = await editedEnd("login", { user: "ann", pin: "1" }, { user: "x".repeat(5_000), pin: "1" });
    expect(long?.metadata.edited?.arguments).toMatch(/^\{"user":"x{1,1000}… \(\d+ characters\)$/);
  });

  test("tells a model, whether it succeeds or fails", async () => {
    const model = engine.forModels();
    const read = async (name: string) => {
      const call = await pausedBy(model.execute({ name, arguments: { item: 1 } }));
      await approve(call, [{ item: 2 }]);
      return model.execute({ name: "wait_call", arguments: { id: call.id } });
    };
    const note = 'A person has edited the arguments of this call: it ran with {"item":2}';
    expect((await read("sell")).output).toEqual({ output: { item: 2 }, note });
    expect((await read("fails")).error?.message).toBe(`no (${note})`);
  });
});

describe("a program whose call a person has edited", () => {
  const run = (code: string) => pausedBy(codeMode(engine).run(code));
  const CALLS = [
    { tool: "sell", code: "ok", ms: expect.any(Number) as number },
    { tool: "sell", code: "ok", ms: expect.any(Number) as number, edited: { arguments: { item: 20 } } },
  ];

  test("hears which one, also in a later run, and its caller reads it among its calls", async () => {
    sold = [];
    const call = await run(`const calls = [tools.sell({ item: 1 }), tools.sell({ item: 2 })];
      const done = await Promise.all(calls);
      await signal("go");
      return [done.map(({ item }) => item), calls.map(({ edited }) => edited?.arguments ?? null)];`);
    await approve(call, [null, { item: 20 }]);
    await engine.calls.signal(call.id, "go");
    const result = await endOf(call.id);
    expect(result?.output).toMatchObject({
      result: [
        [1, 20],
        [null, { item: 20 }],
      ],
      calls: CALLS,
    });
    expect(sold).toEqual([{ item: 1 }, { item: 20 }]);
  });

  test("says so where it fails", async () => {
    const call = await run(`await tools.sell({ item: 2 }); throw new Error("no");`);
    await approve(call, [{ item: 20 }]);
    const error = (await endOf(call.id))?.error;
    expect(error?.message).toContain("Calls of tools: sell ok with edited arguments.");
    expect(error?.details).toMatchObject({ calls: CALLS.slice(1) });
  });

  test("hears it of a call that has waited once more", async () => {
    const call = await run(`const call = tools.late({ item: 2 }); return [await call, call.edited];`);
    await approve(call, [{ item: 20 }]);
    const child = async () => {
      const waits = (await engine.calls.durable.get(call.id))?.waits ?? [];
      return waits.flatMap((wait) => (wait.kind === "call" ? [wait.id] : []))[0];
    };
    await expect.poll(child).toBeDefined();
    await engine.calls.signal((await child()) ?? "", "go", 7);
    expect((await endOf(call.id))?.output).toMatchObject({ result: [[20, 7], { arguments: { item: 20 } }] });
  });
});

describe("arguments that their schema refuses reach nobody", () => {
  const nobody = async () => (await engine.calls.durable.list({ state: "paused", tool: "outer" })).calls.length;

  test("of a call of another tool", async () => {
    const before = await nobody();
    const result = await engine.execute({ name: "outer", arguments: { item: "much" } });
    expect([result.output, await nobody()]).toEqual(["invalid_arguments", before]);
  });

  test("of a program's call", async () => {
    const { error, output } = await codeMode(engine, { typeCheck: "off" }).run(
      `try { await tools.sell({ item: "much" }); } catch ({ code, details }) { return [code, details.violations[0].pointer]; }`,
    );
    expect([error, output]).toMatchObject([null, { result: ["invalid_arguments", "/item"] }]);
  });
});
