import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createEngine, type Engine, type ToolResult } from "../../../src/glovebox/index.ts";
import { type Answer, type Api, bodyWith, documentOf, engineWith, sendJson, serveApi } from "./api.ts";

let api: Api;
let engine: Engine;
let answer: Answer;

beforeAll(async () => {
  api = await serveApi((request, response) => answer(request, response));
  const document = documentOf([
    ["GET", "/items/{id}", "get_item"],
    ["POST", "/items", "create_item", bodyWith({ title: { type: "string" } })],
    [
      "POST",
      "/orders",
      "create_order",
      { parameters: [{ name: "Idempotency-Key", in: "header", schema: { type: "string" } }], ...bodyWith({}) },
    ],
  ]);
  const options = engineWith(api, await api.write(document), { concurrency: 2, timeoutMs: 60_000 });
  const { crm } = options.connectors ?? {};
  const others = crm && {
    slow: { ...crm, rateLimit: { calls: 2, perMs: 600_000 } },
    late: { ...crm, timeoutMs: 1_000 },
  };
  const rules = [{ allow: { connector: ["crm", "slow", "late"] } }];
  engine = await createEngine({ ...options, connectors: { ...options.connectors, ...others }, policy: { rules } });
});
beforeEach(() => {
  api.seen.length = 0;
  answer = (_request, response) => sendJson(response, {});
});
afterAll(async () => {
  await engine.close();
  await api[Symbol.asyncDispose]();
});

const get = (id: string, tenant?: string): Promise<ToolResult> =>
  engine.execute({ name: "crm.get_item", arguments: { id } }, tenant === undefined ? {} : { tenant });

test("a busy server is asked again after the time that it names, where the operation may be repeated", async () => {
  answer = (_request, response) => {
    if (api.seen.length > 1) return sendJson(response, { done: true });
    response.writeHead(429, { "retry-after": "0" }).end();
  };
  expect((await get("1")).output).toEqual({ done: true });
  expect(api.seen).toHaveLength(2);
});

test("an operation that may not be repeated is not sent to a busy server again", async () => {
  answer = (_request, response) => void response.writeHead(503, { "retry-after": "1" }).end();
  const { error } = await engine.execute({ name: "crm.create_item", arguments: { body: { title: "one" } } });
  expect(error).toMatchObject({
    code: "capability_failed",
    message: expect.stringContaining("it answered 503; retryAfterMs: 1000") as string,
  });
  expect(api.seen).toHaveLength(1);
});

test("a server that asks for more time than the call has is not waited for", async () => {
  answer = (_request, response) => void response.writeHead(429, { "retry-after": "3600" }).end();
  const { error } = await get("1");
  expect(error?.message).toContain("retryAfterMs: 3600000");
  expect(error?.code).toBe("capability_failed");
});

test("an operation with a header Idempotency-Key names the call, and is sent to a busy server again", async () => {
  answer = (_request, response) => {
    if (api.seen.length > 1) return sendJson(response, {});
    response.writeHead(503, { "retry-after": "0" }).end();
  };
  const order = { id: "same", name: "crm.create_order", arguments: { body: {} } };
  await engine.execute(order);
  await engine.execute(order, { tenant: "other" });
  const [first, again, others] = api.seen.map(({ headers }) => headers["idempotency-key"]);
  expect(first).toMatch(/^[0-9a-f-]{36}$/);
  expect(again).toBe(first);
  expect(others).not.toBe(first);
});

test("a tenant that reaches the rate limit is refused, and other tenants are not", async () => {
  const call = { name: "slow.get_item", arguments: { id: "1" } };
  const of = (tenant: string): Promise<ToolResult> => engine.execute(call, { tenant });
  const first = await Promise.all([of("a"), of("a")]);
  expect(first.every(({ success }) => success)).toBe(true);
  expect((await of("a")).error).toMatchObject({
    code: "capability_limit",
    message: expect.stringContaining('the rate limit of the connector "slow" is reached') as string,
  });
  expect((await of("b")).success).toBe(true);
});

test("a connector has as many requests under way as its concurrency, and the others wait", async () => {
  let running = 0;
  let most = 0;
  answer = (_request, response) => {
    most = Math.max(most, ++running);
    setTimeout(() => {
      running--;
      sendJson(response, {});
    }, 50);
  };
  const results = await Promise.all(Array.from({ length: 8 }, (_, at) => get(String(at))));
  expect(results.every(({ success }) => success)).toBe(true);
  expect(most).toBe(2);
});

test("a server that does not answer in time ends its request, and holds no place", async () => {
  const late = (id: string): Promise<ToolResult> => engine.execute({ name: "late.get_item", arguments: { id } });
  answer = () => undefined;
  const [one] = await Promise.all([late("1"), late("2"), late("3")]);
  expect(one?.error).toMatchObject({
    code: "capability_failed",
    message: expect.stringContaining("did not answer within 1000 ms") as string,
  });
  answer = (_request, response) => sendJson(response, { again: true });
  // A second is short on a busy machine.
  await expect.poll(async () => (await late("4")).output, { timeout: 60_000 }).toEqual({ again: true });
});

test("a server that sends more than 8 MiB is cut off", async () => {
  answer = (_request, response) => void response.end("x".repeat(9 * 1024 * 1024));
  const { error } = await get("1");
  expect(error).toMatchObject({
    code: "capability_failed",
    message: expect.stringContaining("more than 8388608 bytes") as string,
  });
});

test("a server that closes the connection fails its call, which may be made again", async () => {
  answer = (_request, response) => response.destroy();
  const { error } = await get("1");
  expect(error).toMatchObject({ code: "capability_failed", retryable: true });
});
