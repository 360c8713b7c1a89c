import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type DurableCall,
  type Engine,
  type EngineOptions,
} from "../../src/glovebox/index.ts";

/* A tool in Python waits as one in JavaScript does, and goes on in another process with what it has heard. */

const capabilities = { pause: true, counter: true } as const;
let counted = 0;
const counter = defineCapability({ name: "counter", methods: { next: { handler: () => ++counted } } });

const OPTIONS: EngineOptions = {
  workers: 1,
  executor: { kind: "threads" },
  capabilities: [counter],
  policy: { rules: [{ allow: capabilities }] },
  tools: [
    {
      name: "refund",
      description: "Refunds.",
      runtime: "python",
      capabilities,
      source: `
from glovebox import host

def execute(input):
    number = host.counter.next()
    approved = host.pause.approval(message="Refund?", data=input)
    paid = host.pause.signal(name="paid")
    return {"approved": approved, "paid": paid, "number": number}
`,
    },
    {
      name: "guarded",
      description: "Asks.",
      runtime: "python",
      capabilities,
      source: `
from glovebox import host

def execute(input):
    try:
        host.pause.approval(message="Go on?", schema={"type": "integer"})
    except Exception as error:
        return [str(error), error.details]
    return "went on"
`,
    },
  ],
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-pause-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function begin(engine: Engine, name: string, args: Record<string, unknown>): Promise<string> {
  const { error } = await engine.execute({ name, arguments: args });
  expect(error?.code).toBe("paused");
  return error?.code === "paused" ? (error.details?.id ?? "") : "";
}

async function waitOf(engine: Engine, id: string): Promise<DurableCall["waits"][number] | undefined> {
  const find = async () => (await engine.calls.durable.get(id))?.waits.find(({ state }) => state === "open");
  await expect.poll(find).toBeDefined();
  return find();
}

test("a tool in Python waits for an approval and a signal, across engines, and repeats no effect", async () => {
  const calls = { path: join(folder, "calls.sqlite") };
  let id: string;
  {
    await using engine = await createEngine({ ...OPTIONS, calls });
    id = await begin(engine, "refund", { sum: 12 });
  }
  await using engine = await createEngine({ ...OPTIONS, calls });
  const wait = await waitOf(engine, id);
  expect(wait).toMatchObject({ kind: "approval", message: "Refund?" });
  const digest = wait?.kind === "approval" ? wait.digest : "";
  await engine.calls.decide(id, { wait: wait?.step ?? 0, decision: "approve", digest, data: { by: "ada" } });
  await expect.poll(async () => (await waitOf(engine, id))?.kind).toBe("signal");
  await engine.calls.signal(id, "paid", { sum: 12 });
  const result = await engine.calls.result(id, {}, { waitMs: 120_000 });
  expect(result).toMatchObject({ error: null, output: { paid: { sum: 12 }, number: 1 } });
  expect(JSON.stringify(result?.output)).toContain("ada");
  expect(counted).toBe(1);
});

test("a refusal is an exception in Python, with its reason", async () => {
  await using engine = await createEngine(OPTIONS);
  const id = await begin(engine, "guarded", {});
  const wait = await waitOf(engine, id);
  expect(wait).toMatchObject({ kind: "approval", schema: { type: "integer" } });
  await engine.calls.decide(id, { wait: wait?.step ?? 0, decision: "refuse", reason: "too much" });
  const result = await engine.calls.result(id, {}, { waitMs: 120_000 });
  expect(result?.output).toEqual([expect.stringContaining("too much"), { reason: "too much" }]);
});
