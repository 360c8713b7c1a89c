import { once } from "node:events";
import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { fastify } from "fastify";
import { createEngine, type Engine, type ToolResult } from "../../../src/glovebox/index.ts";
import { gloveboxFastify } from "../../../src/server/handlers/fastify.ts";
import type { Caller } from "../../../src/server/handlers/index.ts";
import { type Host, HOSTS, type HostOptions, WHO } from "./hosts.ts";

const TOOLS = [
  { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
  { name: "secret", description: "Has a secret.", source: "export default () => 1;" },
  {
    name: "wait",
    description: "Waits.",
    source: "export default ({ ms }) => new Promise((done) => setTimeout(done, ms, 'done'));",
  },
  {
    name: "tell",
    description: "Says something, and waits.",
    source:
      "export default async (_, { progress }) => { progress(1); await new Promise((r) => setTimeout(r, 20_000)); };",
  },
];
const CALLERS: Readonly<Record<string, unknown>> = {
  ada: { tenant: "a", roles: ["execute"], name: "ada", tools: ["add", "wait", "tell"] },
  ben: { tenant: "b", roles: ["metrics"] },
  root: { tenant: "a", roles: ["root"] },
  slow: { tenant: "a", roles: ["execute"], name: "slow", rate: { calls: 1, perMs: 60_000 } },
};

let engine: Engine;
let host: Host;

const authenticate = async (name: string | undefined): Promise<Caller | null> => {
  if (name === "broken") throw new Error("the database is down");
  return (CALLERS[name ?? ""] ?? null) as Caller | null;
};
const execute = async (call: object, who = "ada", accept = "application/json"): Promise<Response> =>
  fetch(`${host.url}/v1/execute`, {
    method: "POST",
    headers: { "content-type": "application/json", [WHO]: who, accept },
    body: JSON.stringify(call),
  });
const codeOf = async (response: Response): Promise<unknown> => ((await response.json()) as ToolResult).error?.code;
const add = (more: object = {}) => ({ name: "add", arguments: { a: 1, b: 2 }, ...more });

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", tools: TOOLS });
});

afterAll(() => engine.close({ drainMs: 0 }));

