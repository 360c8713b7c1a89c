import { createHash } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type KeyOptions, type Server } from "../../../src/server/http/server.ts";

const secretOf = (name: string): string => `gbx_${name.padEnd(40, "0")}`;
const keyOf = (name: string, roles: KeyOptions["roles"], tenant: string | null = null): KeyOptions => ({
  name,
  tenant,
  roles,
  hash: `sha256:${createHash("sha256").update(secretOf(name)).digest("hex")}`,
});

let origin: string;
const upstream = createHttpServer((_request, response) => response.end("hello"));
let engine: Engine;
let server: Server;

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const source = `export default async ({ url }, { host }) => { await host.kv.set("seen", url); return (await fetch(url)).text(); };`;
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    calls: { path: ":memory:", keep: "everything" },
    tools: [
      { name: "reader", description: "Reads.", source, capabilities: { kv: true, fetch: { origins: [origin] } } },
      { name: "other", description: "Does nothing.", source: "export default () => 1" },
    ],
    policy: {
      rules: [
        { tools: ["reader"], allow: { kv: true } },
        { tenants: ["acme"], allow: { fetch: { origins: [], privateOrigins: [origin] } } },
      ],
    },
  });
  const keys = [keyOf("admin", ["admin"]), keyOf("both", ["admin", "calls"]), keyOf("caller", ["execute", "calls"])];
  server = await createServer(engine, { port: 0, keys });
  const call = (id: string, tenant: string) =>
    engine.execute({ id, name: "reader", arguments: { url: `${origin}/page?secret=1` } }, { tenant });
  await call("allowed", "acme");
  await call("refused", "other");
});
afterAll(async () => {
  await server.close();
  upstream.close();
});

const SAME = () => `
rules:
  - tools: [reader]
    allow: { kv: true }
  - tenants: [acme]
    allow: { fetch: { origins: [], privateOrigins: ["${origin}"] } }
`;

test("a policy that denies what a stored call did names the call and the rule, and is not put in force", async () => {
  const { changes, compared, findings } = await engine.simulatePolicy({
    policy: "rules:\n  - tools: [reader]\n    allow: { kv: true }\n",
  });
  expect(changes).toEqual([
    {
      id: "allowed",
      tool: "reader",
      tenant: "acme",
      capability: "fetch",
      method: "request",
      target: `${origin}/page`,
      was: "ok",
      would: "denied",
      rule: "policy.rules[1]",
    },
  ]);
  expect(compared).toEqual({ calls: 2, isComplete: true });
  expect(findings).toMatchObject([{ tool: "reader", pointer: "/capabilities/fetch" }]);
  expect(engine.explain("reader", { tenant: "acme" })?.grants).toHaveLength(2);
});

test("a policy that allows more names the calls that it denied before", async () => {
  const { changes } = await engine.simulatePolicy({ policy: SAME().replace("tenants: [acme]", "tools: [reader]") });
  expect(changes).toMatchObject([{ id: "refused", was: "denied", would: "granted", rule: "policy.rules[1]" }]);
});

test("the policy in force changes nothing", async () => {
  expect((await engine.simulatePolicy({ policy: SAME() })).changes).toEqual([]);
  const json = JSON.stringify({
    policy: { rules: [{ allow: { kv: true, fetch: { origins: [], privateOrigins: [origin] } } }] },
  });
  expect((await engine.simulatePolicy({ policy: json })).changes).toMatchObject([{ id: "refused", would: "granted" }]);
});

test("a request is answered by its method: a rule without it would deny the request, one with it would not", async () => {
  const simulate = async (methods: string) => {
    const policy = SAME().replace(`["${origin}"]`, `["${origin}"], methods: [${methods}]`);
    return (await engine.simulatePolicy({ policy, call: { id: "allowed" } })).changes;
  };
  expect(await simulate("POST, HEAD")).toMatchObject([{ id: "allowed", would: "denied" }]);
  expect(await simulate("GET")).toEqual([]);
});

