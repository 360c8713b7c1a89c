import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";
import { conformingFetch } from "../server/mcp/conformance.ts";

const ECHO = "export default (input) => input;";
const tool = (name: string, more = {}) => ({ name, description: "d", source: ECHO, ...more });
const [narrow, adder] = [createKey(), createKey()];

let engine: Engine;
let server: Server;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [
      tool("crm.list", { capabilities: { fetch: { origins: ["https://crm.example"] } } }),
      tool("crm.drop"),
      tool("vault.read"),
      tool("search_tools"),
    ],
    policy: {
      rules: [
        { tools: ["other"], allow: {} },
        { tools: ["crm.*"], allow: { fetch: { origins: ["https://crm.example"] } } },
      ],
    },
    codeMode: { tools: ["search_*", "crm.*"], limits: { cpuMs: 100, wallMs: 1e12 } },
    maxLimits: { wallMs: 600_000 },
  });
  await engine.register(tool("crm.own"), { tenant: "acme" });
  const key = { tenant: "acme", roles: ["execute" as const] };
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: [
      { ...key, name: "narrow", hash: narrow.hash, tools: ["run_code", "crm.list"] },
      { ...key, name: "adder", hash: adder.hash, tools: ["crm.list"] },
    ],
  });
});
afterAll(() => server.close());

describe("explain of run_code", () => {
  test("says which tools programs may call, which rule says so, and why not", () => {
    expect(engine.explain("run_code")?.program).toEqual({
      mayRun: true,
      callable: 2,
      total: 4,
      tools: [
        { tool: "crm.drop", isCallable: true, from: ["codeMode.tools[1]"] },
        { tool: "crm.list", isCallable: true, from: ["codeMode.tools[1]", "policy.rules[1]"] },
        { tool: "search_tools", isCallable: false, from: [], reason: "a tool of code mode has this name" },
        { tool: "vault.read", isCallable: false, from: [], reason: "no name in codeMode.tools matches it" },
      ],
    });
  });

  test("has the tools of one tenant, and of one caller", () => {
    const { program } = engine.explain("run_code", { tenant: "acme", tools: ["crm.own", "vault.*"] }) ?? {};
    expect(program?.mayRun).toBe(false);
    expect(program?.tools.map(({ tool: name, from, reason }) => [name, reason ?? from])).toEqual([
      ["crm.own", ["codeMode.tools[1]", "key.tools[0]"]],
      ["crm.drop", "no name in key.tools matches it"],
      ["crm.list", "no name in key.tools matches it"],
      ["search_tools", "a tool of code mode has this name"],
      ["vault.read", "no name in codeMode.tools matches it"],
    ]);
  });

  test("has the limits of programs and their sources", () => {
    const { limits = [] } = engine.explain("run_code") ?? {};
    expect(limits.filter(({ limit }) => ["cpuMs", "wallMs", "memoryMb", "outputBytes"].includes(limit))).toEqual([
      expect.objectContaining({ limit: "cpuMs", value: 100, from: "codeMode" }),
      { limit: "wallMs", value: 600_000, from: "maxLimits", declared: 1e12 },
      { limit: "memoryMb", value: 64, from: "default" },
      expect.objectContaining({ limit: "outputBytes", from: "default" }),
    ]);
  });

  test("is nothing where the engine has no code mode", async () => {
    await using other = await createEngine({ workers: 1, executor: "threads" });
    expect(other.explain("run_code")).toBeUndefined();
  });
});

describe("GET /v1/tools/run_code/explanation", () => {
  const get = async (secret: string) => {
    const response = await conformingFetch(`${server.url}/v1/tools/run_code/explanation`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    return {
      status: response.status,
      body: (await response.json()) as { program?: { tools: { tool: string; from: string[] }[] } },
    };
  };

  test("is that of the key", async () => {
    const { body } = await get(narrow.secret);
    expect(body).toMatchObject({ tool: "run_code", tenant: "acme", program: { callable: 1, total: 5 } });
    expect(body.program?.tools[0]).toEqual({
      tool: "crm.list",
      isCallable: true,
      from: ["codeMode.tools[1]", "key.tools[1]", "policy.rules[1]"],
    });
  });

  test("is not there for a key that may run no programs", async () => {
    expect((await get(adder.secret)).status).toBe(404);
  });
});