describe.each(Object.entries(HOSTS))("mounted in %s", (name, openHost) => {
  const open = async (options: HostOptions = { authenticate }): Promise<void> => {
    host = await openHost(engine, options);
  };

  afterEach(() => host[Symbol.asyncDispose]());

  test("a caller whom the application knows runs its tools as its tenant", async () => {
    await open();
    const tenants: unknown[] = [];
    const note = ({ tenant }: { readonly tenant?: string }): void => void tenants.push(tenant);
    engine.on("tool:pre", note);
    const response = await execute(add());
    engine.off("tool:pre", note);
    expect([response.status, ((await response.json()) as ToolResult).output, tenants]).toEqual([200, 3, ["a"]]);
  });

  test("a call in the name of another tenant is refused, and nothing runs", async () => {
    await open();
    let begun = 0;
    const note = (): void => void begun++;
    engine.on("tool:pre", note);
    const response = await execute(add({ options: { tenant: "b" } }));
    engine.off("tool:pre", note);
    expect([response.status, await codeOf(response), begun]).toEqual([403, "forbidden", 0]);
  });

  test.each([
    ["a stranger", "nobody", 401, "unauthorized"],
    ["a caller without the role", "ben", 403, "forbidden"],
  ])("%s is refused", async (_who, who, status, code) => {
    await open();
    const response = await execute(add(), who);
    expect([response.status, await codeOf(response)]).toEqual([status, code]);
  });

  test("a caller does not reach tools that it may not name", async () => {
    await open();
    expect(await codeOf(await execute({ name: "secret" }))).toBe("tool_not_found");
    const listed = await fetch(`${host.url}/v1/tools`, { headers: { [WHO]: "ada" } });
    expect(((await listed.json()) as { name: string }[]).map(({ name }) => name)).not.toContain("secret");
  });

  test("a caller has the rate that the application gives it", async () => {
    await open();
    const codes = [await codeOf(await execute(add(), "slow")), await codeOf(await execute(add(), "slow"))];
    expect(codes).toEqual([undefined, "rate_limited"]);
  });

  test.each([
    ["names an unknown role", "root", "/caller/roles/0"],
    ["fails", "broken", "the database is down"],
  ])(
    "where authenticate %s, the caller is told nothing, and the application what is wrong",
    async (_what, who, text) => {
      await open();
      const warnings: string[] = [];
      const note = (warning: Error): void => void warnings.push(String(warning));
      process.on("warning", note);
      onTestFinished(() => void process.off("warning", note));
      const response = await execute(add(), who);
      const detail = "the request could not be answered";
      const details = { type: "about:blank", title: "Internal Server Error", status: 500, detail };
      expect([response.status, await response.json()]).toEqual([500, { ...details, error: detail }]);
      // Others may warn as well.
      await expect.poll(() => warnings.join("\n")).toContain(text);
    },
  );

  /** Closes the connection of a call that has begun. Returns the time until the call is cancelled. */
  async function leave(): Promise<number> {
    const cancelled = new Promise<ToolResult>((resolve) => {
      const note = ({ result }: { readonly result: ToolResult }): void => {
        engine.off("tool:error", note);
        resolve(result);
      };
      engine.on("tool:error", note);
    });
    const client = request(`${host.url}/v1/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream", [WHO]: "ada" },
    });
    client.on("error", () => undefined).end(JSON.stringify({ name: "tell", arguments: {} }));
    const [response] = (await once(client, "response")) as [NodeJS.ReadableStream];
    const [first] = (await once(response, "data")) as [Buffer];
    expect(String(first)).toMatch(/^event: progress/);
    const closedMs = performance.now();
    client.destroy();
    expect((await cancelled).error?.code).toBe("cancelled");
    return performance.now() - closedMs;
  }

  test("a client that closes its connection cancels its call within 200 ms", async () => {
    await open();
    // The best of three, because the machine may be busy.
    expect(Math.min(await leave(), await leave(), await leave())).toBeLessThan(200);
  });

  test("a handler that drains lets calls end, and everything else goes on", async () => {
    await open();
    const running = execute({ name: "wait", arguments: { ms: 2_000 } });
    const stream = execute({ name: "wait", arguments: { ms: 2_000 } }, "ada", "text/event-stream");
    await expect.poll(() => engine.stats().running, { timeout: 120_000 }).toBe(2);
    const drained = host.drain({ drainMs: 5_000 });
    // Fastify drains when the application closes: it takes no requests then.
    if (name !== "Fastify") {
      expect((await fetch(`${host.url}/readyz`)).status).toBe(503);
      expect(await (await fetch(host.ownUrl)).text()).toBe("here");
    }
    const response = await running;
    expect([response.status, ((await response.json()) as ToolResult).output]).toEqual([200, "done"]);
    expect(await (await stream).text()).toContain('"output":"done"');
    await drained;
    expect((await engine.execute(add())).output).toBe(3);
  });

  test("a handler that drains ends calls that take too long, with a result", async () => {
    await open();
    const running = execute({ name: "wait", arguments: { ms: 20_000 } });
    await expect.poll(() => engine.stats().running, { timeout: 120_000 }).toBe(1);
    // Fastify drains when the application closes.
    const isFastify = name === "Fastify";
    const drained = host.drain({ drainMs: 50 });
    if (isFastify) await Promise.race([drained, delay(6_500)]);
    else await drained;
    expect([(await running).status, (await engine.execute(add())).output]).toEqual([499, 3]);
  });

  test("its routes are those that were asked for, and the application has all others", async () => {
    await open({ allowAnybody: true });
    const statusOf = async (path: string, method = "GET") => (await fetch(`${host.url}${path}`, { method })).status;
    expect(await statusOf("/healthz")).toBe(200);
    for (const path of ["/metrics", "/v1/stats", "/console/main.js", "/", "/nothing"])
      expect(await statusOf(path)).toBe(404);
    expect(await statusOf("/v1/tools/add", "DELETE")).toBe(405);
    expect(await (await fetch(host.ownUrl)).text()).toBe("here");
  });

  test("its metrics count its own routes only", async () => {
    await open({ allowAnybody: true, routes: ["health", "metrics"] });
    const count = async (): Promise<number> => {
      const text = await engine.metrics();
      const counts = [...text.matchAll(/^glovebox_http_requests_total\{.*\} (\d+)$/gm)].map(([, n]) => Number(n));
      return counts.reduce((sum, n) => sum + n, 0);
    };
    const before = await count();
    // A request is counted a moment after its answer: its own, if it were, before the other one.
    await fetch(host.ownUrl);
    await fetch(`${host.url}/healthz`);
    await expect.poll(count).toBeGreaterThan(before);
    expect((await count()) - before).toBe(1);
  });

  test("the API's description says where it is mounted", async () => {
    await open({ allowAnybody: true });
    const response = await fetch(`${host.url}/openapi.json`);
    expect(((await response.json()) as { servers: unknown }).servers).toEqual([{ url: "/tools" }]);
  });
});

test.each(["", "/", "/a/b", "/a/"])("the plugin for Fastify is mounted below the prefix %j", async (prefix) => {
  await using app = fastify();
  await app.register(gloveboxFastify, { engine, prefix, allowAnybody: true });
  app.get("/own", () => "here");
  const payload = { name: "add", arguments: { a: 1, b: 2 } };
  const url = `${prefix.replace(/\/$/, "")}/v1/execute`;
  const { statusCode, body } = await app.inject({ method: "POST", url, payload });
  expect([statusCode, (JSON.parse(body) as ToolResult).output]).toEqual([200, 3]);
  expect((await app.inject("/own")).body).toBe("here");
});

test("hooks of a Fastify application run before its plugin's routes, and its headers stay", async () => {
  await using app = fastify();
  app.addHook("onSend", async (_request, reply) => void reply.header("x-late", "1"));
  app.addHook("onRequest", async (_request, reply) => void reply.header("x-early", "1"));
  app.addHook("preHandler", async ({ headers }, reply) =>
    headers["x-user"] === undefined ? reply.code(418).send() : undefined,
  );
  await app.register(gloveboxFastify, { engine, prefix: "/tools", allowAnybody: true });
  expect((await app.inject("/tools/v1/tools")).statusCode).toBe(418);
  const { statusCode, headers } = await app.inject({ url: "/tools/v1/tools", headers: { "x-user": "ada" } });
  // A response that is written elsewhere does not pass `onSend`.
  expect([statusCode, headers["x-early"], headers["x-late"]]).toEqual([200, "1", undefined]);
});
