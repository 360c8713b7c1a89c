import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type DurableCall,
  type Engine,
  type EngineOptions,
} from "../../../../src/glovebox/index.ts";
import { temporaryFolder } from "../../tool/temporary.ts";

/* A tool that is replaced while an approval is open: what was shown is what runs, or nothing is. */

let effects: unknown[] = [];
beforeEach(() => {
  effects = [];
});
const note = defineCapability({ name: "note", methods: { add: { handler: (args) => void effects.push(args) } } });

const payOf = (version: string) => ({
  name: "pay",
  description: "Pays.",
  approval: "always" as const,
  capabilities: { note: true } as const,
  source: `export default async (input, { host }) => { await host.note.add("${version}"); return "${version}"; };`,
});
const SHOP = {
  name: "shop",
  description: "Pays by another tool.",
  capabilities: { tools: ["pay"] },
  source: "export default (input, { host }) => host.tools.pay({});",
} as const;

async function open(options: EngineOptions): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    capabilities: [note],
    policy: { rules: [{ allow: { note: true, tools: ["*"] } }] },
    ...options,
  });
  onTestFinished(() => engine.close({ drainMs: 0 }));
  return engine;
}

async function paused(engine: Engine, name: string): Promise<DurableCall> {
  const { error } = await engine.execute({ name, arguments: {} });
  const call = await engine.calls.durable.get(error?.code === "paused" ? (error.details?.id ?? "") : "");
  if (call === undefined) throw new Error("the call is not kept");
  return call;
}

function approve(engine: Engine, { id, waits }: DurableCall): Promise<DurableCall | undefined> {
  const wait = waits.find(({ state }) => state === "open");
  if (wait?.kind !== "approval") throw new Error("the call waits for no approval");
  return engine.calls.decide(id, { wait: wait.step, decision: "approve", digest: wait.digest });
}

test.each(["pay", "shop"])("nobody can approve what was shown of it, and whoever refuses ends it: %s", async (name) => {
  const engine = await open({ tools: [payOf("old"), SHOP] });
  const call = await paused(engine, name);
  await engine.register(payOf("new"));
  await expect(approve(engine, call)).rejects.toMatchObject({
    name: "DecisionConflict",
    message: expect.stringContaining('"pay" is another version than the one that was shown') as string,
    call: { id: call.id, state: "paused", waits: [{ state: "open" }] },
  });
  await engine.calls.decide(call.id, { wait: call.waits[0]?.step ?? 0, decision: "refuse" });
  expect(await engine.calls.result(call.id, {}, { waitMs: 120_000 })).toMatchObject({ success: false });
  expect(effects).toEqual([]);
});

/** A call that waits is approved by a process without tools, and goes on in one with another version of the tool. */
async function handedOver(name: string) {
  const folder = await temporaryFolder();
  const path = join(folder, "calls.sqlite");
  const first = await open({ tools: [payOf("old"), SHOP], calls: { path } });
  const call = await paused(first, name);
  await first.close({ drainMs: 0 });
  const decider = await open({ calls: { path, resume: false } });
  expect(await approve(decider, call)).toMatchObject({ state: "ready" });
  await decider.close({ drainMs: 0 });
  return { call, engine: await open({ tools: [payOf("new"), SHOP], calls: { path } }) };
}

test("where the decider does not have it, a call that was approved before its start runs as it was shown", async () => {
  const { call, engine } = await handedOver("pay");
  expect(await engine.calls.result(call.id, {}, { waitMs: 120_000 })).toMatchObject({ output: "old" });
  expect(effects).toEqual(["old"]);
});

test("where the decider does not have it, a person is asked again about a call of another tool, and sees the new one", async () => {
  const { call, engine } = await handedOver("shop");
  const again = async (): Promise<DurableCall | undefined> => {
    const now = await engine.calls.durable.get(call.id);
    return now?.legs === call.legs + 1 && now.state === "paused" ? now : undefined;
  };
  await expect.poll(again).toBeDefined();
  const now = await again();
  const digestOf = (one: DurableCall | undefined) =>
    one?.waits.flatMap((wait) => (wait.kind === "approval" && wait.state === "open" ? [wait.digest] : []));
  expect(digestOf(now)).toHaveLength(1);
  expect(digestOf(now)).not.toEqual(digestOf(call));
  expect(effects).toEqual([]);
  if (now !== undefined) await approve(engine, now);
  expect(await engine.calls.result(call.id, {}, { waitMs: 120_000 })).toMatchObject({ output: "new" });
  expect(effects).toEqual(["new"]);
});
