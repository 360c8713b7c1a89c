import { beforeEach, expect, onTestFinished, test } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import {
  createEngine,
  defineCapability,
  type DurableCall,
  type Engine,
  type ExecuteOptions,
} from "../../../../src/glovebox/index.ts";
import type { KeptCaller, Readmitted } from "../../../../src/kernel/engine/durable/readmission.ts";

/* A call goes on as its key may call now: who asks the engine's servers is the engine. */

let effects: unknown[] = [];
beforeEach(() => {
  effects = [];
});

const note = defineCapability({ name: "note", methods: { add: { handler: (args) => void effects.push(args) } } });
const ORIGIN = { surface: "http", key: "ci", isKeyChecked: true };
const GONE = { kind: "refused", code: "unauthorized", message: "the key has been removed" } as const;

async function open(): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    codeMode: {},
    capabilities: [note],
    policy: { rules: [{ allow: { note: true, pause: true, tools: ["*"] } }] },
    tools: [
      {
        name: "pay",
        description: "Pays.",
        approval: "always",
        capabilities: { note: true },
        source: "export default async (input, { host }) => { await host.note.add('paid'); return 'paid'; };",
      },
      {
        name: "hold",
        description: "Waits for a signal, then notes it.",
        capabilities: { note: true, pause: true },
        source: `export default async (input, { host }) => {
          await host.pause.signal({ name: "go" });
          await host.note.add("went");
          return "went";
        };`,
      },
      {
        name: "nap",
        description: "Waits for a time, then notes it.",
        capabilities: { note: true, pause: true },
        source: `export default async (input, { host }) => {
          await host.pause.until({ date: Date.now() + 1_500 });
          await host.note.add("woke");
        };`,
      },
      {
        name: "outer",
        description: "Calls another tool.",
        capabilities: { tools: ["hold"] },
        source: `export default async (input, { host }) =>
          host.tools.hold({}).catch(({ toolCode }) => toolCode);`,
      },
    ],
  });
  onTestFinished(() => engine.close({ drainMs: 0 }));
  return engine;
}

async function paused(
  engine: Engine,
  name: string,
  options: ExecuteOptions = { origin: ORIGIN },
): Promise<DurableCall> {
  const { error } = await engine.execute({ name, arguments: {} }, options);
  const call = await engine.calls.durable.get(error?.code === "paused" ? (error.details?.id ?? "") : "");
  if (call === undefined) throw new Error("the call is not kept");
  return call;
}

async function goOn(engine: Engine, { id, waits }: DurableCall) {
  for (const wait of waits) {
    if (wait.kind === "approval") await engine.calls.decide(id, { decision: "approve", digest: wait.digest });
    if (wait.kind === "signal") await engine.calls.signal(id, wait.name);
    if (wait.kind === "call") await engine.calls.signal(wait.id, "go");
  }
  return engine.calls.result(id, {}, { waitMs: 120_000 });
}

test.each(["pay", "hold", "nap"])(
  "a call of a key that is gone meanwhile ends, and does nothing more: %s",
  async (name) => {
    const engine = await open();
    const call = await paused(engine, name);
    engine.calls.readmitWith(() => GONE);
    expect(await goOn(engine, call)).toMatchObject({ success: false, error: { code: "unauthorized" } });
    expect(await engine.calls.durable.get(call.id)).toMatchObject({ state: "ended" });
    expect(effects).toEqual([]);
  },
);

test("the engine asks for the key, the tenant and the tool of a call, and of no tool where another tool has called it", async () => {
  const engine = await open();
  const asked: KeptCaller[] = [];
  engine.calls.readmitWith((caller) => {
    asked.push(caller);
    return caller.tool === null ? GONE : { kind: "admitted", options: {} };
  });
  const call = await paused(engine, "outer", { origin: ORIGIN, tenant: "acme" });
  expect(await goOn(engine, call)).toMatchObject({ success: true, output: "unauthorized" });
  expect(asked).toEqual([
    { key: "ci", tenant: "acme", tool: null },
    { key: "ci", tenant: "acme", tool: "outer" },
  ]);
  expect(effects).toEqual([]);
});

test("a program goes on with those tools alone that its key may call by then", async () => {
  const engine = await open();
  const { error } = await codeMode(engine).run(
    `const first = await tools.hold({});
     const names = ["pay", "hold", "nap"];
     const all = await Promise.all(names.map((name) => tools[name]({}).then(() => "ok", (error) => error.code)));
     return [first, ...all];`,
    { origin: ORIGIN, tools: ["run_code", "hold", "na*"] },
  );
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  const now: Readmitted = { kind: "admitted", options: { tools: ["run_code", "n*"] } };
  engine.calls.readmitWith(() => now);
  const [wait] = (await engine.calls.durable.get(id))?.waits ?? [];
  await engine.calls.signal(wait?.kind === "call" ? wait.id : "", "go");
  const result = await engine.calls.result(id, {}, { waitMs: 120_000 });
  expect(result?.output).toMatchObject({ result: ["went", "tool_not_found", "tool_not_found", "ok"] });
});

test("a call goes on where one of several servers knows its key, or no key was checked", async () => {
  const engine = await open();
  const charged: number[] = [];
  engine.calls.readmitWith(() => null);
  engine.calls.readmitWith(() => GONE);
  const unchecked = await paused(engine, "pay", { origin: { surface: "mine", key: "ci" } });
  expect(await goOn(engine, unchecked)).toMatchObject({ output: "paid" });
  using known = engine.calls.readmitWith(() => ({ kind: "admitted", options: { onCpu: (ms) => charged.push(ms) } }));
  expect(await goOn(engine, await paused(engine, "pay"))).toMatchObject({ output: "paid" });
  expect(charged).not.toEqual([]);
  known[Symbol.dispose]();
  expect(await goOn(engine, await paused(engine, "pay"))).toMatchObject({ error: { code: "unauthorized" } });
});
