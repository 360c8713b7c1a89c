import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine, type ToolDefinition } from "../../../src/glovebox/index.ts";

let engine: Engine;
let names = 0;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", idempotency: { path: ":memory:" } });
});

afterAll(() => engine.close());

async function tool(more: Partial<ToolDefinition>): Promise<string> {
  const name = `checked-${++names}`;
  await engine.register({ name, description: "d", source: "export default (input) => input;", ...more });
  return name;
}

const COUNT = { type: "object", properties: { n: { type: "integer", default: 5 } }, required: [] };

test("a call with invalid arguments is announced, ends with an error, and did not start the tool", async () => {
  const name = await tool({ inputSchema: COUNT });
  const heard: string[] = [];
  const events = ["tool:pre", "tool:post", "tool:error"] as const;
  const hear = new Map(events.map((event) => [event, (): number => heard.push(event)]));
  for (const [event, listener] of hear) engine.on(event, listener);
  const { success, error, metadata } = await engine.execute({ name, arguments: { n: "a" } }, { record: true });
  for (const [event, listener] of hear) engine.off(event, listener);
  expect(success).toBe(false);
  expect(error).toMatchObject({ code: "invalid_arguments", retryable: false });
  expect(metadata).toMatchObject({ attempts: 0 });
  expect(metadata).not.toHaveProperty("recording");
  expect(heard).toEqual(["tool:pre", "tool:error"]);
});

test("a call with invalid arguments is charged", async () => {
  const inputSchema = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
  const name = await tool({ inputSchema, limits: { cpuMs: 5_000 } });
  let spentMs = 0;
  const onCpu = (cpuMs: number): void => {
    spentMs += cpuMs;
  };
  const { error } = await engine.execute({ name, arguments: { a: `${"a".repeat(22)}!` } }, { onCpu });
  expect(error?.code).toBe("invalid_arguments");
  expect(spentMs).toBeGreaterThan(1);
});

test("invalid arguments keep no idempotency key", async () => {
  const name = await tool({ inputSchema: COUNT, capabilities: { env: ["A"] } });
  const options = { idempotencyKey: "a key" };
  expect((await engine.execute({ name, arguments: { n: "a" } }, options)).error?.code).toBe("invalid_arguments");
  expect((await engine.execute({ name, arguments: { n: 1 } }, options)).output).toEqual({ n: 1 });
});

test("arguments with and without a default are different calls of one idempotency key", async () => {
  const name = await tool({ inputSchema: COUNT });
  const options = { idempotencyKey: "defaults" };
  expect((await engine.execute({ name, arguments: {} }, options)).output).toEqual({ n: 5 });
  expect((await engine.execute({ name, arguments: {} }, options)).output).toEqual({ n: 5 });
  expect((await engine.execute({ name, arguments: { n: 5 } }, options)).error?.code).toBe("invalid_arguments");
});

test("defaults are written into the tool's copy only", async () => {
  const name = await tool({ inputSchema: COUNT });
  const given = {};
  expect((await engine.execute({ name, arguments: given })).output).toEqual({ n: 5 });
  expect(given).toEqual({});
});

/** The source of a tool that writes the failure with which its call ends. */
function forging(failure: string, wait = ""): string {
  return `export default async () => { ${wait} JSON.stringify = () => '${failure}'; throw new Error("a"); };`;
}

test("violations that a tool forges are texts within their bounds", async () => {
  const source = forging('{"code":"invalid_output","message":"forged","violations":[{"pointer":7}]}');
  const name = await tool({ isolation: "context", source });
  const { error } = await engine.execute({ name, arguments: {} });
  expect(error).toMatchObject({ code: "invalid_output", message: "forged" });
  expect(error?.details).toEqual({
    violations: [{ pointer: "", keyword: "", expected: "", received: "", message: "" }],
  });
});

test("a tool that started cannot end its call as one with refused arguments", async () => {
  const failure = '{"code":"invalid_arguments","message":"forged","violations":[]}';
  const refused = await tool({ isolation: "context", inputSchema: COUNT });
  for (const isolation of ["context", "isolate"] as const) {
    for (const wait of ["", "await null;", "await new Promise((resolve) => setTimeout(resolve, 20));"]) {
      const name = await tool({ isolation, inputSchema: COUNT, source: forging(failure, wait) });
      const [{ error, metadata }, real] = await Promise.all([
        engine.execute({ name, arguments: {} }),
        engine.execute({ name: refused, arguments: { n: "a" } }),
      ]);
      expect(error, `${isolation} ${wait}`).toMatchObject({ code: "tool_error", message: "forged" });
      expect(metadata.attempts).toBe(1);
      expect(real).toMatchObject({ error: { code: "invalid_arguments" }, metadata: { attempts: 0 } });
      expect((await engine.execute({ name, arguments: { n: "a" } })).error?.code).toBe("invalid_arguments");
    }
  }
});
