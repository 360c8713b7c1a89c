import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import type { KeyGrant } from "../../../src/server/access/key-options.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { conformingFetch } from "../mcp/conformance.ts";

const NAMES = ["ada", "bob", "cleo", "root"] as const;
const keys = Object.fromEntries(NAMES.map((name) => [name, createKey()])) as Record<
  (typeof NAMES)[number],
  ReturnType<typeof createKey>
>;

let engine: Engine;
let server: Server;
beforeAll(async () => {
  const tool = (name: string) => ({ name, description: name, source: `export default ({ n }) => "${name} " + n;` });
  engine = await createEngine({
    workers: 1,
    tools: ["a", "b", "c", "d", "e"].map(tool),
    codeMode: { typeCheck: "off" },
    calls: { path: ":memory:", keep: "everything" },
  });
  const key = (name: keyof typeof keys, more: Omit<KeyGrant, "name">) => ({ name, hash: keys[name].hash, ...more });
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: [
      key("ada", { tenant: "acme", roles: ["admin", "execute"], tools: ["a", "b", "run_code"] }),
      key("bob", { tenant: "acme", roles: ["execute"], tools: ["a", "b", "c", "d", "e", "snippets.*"] }),
      key("cleo", { tenant: "acme", roles: ["execute"], tools: ["a", "snippets.*"] }),
      key("root", { tenant: null, roles: ["admin", "execute", "calls"] }),
    ],
  });
});
afterAll(() => server.close());

async function send(who: keyof typeof keys, method: string, path: string, body?: unknown) {
  const response = await conformingFetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${keys[who].secret}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
}

const PAIR = "/v1/snippets/pair";
const code = `return Promise.all(["a", "b", "c"].map((name) => tools[name]({ n: 1 }).catch((error) => error.code)).concat(
  tools.a({ n: 2 }).catch(({ code }) => code), tools.b({ n: 2 }).catch(({ code }) => code)));`;

/** The caller has tools that the author has not, and the other way round. */
test("a snippet calls what both its author and its caller may call", async () => {
  expect(await send("ada", "PUT", PAIR, { description: "Calls.", code })).toMatchObject({
    status: 200,
    body: { tenant: "acme", author: "ada", tools: ["a", "b"] },
  });
  const run = async (who: keyof typeof keys, options = {}) =>
    (await send(who, "POST", "/v1/execute", { name: "snippets.pair", arguments: {}, options })).body;
  expect(await run("bob")).toMatchObject({ output: ["a 1", "b 1", "tool_not_found", "a 2", "b 2"] });
  expect(await run("cleo")).toMatchObject({
    output: ["a 1", "tool_not_found", "tool_not_found", "a 2", "tool_not_found"],
  });
  expect(await run("root", { tenant: "other" })).toMatchObject({ error: { code: "tool_not_found" } });
});

test("a key names no tool that it may not call, and no other tenant", async () => {
  const body = { description: "Calls.", code: "return tools.c({ n: 1 });" };
  expect(await send("ada", "PUT", "/v1/snippets/more", body)).toMatchObject({
    status: 403,
    body: { error: { code: "forbidden", message: expect.stringContaining("c") } },
  });
  expect((await send("ada", "PUT", "/v1/snippets/more?tenant=other", body)).status).toBe(403);
  expect((await send("bob", "GET", "/v1/snippets")).status).toBe(403);
  expect(await send("root", "PUT", "/v1/snippets/more?tenant=other", body)).toMatchObject({ status: 200 });
  expect((await send("root", "GET", "/v1/snippets?tenant=other")).body).toMatchObject([
    { name: "more", tenant: "other" },
  ]);
  expect((await send("ada", "GET", "/v1/snippets")).body).toMatchObject([{ name: "pair", tenant: "acme" }]);
  expect((await send("ada", "GET", "/v1/snippets/more")).status).toBe(404);
});

test("the program of a kept call is saved by a key that may read calls", async () => {
  const program = { code: "return tools.a({ n: input.n });", input: { n: 5 } };
  const ran = await send("ada", "POST", "/v1/execute", { name: "run_code", arguments: program });
  const { callId } = (ran.body as { readonly metadata: { readonly callId: string } }).metadata;
  const body = { description: "Calls a.", callId };
  expect((await send("ada", "PUT", "/v1/snippets/kept", body)).status).toBe(403);
  expect(await send("root", "PUT", "/v1/snippets/kept?tenant=acme", body)).toMatchObject({
    status: 200,
    body: {
      code: program.code,
      tools: ["a"],
      isInferred: true,
      inputSchema: { required: ["n"] },
      outputSchema: null,
      inferredOutputSchema: { type: "string" },
    },
  });
  const listed = (await send("bob", "GET", "/v1/tools")).body as readonly { readonly name: string }[];
  expect(listed.find(({ name }) => name === "snippets.kept")).toMatchObject({
    outputSchema: null,
    inferredOutputSchema: { type: "string" },
  });
});

test("what is wrong is named, and what is deleted is gone", async () => {
  expect(await send("ada", "PUT", PAIR, { description: "Calls.", code: "return (" })).toMatchObject({
    status: 400,
    body: { error: { code: "invalid_arguments", details: { problems: [{ code: "syntax" }] } } },
  });
  expect(await send("ada", "PUT", PAIR, { description: "Calls.", kode: "" })).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining("kode is not known") } },
  });
  const wrong = { description: "Calls.", code: "return 1;", inputSchema: { type: "nothing" } };
  expect(await send("ada", "PUT", PAIR, wrong)).toMatchObject({ status: 422 });
  expect((await send("ada", "DELETE", PAIR)).status).toBe(204);
  expect((await send("ada", "DELETE", PAIR)).status).toBe(404);
  expect((await send("bob", "POST", "/v1/execute", { name: "snippets.pair", arguments: {} })).status).toBe(404);
});
