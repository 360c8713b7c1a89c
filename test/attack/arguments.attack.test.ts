import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine, type ToolCall } from "../../src/glovebox/index.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";

const ECHO = { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" };

let engine: Engine;
let server: Server;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", tools: [ECHO] });
  server = await createServer(engine, { port: 0 });
});

afterAll(() => server.close());

async function post(call: object): Promise<{ readonly status: number; readonly code: string | undefined }> {
  const response = await fetch(`${server.url}/v1/execute`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(call),
  });
  const { error } = (await response.json()) as { readonly error: { readonly code: string } | null };
  return { status: response.status, code: error?.code };
}

// The second request ended the host: the rejection of the call's promise was nobody's.
test("an id that cannot be written, on a call with a used idempotency key", async () => {
  const options = { idempotencyKey: "used" };
  expect(await post({ name: "echo", arguments: { n: 1 }, options })).toEqual({ status: 200, code: undefined });
  const odd = await post({ id: { toString: 1 }, name: "echo", arguments: { n: 2 }, options });
  expect(odd).toEqual({ status: 400, code: "invalid_arguments" });
});

test("a command and a name that are no texts, on calls with an idempotency key", async () => {
  const options = { idempotencyKey: "odd" };
  const odd = [{ name: { toJSON: 1 } }, { name: "echo", command: { a: 1 } }, { name: "echo", arguments: [] }, null];
  for (const call of odd) {
    const { error } = await engine.execute(call as unknown as ToolCall, options);
    expect(["invalid_arguments", "tool_not_found"]).toContain(error?.code);
  }
});

// What arguments cost grew with their size, not with the limit: 8 MiB held the host's thread for seconds.
test("arguments far above their limit, with and without an idempotency key", async () => {
  let reads = 0;
  const list = Array.from({ length: 100_000 }, () => ({
    get text() {
      reads++;
      return "0123456789".repeat(100);
    },
  }));
  for (const options of [{}, { idempotencyKey: "large" }]) {
    reads = 0;
    const { error } = await engine.execute({ name: "echo", arguments: { list } }, options);
    expect(error?.code).toBe("input_too_large");
    // The limit is 1 MiB, of which each item takes 1 KB; it is read at most twice.
    expect(reads).toBeLessThan(3_000);
  }
});
