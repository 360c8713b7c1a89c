import { afterAll, beforeAll, expect, test } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import { createEngine, type Decision, type DurableCall, type Engine } from "../../../../src/glovebox/index.ts";

/* An approval that a call asks for by itself brings the data that its schema describes, and no other. */

const SCHEMA = {
  type: "object",
  properties: { amount: { type: "integer", maximum: 100 }, note: { $ref: "#/$defs/note" } },
  required: ["amount"],
  additionalProperties: false,
  $defs: { note: { type: "string", maxLength: 5 } },
};

let engine: Engine;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    codeMode: {},
    policy: { rules: [{ allow: { pause: true } }] },
    tools: [
      {
        name: "ask",
        description: "Asks for data.",
        capabilities: { pause: true },
        source: `export default async ({ schema }, { host }) =>
          host.pause.approval({ message: "How much?", schema }).then(({ data }) => data, ({ code, message }) => ({ code, message }))`,
      },
    ],
  });
});
afterAll(() => engine.close());

async function asked(schema: object = SCHEMA): Promise<DurableCall> {
  const { error } = await engine.execute({ name: "ask", arguments: { schema } });
  const call = await engine.calls.durable.get(error?.code === "paused" ? (error.details?.id ?? "") : "");
  if (call === undefined) throw new Error("the call is not kept");
  return call;
}

function approve({ id, waits: [wait] }: DurableCall, more: Partial<Decision>): Promise<DurableCall | undefined> {
  const digest = wait?.kind === "approval" ? wait.digest : "";
  return engine.calls.decide(id, { decision: "approve", digest, ...more });
}

test("a person sees the schema, and the call gets what it allows", async () => {
  const call = await asked();
  expect(call.waits).toMatchObject([{ kind: "approval", tool: null, schema: SCHEMA }]);
  const wrong = [{ amount: 101 }, { amount: 1, note: "too long" }, { more: 1 }, "all", null];
  for (const data of wrong)
    await expect(approve(call, { data })).rejects.toMatchObject({
      code: "invalid_arguments",
      message: expect.stringContaining("the data does not match its schema") as string,
    });
  await expect(approve(call, { data: { amount: "all" } })).rejects.toMatchObject({
    details: { violations: [{ pointer: "/amount" }] },
  });
  await expect(approve(call, {})).rejects.toMatchObject({ code: "invalid_arguments" });
  expect(await engine.calls.durable.get(call.id)).toMatchObject({ state: "paused" });
  await approve(call, { data: { amount: 100, note: "ok" } });
  const result = await engine.calls.result(call.id, {}, { waitMs: 120_000 });
  expect(result?.output).toEqual({ amount: 100, note: "ok" });
  // The same decision once more answers the same.
  expect(await approve(call, { data: { amount: 100, note: "ok" } })).toMatchObject({ state: "ended" });
});

test("it is refused without data", async () => {
  const call = await asked();
  await engine.calls.decide(call.id, { decision: "refuse" });
  const result = await engine.calls.result(call.id, {}, { waitMs: 120_000 });
  expect(result?.output).toMatchObject({ code: "approval_refused" });
});

test.each<[string, object, string]>([
  ["is not one", { type: "many" }, "invalid_arguments"],
  ["refers outwards", { $ref: "https://example.com/schema.json" }, "invalid_arguments"],
  ["is too long", { description: "x".repeat(20_000) }, "capability_failed"],
])("a call hears at once that its schema %s", async (_what, schema, code) => {
  const { output } = await engine.execute({ name: "ask", arguments: { schema } });
  expect(output).toMatchObject({ code, message: expect.stringContaining("schema") as string });
});

test("a schema that takes for ever ends its own check alone", async () => {
  const call = await asked({ type: "string", pattern: "^(a+)+$" });
  await expect(approve(call, { data: `${"a".repeat(200)}!` })).rejects.toMatchObject({ code: "cpu_limit" });
  await approve(call, { data: "aaa" });
  expect((await engine.calls.result(call.id, {}, { waitMs: 120_000 }))?.output).toBe("aaa");
});

test("a program asks for data, too", async () => {
  const { error } = await codeMode(engine).run(
    `return (await approval({ message: "How much?", schema: { type: "integer", minimum: 1 } })).data * 2;`,
  );
  const call = await engine.calls.durable.get(error?.code === "paused" ? (error.details?.id ?? "") : "");
  if (call === undefined) throw new Error("the call is not kept");
  await expect(approve(call, { data: 0 })).rejects.toMatchObject({ code: "invalid_arguments" });
  await approve(call, { data: 21 });
  expect((await engine.calls.result(call.id, {}, { waitMs: 120_000 }))?.output).toMatchObject({ result: 42 });
});