test("a call of a tool and tenant is granted what the policy says, by which rule", async () => {
  const { grants, asks } = await engine.simulatePolicy({ policy: SAME(), call: { tool: "reader", tenant: "acme" } });
  expect(grants.map(({ capability, from }) => [capability, from])).toEqual([
    ["kv", "policy.rules[0]"],
    ["fetch", "policy.rules[1]"],
  ]);
  expect(asks).toEqual([]);
  const none = await engine.simulatePolicy({ policy: SAME(), call: { tool: "reader", tenant: "nobody" } });
  expect(none.grants.map(({ capability }) => capability)).toEqual(["kv"]);
});

test("the capability calls of a stored call are answered one by one", async () => {
  const { asks } = await engine.simulatePolicy({ policy: SAME(), call: { id: "refused" }, limit: 0 });
  expect(asks).toMatchObject([
    { capability: "kv", method: "set", was: "ok", outcome: "granted", rule: "policy.rules[0]" },
    { capability: "fetch", was: "denied", outcome: "denied", rule: null },
  ]);
});

test("every mistake is found, with its place", async () => {
  const policy = `rules:
  - tool: [reader]
    allow: { kv: true }
  - allow: { fetch: { origins: ["no origin"] } }
  - allow: { cacheing: true }
`;
  const { findings, changes } = await engine.simulatePolicy({ policy });
  expect(findings.map(({ pointer, line }) => [pointer, line])).toEqual([
    ["/policy/rules/0/tool", 2],
    ["/policy/rules/1/allow/fetch/origins/0", 4],
  ]);
  expect(changes).toEqual([]);
  const unknown = await engine.simulatePolicy({ policy: "rules:\n  - allow: { cacheing: true }\n" });
  expect(unknown.findings[0]).toMatchObject({ tool: null, pointer: "/policy/rules/0/allow/cacheing" });
  const broken = await engine.simulatePolicy({ policy: "rules:\n  - allow: { kv: true\n" });
  expect(broken.findings[0]).toMatchObject({ pointer: "/policy", line: 3 });
});

test.each([
  ["aliases", `a: &a [x]\nb: [${"*a,".repeat(2_000)}]`],
  [
    "bombs",
    `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefg".replaceAll(/./g, (name) => `${name}: &${name} [${`*${String.fromCharCode(name.charCodeAt(0) - 1)},`.repeat(9)}]\n`)}`,
  ],
  ["depth", "[".repeat(60_000)],
  ["no rules", "[]"],
  ["a number", "1"],
])("hostile YAML is a finding: %s", async (_name, policy) => {
  const { findings } = await engine.simulatePolicy({ policy });
  expect(findings).not.toEqual([]);
});

test("a request that is wrong, and names nothing, is refused", async () => {
  const refused = (request: object) =>
    engine.simulatePolicy(request as never).then(
      () => "",
      ({ code }: { code: string }) => code,
    );
  expect(await refused({ policy: "x".repeat(70_000) })).toBe("invalid_arguments");
  expect(await refused({ policy: "", limit: 2_000 })).toBe("invalid_arguments");
  expect(await refused({ policy: "rules: []", call: { tool: "nothing" } })).toBe("tool_not_found");
  expect(await refused({ policy: "rules: []", call: { id: "nothing" } })).toBe("tool_not_found");
});

test("an operator's key simulates over HTTP, and sees stored calls only with the role calls", async () => {
  const send = async (key: string, body: unknown) => {
    const response = await fetch(`${server.url}/v1/policy/simulations`, {
      method: "POST",
      headers: { authorization: `Bearer ${secretOf(key)}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return [response.status, (await response.json()) as Record<string, unknown>] as const;
  };
  const body = { policy: "rules: []", call: { tool: "reader", tenant: "acme" } };
  const [status, answer] = await send("both", body);
  expect([status, answer]).toEqual([200, await engine.simulatePolicy(body)]);
  expect(answer["changes"]).toHaveLength(3);
  expect((await send("admin", body))[1]["changes"]).toEqual([]);
  expect((await send("admin", { ...body, call: { id: "allowed" } }))[0]).toBe(404);
  expect((await send("caller", body))[0]).toBe(403);
  expect((await send("both", { ...body, file: "x" }))[0]).toBe(400);
  expect((await send("both", { ...body, since: "yesterday" }))[0]).toBe(400);
});
