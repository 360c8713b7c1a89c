import { once } from "node:events";
import { connect } from "node:net";
import { request } from "node:http";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ScopedEngine } from "../../../src/server/access/scoped-engine.ts";
import { Keys } from "../../../src/server/access/keys.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import {
  createEngine,
  defineCapability,
  type Engine,
  type EngineOptions,
  loadConfig,
  type ToolResult,
} from "../../../src/glovebox/index.ts";
import { createServer, type KeyOptions, type Server, type ServerOptions } from "../../../src/server/http/server.ts";

const ECHO = { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" };
const OTHER = { name: "other", description: "Says which it is.", source: "export default () => 'other';" };
/** Takes processor time: the clock stands still in a turn, so it counts. */
const BURN = {
  name: "burn",
  description: "Takes processor time.",
  source:
    "export default ({ rounds }) => { let x = 0; for (let at = 0; at < rounds; at++) x = Math.sin(x + at); return x; };",
};
const PARENT = {
  name: "parent",
  description: "Has another tool burn.",
  source: "export default ({ rounds }, { host }) => host.tools.call('burn', { rounds });",
  capabilities: { tools: ["burn"] },
};
const KEEP = {
  name: "keep",
  description: "Keeps something for its tenant.",
  source:
    "export default async ({ value }, { host: { kv } }) => { if (value) await kv.set('a', value); return (await kv.get('a')) ?? null; };",
  capabilities: { kv: true },
};
const WHO = {
  name: "who",
  description: "Says whose call it is.",
  source: "export default (input, { host }) => host.who.am({});",
  capabilities: { who: true },
};
const who = defineCapability({ name: "who", methods: { am: { handler: (_args, { tenant }) => tenant ?? null } } });

interface Bench extends AsyncDisposable {
  readonly engine: Engine;
  readonly server: Server;
  /** The keys, by their names. */
  readonly secrets: ReadonlyMap<string, string>;
}

type Grant = Omit<KeyOptions, "hash" | "env" | "file">;

async function startBench(
  grants: readonly Grant[],
  { server: serverOptions, ...options }: EngineOptions & { readonly server?: ServerOptions } = {},
): Promise<Bench> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [ECHO, OTHER, BURN, PARENT, KEEP, WHO],
    capabilities: [who],
    kv: { path: ":memory:" },
    policy: { rules: [{ allow: { tools: ["*"], kv: true, who: true } }] },
    ...options,
  });
  const secrets = new Map<string, string>();
  const keys = grants.map((grant): KeyOptions => {
    const { secret, hash } = createKey();
    secrets.set(grant.name, secret);
    return { ...grant, hash };
  });
  const server = await createServer(engine, { port: 0, keys, ...serverOptions });
  return { engine, server, secrets, [Symbol.asyncDispose]: () => server.close() };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: ToolResult;
}

async function ask(
  { server, secrets }: Bench,
  key: string | null,
  path: string,
  init: { readonly method?: string; readonly body?: unknown; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  const secret = key === null ? undefined : (secrets.get(key) ?? key);
  const response = await fetch(`${server.url}${path}`, {
    method: init.method ?? "GET",
    signal: AbortSignal.timeout(20_000),
    headers: {
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      ...(init.body === undefined ? {} : { "content-type": "application/json" }),
      ...init.headers,
    },
    ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : text) as ToolResult };
}

const execute = (bench: Bench, key: string | null, name: string, args: unknown = {}, options?: unknown) =>
  ask(bench, key, "/v1/execute", {
    method: "POST",
    body: { name, arguments: args, ...(options === undefined ? {} : { options }) },
  });

const codeOf = ({ status, body }: Answer) => ({ status, code: body.error?.code });

/** The value of a metric's line. */
async function metric({ engine }: Bench, line: string): Promise<number> {
  const found = new RegExp(`^${RegExp.escape(line)} (\\S+)$`, "m").exec(await engine.metrics());
  return Number(found?.[1] ?? 0);
}

function cpuOf(bench: Bench, tool: string): Promise<number> {
  return metric(bench, `glovebox_cpu_seconds_total{tool="${tool}"}`);
}

describe("a server with keys", () => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await startBench([
      { name: "caller", tenant: "acme", roles: ["execute"] },
      { name: "neighbour", tenant: "umbra", roles: ["execute"] },
      { name: "gateway", tenant: null, roles: ["execute"] },
      { name: "watcher", tenant: "ops", roles: ["metrics"] },
      { name: "admin", tenant: "ops", roles: ["admin"] },
      { name: "narrow", tenant: "acme", roles: ["execute"], tools: ["oth*"] },
    ]);
  });

  afterAll(() => bench.server.close());

  test("runs a call that comes with a key, as the key's tenant", async () => {
    const { status, body } = await execute(bench, "caller", "who");
    expect({ status, output: body.output }).toEqual({ status: 200, output: "acme" });
  });

  test.each(["/v1/execute", "/v1/tools", "/v1/tools/echo", "/metrics"])(
    "answers %s with 401 and a challenge where no key is sent",
    async (path) => {
      const answer = await ask(
        bench,
        null,
        path,
        path === "/v1/execute" ? { method: "POST", body: { name: "echo" } } : {},
      );
      expect(codeOf(answer)).toEqual({ status: 401, code: "unauthorized" });
      expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="glovebox"');
    },
  );

  test("answers a wrong key with 401, and says that it is the key that is wrong", async () => {
    const answer = await execute(bench, createKey().secret, "echo");
    expect(codeOf(answer)).toEqual({ status: 401, code: "unauthorized" });
    expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="glovebox", error="invalid_token"');
  });

  test.each(["Basic abc", "Bearer", "Bearer a b", "bearer\tx", "token"])(
    "takes no key from: %s",
    async (authorization) => {
      const answer = await ask(bench, null, "/v1/tools", { headers: { authorization } });
      expect(codeOf(answer)).toEqual({ status: 401, code: "unauthorized" });
    },
  );

  test("reads the scheme in any case", async () => {
    const headers = { authorization: `bEARER ${bench.secrets.get("caller")}` };
    expect((await ask(bench, null, "/v1/tools", { headers })).status).toBe(200);
  });

  test("takes a key from nowhere but its header", async () => {
    const secret = bench.secrets.get("caller") ?? "";
    expect((await ask(bench, null, `/v1/tools?key=${secret}&access_token=${secret}`)).status).toBe(401);
    expect((await ask(bench, null, "/v1/tools", { headers: { "x-api-key": secret } })).status).toBe(401);
    expect((await ask(bench, null, "/v1/tools", { headers: { cookie: `key=${secret}` } })).status).toBe(401);
  });

  test("refuses a key without the role with 403, and names the role", async () => {
    for (const [key, path, role] of [
      ["watcher", "/v1/tools", "execute"],
      ["admin", "/v1/tools", "execute"],
      ["caller", "/metrics", "metrics"],
    ] as const) {
      const answer = await ask(bench, key, path);
      expect(codeOf(answer)).toEqual({ status: 403, code: "forbidden" });
      expect(answer.body.error?.message).toContain(`"${role}"`);
      expect(answer.headers.get("www-authenticate")).toContain(`scope="${role}"`);
    }
  });

  test("shows metrics to a key with their role", async () => {
    expect((await ask(bench, "watcher", "/metrics")).status).toBe(200);
  });

  test.each(["/healthz", "/readyz"])("asks nobody for a key at %s", async (path) => {
    expect((await ask(bench, null, path)).status).toBe(200);
  });

  test("refuses a call for another tenant than the key's", async () => {
    const answer = await execute(bench, "caller", "who", {}, { tenant: "umbra" });
    expect(codeOf(answer)).toEqual({ status: 403, code: "forbidden" });
    expect((await execute(bench, "caller", "who", {}, { tenant: "acme" })).body.output).toBe("acme");
  });

  test("lets a key without a tenant say whose its calls are", async () => {
    expect((await execute(bench, "gateway", "who", {}, { tenant: "umbra" })).body.output).toBe("umbra");
    expect((await execute(bench, "gateway", "who")).body.output).toBe(null);
  });

  test("keeps what tools keep for each tenant apart", async () => {
    expect((await execute(bench, "caller", "keep", { value: "acme's" })).body.output).toBe("acme's");
    expect((await execute(bench, "neighbour", "keep")).body.output).toBe(null);
  });

  test("shows a key only the tools that it may call", async () => {
    const { body } = await ask(bench, "narrow", "/v1/tools");
    expect((body as unknown as { name: string }[]).map(({ name }) => name)).toEqual(["other"]);
    expect((await execute(bench, "narrow", "other")).body.output).toBe("other");
  });

  test("answers for a tool that a key may not call as for one that is not there", async () => {
    const strip = (answer: Answer, name: string) =>
      JSON.stringify({ ...answer.body, metadata: { ...answer.body.metadata, callId: "" } }).replaceAll(name, "NAME");
    const id = "c1";
    const there = await ask(bench, "narrow", "/v1/execute", { method: "POST", body: { id, name: "echo" } });
    const missing = await ask(bench, "narrow", "/v1/execute", { method: "POST", body: { id, name: "nope" } });
    expect(codeOf(there)).toEqual({ status: 404, code: "tool_not_found" });
    expect(strip(there, "echo")).toBe(strip(missing, "nope"));
    const [seen, unseen] = [await ask(bench, "narrow", "/v1/tools/echo"), await ask(bench, "narrow", "/v1/tools/nope")];
    expect(seen.status).toBe(404);
    expect(strip(seen, "echo")).toBe(strip(unseen, "nope"));
  });

  test("gives no key the result of a tool that it may not call, though its tenant has it under that idempotencyKey", async () => {
    const options = { idempotencyKey: "once" };
    expect((await execute(bench, "caller", "echo", { a: 1 }, options)).body.output).toEqual({ a: 1 });
    const answer = await execute(bench, "narrow", "echo", { a: 1 }, options);
    expect(codeOf(answer)).toEqual({ status: 404, code: "tool_not_found" });
    expect((await execute(bench, "caller", "echo", { a: 1 }, options)).body.metadata["isRepeated"]).toBe(true);
  });

  test("shares no idempotencyKey between tenants", async () => {
    const options = { idempotencyKey: "common" };
    await execute(bench, "caller", "who", {}, options);
    const { body } = await execute(bench, "neighbour", "who", {}, options);
    expect(body.output).toBe("umbra");
    expect(body.metadata["isRepeated"]).toBeUndefined();
  });

  test("counts the calls and the processor time of each key, and what the door refused", async () => {
    const line = 'glovebox_key_calls_total{key="caller",code="ok"}';
    const before = await metric(bench, line);
    await execute(bench, "caller", "burn", { rounds: 100_000 });
    expect(await metric(bench, line)).toBe(before + 1);
    expect(await metric(bench, 'glovebox_key_cpu_seconds_total{key="caller"}')).toBeGreaterThan(0);
    const refused = await metric(bench, 'glovebox_rejections_total{code="unauthorized"}');
    await ask(bench, null, "/v1/tools");
    expect(await metric(bench, 'glovebox_rejections_total{code="unauthorized"}')).toBe(refused + 1);
  });

  test("sends no RateLimit headers to a key that has no rate and no quota", async () => {
    expect((await execute(bench, "caller", "echo")).headers.get("ratelimit")).toBe(null);
  });
});

describe("a key's limits", () => {
  test("are the ceiling of what its calls ask for, and of what tools have by themselves", async () => {
    await using bench = await startBench(
      [
        { name: "small", tenant: "a", roles: ["execute"], limits: { inputBytes: 50 } },
        { name: "free", tenant: "a", roles: ["execute"] },
      ],
      { maxLimits: { inputBytes: 2_000 } },
    );
    const args = { text: "x".repeat(60) };
    expect(codeOf(await execute(bench, "small", "echo", args))).toEqual({ status: 413, code: "input_too_large" });
    const asked = await execute(bench, "small", "echo", args, { limits: { inputBytes: 1_000 } });
    expect(codeOf(asked)).toEqual({ status: 413, code: "input_too_large" });
    expect((await execute(bench, "free", "echo", args, { limits: { inputBytes: 1_000 } })).status).toBe(200);
  });

  test("raise nothing", async () => {
    const tool = { ...ECHO, limits: { inputBytes: 50 } };
    await using bench = await startBench(
      [{ name: "large", tenant: "a", roles: ["execute"], limits: { inputBytes: 1_000_000 } }],
      { tools: [tool] },
    );
    const answer = await execute(bench, "large", "echo", { text: "x".repeat(60) });
    expect(codeOf(answer)).toEqual({ status: 413, code: "input_too_large" });
  });

  test("hold for calls on behalf of its calls", async () => {
    const source = "export default (input, { host }) => host.tools.call('echo', { text: 'x'.repeat(600) });";
    const tool = { ...PARENT, source, capabilities: { tools: ["echo"] } };
    await using bench = await startBench(
      [{ name: "small", tenant: "a", roles: ["execute"], limits: { inputBytes: 500 } }],
      { tools: [ECHO, tool] },
    );
    const { body } = await execute(bench, "small", "parent");
    expect(JSON.stringify(body)).toContain("more than 500 bytes");
  });

  test("let nobody before others but an administrator", async () => {
    await using bench = await startBench([
      { name: "plain", tenant: "a", roles: ["execute"] },
      { name: "admin", tenant: "a", roles: ["execute", "admin"] },
    ]);
    const run = vi.spyOn(bench.engine, "execute");
    const priorities = async (key: string) => {
      for (const priority of [5, 0, -5]) await execute(bench, key, "echo", {}, { priority });
      return run.mock.calls.splice(0).map(([, options]) => options?.priority);
    };
    expect(await priorities("plain")).toEqual([0, 0, -5]);
    expect(await priorities("admin")).toEqual([5, 0, -5]);
  });
});

describe("a key's rate", () => {
  const grants: readonly Grant[] = [
    { name: "slow", tenant: "a", roles: ["execute"], rate: { calls: 2, perMs: 60_000 } },
    { name: "free", tenant: "a", roles: ["execute"] },
  ];

  test("ends with 429, and says when there is more", async () => {
    await using bench = await startBench(grants);
    const first = await execute(bench, "slow", "echo");
    expect(first.headers.get("ratelimit-policy")).toBe('"rate";q=2;w=60');
    expect(first.headers.get("ratelimit")).toBe('"rate";r=1;t=60');
    expect((await execute(bench, "slow", "echo")).status).toBe(200);
    const { status, headers, body } = await execute(bench, "slow", "echo");
    expect({ status, code: body.error?.code, type: body.error?.type, retryable: body.error?.retryable }).toEqual({
      status: 429,
      code: "rate_limited",
      type: "RateLimitedError",
      retryable: true,
    });
    const { retryAfterMs } = (body.error?.details ?? {}) as { retryAfterMs?: number };
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(headers.get("retry-after")).toBe(String(Math.ceil((retryAfterMs ?? 0) / 1_000)));
    expect(headers.get("ratelimit")).toMatch(/^"rate";r=0;t=\d+$/);
    expect(await metric(bench, 'glovebox_rejections_total{code="rate_limited"}')).toBe(1);
  });

  test("is no other key's, though they have a tenant in common", async () => {
    await using bench = await startBench(grants);
    for (let at = 0; at < 3; at++) await execute(bench, "slow", "echo");
    expect((await execute(bench, "free", "echo")).status).toBe(200);
  });

  test("is exact among calls that come at once", async () => {
    await using bench = await startBench([
      { name: "slow", tenant: "a", roles: ["execute"], rate: { calls: 7, perMs: 60_000 } },
    ]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => execute(bench, "slow", "echo")));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(13);
  });

  test("is there again when its time is over", async () => {
    await using bench = await startBench([
      { name: "slow", tenant: "a", roles: ["execute"], rate: { calls: 1, perMs: 1_500 } },
    ]);
    // Both at once: on a busy machine the time may be over when the first has ended.
    const both = await Promise.all([1, 2].map(() => execute(bench, "slow", "echo")));
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 429]));
    await vi.waitFor(async () => expect((await execute(bench, "slow", "echo")).status).toBe(200), {
      timeout: 120_000,
      interval: 50,
    });
  });

  test("counts a repeat of a call like any other call", async () => {
    await using bench = await startBench(grants);
    const options = { idempotencyKey: "k" };
    await execute(bench, "slow", "echo", {}, options);
    expect((await execute(bench, "slow", "echo", {}, options)).body.metadata["isRepeated"]).toBe(true);
    expect((await execute(bench, "slow", "echo", {}, options)).status).toBe(429);
  });

  test("is not used up by asking which tools there are", async () => {
    await using bench = await startBench(grants);
    for (let at = 0; at < 5; at++) expect((await ask(bench, "slow", "/v1/tools")).status).toBe(200);
    expect((await execute(bench, "slow", "echo")).status).toBe(200);
  });
});

describe("a key's quota", () => {
  test("of calls ends with 429, and calls that come too fast use up nothing of it", async () => {
    await using bench = await startBench([
      {
        name: "k",
        tenant: "a",
        roles: ["execute"],
        rate: { calls: 1, perMs: 1_000 },
        quota: { calls: 2, windowMs: 3_600_000 },
      },
    ]);
    // Two at once, so that one of them comes too fast, however slow the machine is.
    let [answered, early] = [0, 0];
    const answer = await vi.waitFor(
      async () => {
        const refused = [];
        for (const one of await Promise.all([1, 2].map(() => execute(bench, "k", "echo")))) {
          if (one.status === 200) answered++;
          else if (one.body.error?.message.includes("the calls that it may") === false) early++;
          else refused.push(one);
        }
        const [first] = refused;
        if (first === undefined) throw new Error("the quota is not used up");
        return first;
      },
      { timeout: 120_000, interval: 20 },
    );
    expect(answered).toBe(2);
    expect(early).toBeGreaterThan(0);
    expect(codeOf(answer)).toEqual({ status: 429, code: "rate_limited" });
    expect(answer.headers.get("ratelimit-policy")).toBe('"rate";q=1;w=1, "calls";q=2;w=3600');
  });

  test("of processor time has a call end that uses it up, and refuses the ones after it", async () => {
    await using bench = await startBench([
      { name: "k", tenant: "a", roles: ["execute"], quota: { cpuSeconds: 0.005, windowMs: 3_600_000 } },
    ]);
    const { body, headers } = await execute(bench, "k", "burn", { rounds: 2_000_000 });
    expect(body.success).toBe(true);
    expect(body.metadata.cpuMs).toBeGreaterThan(5);
    expect(headers.get("ratelimit")).toMatch(/^"cpu";r=0;t=\d+$/);
    const answer = await execute(bench, "k", "echo");
    expect(codeOf(answer)).toEqual({ status: 429, code: "rate_limited" });
    expect(answer.body.error?.message).toContain("processor time");
  });

  test("of processor time is charged for calls on behalf of its calls", async () => {
    await using bench = await startBench([
      { name: "k", tenant: "a", roles: ["execute"], quota: { cpuSeconds: 1_000, windowMs: 3_600_000 } },
    ]);
    const { body } = await execute(bench, "k", "parent", { rounds: 1_000_000 });
    expect(body.success).toBe(true);
    const [own, onItsBehalf] = [await cpuOf(bench, "parent"), await cpuOf(bench, "burn")];
    expect(onItsBehalf).toBeGreaterThan(0);
    const ofHost = bench.engine.usage("a").mainMs / 1e3;
    expect(ofHost).toBeGreaterThan(0);
    expect(await metric(bench, 'glovebox_key_cpu_seconds_total{key="k"}')).toBeCloseTo(own + onItsBehalf + ofHost, 9);
  });

  test("of processor time is not charged twice for a repeat", async () => {
    await using bench = await startBench([
      { name: "k", tenant: "a", roles: ["execute"], quota: { cpuSeconds: 1_000, windowMs: 3_600_000 } },
    ]);
    const line = 'glovebox_key_cpu_seconds_total{key="k"}';
    await execute(bench, "k", "burn", { rounds: 1_000_000 }, { idempotencyKey: "k" });
    const charged = await metric(bench, line);
    await execute(bench, "k", "burn", { rounds: 1_000_000 }, { idempotencyKey: "k" });
    expect(charged).toBeGreaterThan(0);
    expect(await metric(bench, line)).toBe(charged);
  });

  test("of processor time is charged for each try of a call that is tried again", async () => {
    const source =
      "export default () => { for (let at = 0, x = 0; at < 1e6; at++) x = Math.sin(x + at); throw new Error('no'); };";
    await using bench = await startBench(
      [{ name: "k", tenant: "a", roles: ["execute"], quota: { cpuSeconds: 1_000, windowMs: 3_600_000 } }],
      {
        tools: [{ name: "fail", description: "Fails.", source, retryOn: "failure" }],
      },
    );
    const { body } = await execute(bench, "k", "fail", {}, { retries: 3 });
    const charged = await metric(bench, 'glovebox_key_cpu_seconds_total{key="k"}');
    expect(body.metadata.attempts).toBe(4);
    expect(charged * 1_000).toBeGreaterThan(body.metadata.cpuMs * 2);
  });
});

describe("wrong keys", () => {
  test("are told to wait after some, while the right one passes from the same address", async () => {
    await using bench = await startBench([{ name: "k", tenant: "a", roles: ["execute"] }]);
    const codes: number[] = [];
    for (let at = 0; at < 25; at++) codes.push((await ask(bench, `gb_${"x".repeat(43)}`, "/v1/tools")).status);
    expect(codes.slice(0, 20).every((status) => status === 401)).toBe(true);
    expect(codes.slice(20).every((status) => status === 429)).toBe(true);
    const refused = await ask(bench, "wrong", "/v1/tools");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await ask(bench, "k", "/v1/tools")).status).toBe(200);
    // Whoever sends none at all is told so all the same.
    expect((await ask(bench, null, "/v1/tools")).status).toBe(401);
  });

  test("are logged a few times, without what was sent, and then counted", async () => {
    const lines: { readonly fields: object; readonly message: string }[] = [];
    const log = (fields: object, message: string) => void lines.push({ fields, message });
    await using bench = await startBench([{ name: "k", tenant: "a", roles: ["execute"] }], {
      logger: { info: () => undefined, warn: log },
    });
    const wrong = createKey().secret;
    for (let at = 0; at < 40; at++) await ask(bench, wrong, "/v1/tools");
    const refusals = lines.filter(({ message }) => message === "a request was refused");
    expect(refusals.length).toBeGreaterThan(0);
    expect(refusals.length).toBeLessThan(25);
    expect(refusals[0]?.fields).toMatchObject({
      code: "unauthorized",
      key: null,
      address: expect.stringContaining("127.0.0.1"),
    });
    expect(JSON.stringify(lines)).not.toContain(wrong.slice(3, 20));
  });
});

describe("keys", () => {
  const grant = { name: "k", tenant: "a", roles: ["execute"] } as const;
  let engine: Engine;
  let folder: string;

  beforeAll(async () => {
    engine = await createEngine({ workers: 1, executor: "threads", tools: [ECHO] });
    folder = mkdtempSync(join(tmpdir(), "glovebox-keys-"));
  });

  afterAll(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });

  const { secret, hash } = createKey();
  const wrongs: readonly (readonly [string, readonly unknown[], RegExp])[] = [
    [
      "the key itself where its hash belongs",
      [{ ...grant, hash: secret }],
      /^\/keys\/0\/hash must be the hash of a key/,
    ],
    [
      "a role that there is not",
      [{ ...grant, hash, roles: ["root"] }],
      /^\/keys\/0\/roles\/0 must be one of .*execute/,
    ],
    ["no role", [{ ...grant, hash, roles: [] }], /^\/keys\/0\/roles/],
    ["no tenant", [{ name: "k", roles: ["execute"], hash }], /^\/keys\/0\/tenant is required/],
    ["two places", [{ ...grant, hash, env: "A" }], /^\/keys\/0 must have one of hash, env and file/],
    ["no place", [grant], /\/keys\/0 must have one of hash, env and file/],
    ["a text", [secret], /\/keys\/0 must be object$/],
    [
      "a limit of the tool's own",
      [{ ...grant, hash, limits: { memoryMb: 8 } }],
      /^\/keys\/0\/limits\/memoryMb is not allowed/,
    ],
    [
      "a window that no timer can wait for",
      [{ ...grant, hash, rate: { calls: 1, perMs: 1e12 } }],
      /^\/keys\/0\/rate\/perMs must be <=/,
    ],
    ["a quota without a window", [{ ...grant, hash, quota: { calls: 1 } }], /^\/keys\/0\/quota\/windowMs is required/],
    [
      "a variable that is not set",
      [{ ...grant, env: "GLOVEBOX_TEST_NOT_SET" }],
      /^\/keys\/0\/env names a variable that is not set: GLOVEBOX_TEST_NOT_SET$/,
    ],
    ["a file that is not there", [{ ...grant, file: "/nowhere/key" }], /^\/keys\/0\/file cannot be read: ENOENT$/],
    [
      "a name that another key has",
      [
        { ...grant, hash },
        { ...grant, hash: createKey().hash },
      ],
      /^\/keys\/1\/name is that of another key: k$/,
    ],
    [
      "a hash that another key has",
      [
        { ...grant, hash },
        { ...grant, name: "l", hash },
      ],
      /^\/keys\/1 is the same key as k$/,
    ],
  ];

  test.each(wrongs)("are refused with %s, by a pointer and without what stands there", async (_what, keys, message) => {
    const refusal = await createServer(engine, { port: 0, keys: keys as readonly KeyOptions[] }).catch(
      (error: unknown) => error,
    );
    expect(refusal).toBeInstanceOf(TypeError);
    const said = (refusal as TypeError).message;
    expect(said).toMatch(message);
    expect(said).not.toContain(secret.slice(3));
    expect(said).not.toContain("/nowhere");
  });

  test("are read from variables and files, as keys or as hashes", async () => {
    const [inEnv, inFile, hashed] = [createKey(), createKey(), createKey()];
    vi.stubEnv("GLOVEBOX_TEST_KEY", inEnv.secret);
    writeFileSync(join(folder, "key"), `${inFile.secret}\n`);
    writeFileSync(join(folder, "hash"), `${hashed.hash}\n`);
    const other = await createEngine({ workers: 1, executor: "threads" });
    await using server = await createServer(other, {
      port: 0,
      keys: [
        { ...grant, name: "env", env: "GLOVEBOX_TEST_KEY" },
        { ...grant, name: "file", file: join(folder, "key") },
        { ...grant, name: "hash", file: join(folder, "hash") },
      ],
    });
    vi.unstubAllEnvs();
    for (const { secret: sent } of [inEnv, inFile, hashed]) {
      const { status } = await fetch(`${server.url}/v1/tools`, { headers: { authorization: `Bearer ${sent}` } });
      expect(status).toBe(200);
    }
  });

  test("that are replaced take effect at once, and what was used of them stays used", async () => {
    const [first, second] = [createKey(), createKey()];
    const limited = { ...grant, rate: { calls: 1, perMs: 3_600_000 } };
    const keys = new Keys([{ ...limited, hash: first.hash }]);
    const other = await createEngine({ workers: 1, executor: "threads", tools: [ECHO] });
    await using server = await createServer(other, { port: 0, keys });
    const statusOf = async (sent: string) => {
      const headers = { authorization: `Bearer ${sent}`, "content-type": "application/json" };
      return (await fetch(`${server.url}/v1/execute`, { method: "POST", headers, body: '{"name":"echo"}' })).status;
    };
    expect([await statusOf(first.secret), await statusOf(first.secret)]).toEqual([200, 429]);
    keys.replace([{ ...limited, hash: second.hash }]);
    expect([await statusOf(first.secret), await statusOf(second.secret)]).toEqual([401, 429]);
    keys.replace([{ ...grant, hash: second.hash }]);
    expect(await statusOf(second.secret)).toBe(200);
  });

  test("that are gone open nothing to whoever was let in with them", async () => {
    const keys = new Keys([{ ...grant, hash }]);
    const caller = keys.find(secret);
    if (caller === null) throw new Error("the key was not found");
    const gate = new ScopedEngine(engine, keys);
    keys.replace([{ ...grant, name: "other", hash: createKey().hash }]);
    expect((await gate.execute(caller, { name: "echo", arguments: {} }, {})).error?.code).toBe("unauthorized");
    expect(gate.list(caller)).toEqual([]);
    expect(gate.get(caller, "echo")).toBeUndefined();
  });

  test("that are gone end the streams that were opened with them", async () => {
    const { secret, hash } = createKey();
    const watching = { ...grant, roles: ["metrics"] as const, hash };
    const keys = new Keys([watching]);
    const other = await createEngine({ workers: 1, executor: "threads" });
    await using server = await createServer(other, { port: 0, keys });
    const headers = { authorization: `Bearer ${secret}`, accept: "text/event-stream" };
    const reader = (await fetch(`${server.url}/v1/stats`, { headers })).body?.getReader();
    keys.replace([watching]);
    expect((await reader?.read())?.done).toBe(false);
    keys.replace([{ ...watching, name: "another", hash: createKey().hash }]);
    while ((await reader?.read())?.done === false);
  });

  test("are for the tenant that they have now, also in a session that was opened before", async () => {
    const { secret, hash } = createKey();
    const keys = new Keys([{ ...grant, tenant: "before", hash }]);
    const other = await createEngine({ workers: 1, executor: "threads", tools: [ECHO] });
    await using server = await createServer(other, { port: 0, keys });
    const tenants: string[] = [];
    other.on("tool:pre", ({ tenant }) => tenants.push(tenant));
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const ask = (method: string, params: object, session = {}): Promise<Response> =>
      fetch(`${server.url}/mcp`, {
        method: "POST",
        headers: { ...headers, accept: "application/json, text/event-stream", ...session },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
    const protocolVersion = "2025-06-18";
    const clientInfo = { name: "test", version: "1" };
    const opened = await ask("initialize", { protocolVersion, capabilities: {}, clientInfo });
    await opened.text();
    const session = {
      "mcp-session-id": opened.headers.get("mcp-session-id"),
      "mcp-protocol-version": protocolVersion,
    };
    for (const tenant of ["before", "after"]) {
      keys.replace([{ ...grant, tenant, hash }]);
      expect(await (await ask("tools/call", { name: "echo", arguments: {} }, session)).text()).toContain('"result"');
    }
    expect(tenants).toEqual(["before", "after"]);
  });

  test("that get another tenant and other roles call for that tenant, also for whoever was let in before", async () => {
    const keys = new Keys([{ ...grant, tenant: "acme", roles: ["execute", "admin"], hash }]);
    const caller = keys.find(secret);
    if (caller === null) throw new Error("the key was not found");
    const runner = new ScopedEngine(engine, keys).runnerFor(caller);
    const tenants: string[] = [];
    const listener = ({ tenant }: { readonly tenant: string }) => void tenants.push(tenant);
    engine.on("tool:post", listener);
    const call = { name: "echo", arguments: {} };
    await runner.execute(call);
    keys.replace([{ ...grant, tenant: "globex", hash }]);
    await runner.execute(call);
    expect((await runner.execute(call, { tenant: "acme" })).error?.code).toBe("forbidden");
    engine.off("tool:post", listener);
    expect(tenants).toEqual(["acme", "globex"]);
  });

  test("with a list of tools put in and take out no others", async () => {
    const other = await createEngine({ workers: 1, executor: "threads", tools: [ECHO] });
    await using server = await createServer(other, {
      port: 0,
      keys: [{ ...grant, roles: ["admin"], tools: ["own-*"], hash }],
    });
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const put = async (name: string) =>
      (
        await fetch(`${server.url}/v1/tools/${name}`, {
          method: "PUT",
          headers,
          body: JSON.stringify({ ...ECHO, name }),
        })
      ).status;
    const remove = async (name: string) =>
      (
        await fetch(`${server.url}/v1/tools/${name}`, {
          method: "DELETE",
          headers: { authorization: `Bearer ${secret}` },
        })
      ).status;
    expect([await put("echo"), await remove("echo"), await put("own-echo"), await remove("own-echo")]).toEqual([
      403, 403, 201, 204,
    ]);
    expect(other.get("echo")).toBeDefined();
  });

  test("of one tenant leave room for the bodies of others, whatever they say that they will send", async () => {
    const [first, second] = [createKey(), createKey()];
    const other = await createEngine({ workers: 1, executor: "threads", tools: [ECHO] });
    await using server = await createServer(other, {
      port: 0,
      drainMs: 100,
      bodyBytes: 200_000,
      bodiesBytes: 600_000,
      keys: [
        { ...grant, name: "first", tenant: "acme", hash: first.hash },
        { ...grant, name: "second", tenant: "globex", hash: second.hash },
      ],
    });
    const head = `POST /v1/execute HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${first.secret}\r\ncontent-type: application/json\r\ncontent-length: 150000\r\n\r\n`;
    const held = Array.from({ length: 4 }, () => connect(server.port, "127.0.0.1").setEncoding("latin1"));
    try {
      const answers = held.map(async (socket) => String((await once(socket.resume(), "data"))[0]));
      for (const socket of held) socket.write(head);
      expect(await Promise.race(answers)).toMatch(/^HTTP\/1\.1 503 /);
      const body = JSON.stringify({ name: "echo", arguments: { text: "x".repeat(150_000) } });
      const headers = { authorization: `Bearer ${second.secret}`, "content-type": "application/json" };
      expect((await fetch(`${server.url}/v1/execute`, { method: "POST", headers, body })).status).toBe(200);
      for (const answer of answers) answer.catch(() => undefined);
    } finally {
      for (const socket of held) socket.destroy();
    }
  });

  test("that are gone end the streams of those who look on with them", async () => {
    const watcher = { name: "watcher", tenant: null, roles: ["metrics"], hash } as const;
    const keys = new Keys([watcher]);
    const other = await createEngine({ workers: 1, executor: "threads" });
    await using server = await createServer(other, { port: 0, keys });
    const headers = { authorization: `Bearer ${secret}`, accept: "text/event-stream" };
    const { body } = await fetch(`${server.url}/v1/stats`, { headers, signal: AbortSignal.timeout(15_000) });
    const events = body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    expect((await events?.next())?.value).toMatch(/^data: /);
    keys.replace([{ ...watcher, hash: createKey().hash }]);
    // A snapshot of the time before may be on its way.
    while ((await events?.next())?.done === false);
  });

  test("stand in a configuration, which says where one is wrong and shows nothing of it", async () => {
    const file = join(folder, "glovebox.config.yaml");
    const write = (key: object) => writeFileSync(file, JSON.stringify({ keys: [{ ...grant, ...key }] }));
    write({ file: "./ops.key", limits: { wallMs: 5 } });
    expect((await loadConfig(file)).keys).toEqual([{ ...grant, file: join(folder, "ops.key"), limits: { wallMs: 5 } }]);
    for (const wrong of [
      { hash: secret },
      { hash, key: secret },
      { hash, tenant: [secret] },
      { hash, roles: [secret] },
    ]) {
      write(wrong);
      const refusal = String(await loadConfig(file).catch((error: unknown) => error));
      expect(refusal).toMatch(/^ConfigError: glovebox\.config\.yaml:1:\d+: \/keys\/0\//);
      expect(refusal).not.toContain(secret.slice(3));
    }
    for (const misplaced of [{ keys: [{ [secret]: 1 }] }, { host: [secret] }, { [secret]: true }]) {
      writeFileSync(file, JSON.stringify(misplaced));
      const refusal = String(await loadConfig(file).catch((error: unknown) => error));
      expect(refusal).toMatch(/^ConfigError: .*/);
      expect(refusal).not.toContain(secret.slice(3));
    }
  });

  test("that people choose are refused, as they could be guessed", async () => {
    vi.stubEnv("GLOVEBOX_TEST_KEY", "correct horse battery staple");
    const opening = createServer(engine, { port: 0, keys: [{ ...grant, env: "GLOVEBOX_TEST_KEY" }] });
    await expect(opening).rejects.toThrow(/^\/keys\/0: what it names is not a key as glovebox keys new makes them/);
    vi.unstubAllEnvs();
  });

  test("have hashes that anybody can work out", () => {
    expect(hash).toBe(`sha256:${createHash("sha256").update(secret).digest("hex")}`);
  });
});

describe("a server without keys", () => {
  /** What it answers to a request with these headers. */
  function statusOf(
    server: Server,
    headers: Record<string, string>,
    path = "/v1/tools",
    method = "GET",
  ): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    request({ port: server.port, host: "127.0.0.1", path, method, headers, timeout: 120_000 }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .once("error", reject)
      .end();
    return promise;
  }

  test.each(["0.0.0.0", "::", "192.168.0.1", "example.com"])("does not listen on %s", async (host) => {
    await using engine = await createEngine({ workers: 1, executor: "threads" });
    const opening = createServer(engine, { port: 0, host });
    await expect(opening).rejects.toThrow(
      /^without keys the server listens on loopback addresses only, and .* is not one/,
    );
    await expect(createServer(engine, { port: 0, host, keys: [] })).rejects.toThrow(/loopback/);
  });

  test("listens elsewhere where its embedder says that anybody may", async () => {
    await using bench = await startBench([], { server: { host: "0.0.0.0", allowAnybody: true } });
    expect(await statusOf(bench.server, { host: `10.1.2.3:${bench.server.port}` })).toBe(200);
    expect(await statusOf(bench.server, { host: "evil.example" })).toBe(403);
  });

  test("is found by its address, by localhost and by the names that it is given, and by no other", async () => {
    await using bench = await startBench([], {
      server: { hosts: ["tools.example.com"], publicUrl: "https://box.example.com/x" },
    });
    const { server } = bench;
    for (const host of [
      "localhost",
      "LOCALHOST.",
      "127.0.0.1",
      "127.0.0.2:80",
      "[::1]:9",
      "tools.example.com:1",
      "box.example.com",
    ]) {
      expect([host, await statusOf(server, { host })]).toEqual([host, 200]);
    }
    for (const host of [
      "evil.example",
      "localhost.evil.example",
      "10.0.0.1",
      "127.0.0.1.nip.io",
      "[2001:db8::1]",
      "example.com",
    ]) {
      expect([host, await statusOf(server, { host })]).toEqual([host, 403]);
    }
    expect(await statusOf(server, { host: "evil.example" }, "/metrics")).toBe(403);
    expect(await statusOf(server, { host: "evil.example" }, "/nothing")).toBe(403);
  });

  test("answers no page of another site", async () => {
    await using bench = await startBench([]);
    const { server } = bench;
    const host = `127.0.0.1:${server.port}`;
    const refused: readonly Record<string, string>[] = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: `http://localhost:${server.port}` },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    ];
    for (const headers of refused)
      expect([headers, await statusOf(server, { host, ...headers })]).toEqual([headers, 403]);
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect(await statusOf(server, { host, ...link }, "/v1/execute", "POST")).toBe(403);
    const own: readonly Record<string, string>[] = [
      {},
      { origin: `http://${host}` },
      { origin: `http://${host}`, "sec-fetch-site": "same-origin" },
      { "sec-fetch-site": "none" },
      link,
    ];
    for (const headers of own) expect([headers, await statusOf(server, { host, ...headers })]).toEqual([headers, 200]);
  });
});

describe("a page of another origin", () => {
  const origin = "https://app.example.com";
  const grants: readonly Grant[] = [{ name: "k", tenant: "a", roles: ["execute"] }];

  test("may use the server where its origin is listed, with a key", async () => {
    await using bench = await startBench(grants, { server: { origins: [origin] } });
    const preflight = {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization",
    };
    const asked = await ask(bench, null, "/v1/execute", { method: "OPTIONS", headers: preflight });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
    expect(asked.headers.get("access-control-allow-headers")).toContain("authorization");
    expect(asked.headers.get("vary")).toBe("origin");
    const headers = { origin, "sec-fetch-site": "cross-site" };
    const answer = await ask(bench, "k", "/v1/tools", { headers });
    expect({ status: answer.status, allowed: answer.headers.get("access-control-allow-origin") }).toEqual({
      status: 200,
      allowed: origin,
    });
    expect(answer.headers.get("access-control-allow-credentials")).toBe(null);
    const unknown = await ask(bench, null, "/v1/tools", { headers });
    expect(unknown.status).toBe(401);
    expect(unknown.headers.get("access-control-allow-origin")).toBe(origin);
  });

  test("may not where it is not, though it has a key", async () => {
    await using bench = await startBench(grants, { server: { origins: [origin] } });
    const other = { origin: "https://evil.example", "access-control-request-method": "POST" };
    for (const answer of [
      await ask(bench, null, "/v1/execute", { method: "OPTIONS", headers: other }),
      await ask(bench, "k", "/v1/tools", { headers: other }),
    ]) {
      expect(codeOf(answer)).toEqual({ status: 403, code: "forbidden" });
      expect(answer.headers.get("access-control-allow-origin")).toBe(null);
    }
  });

  test.each(["*", "app.example.com", "https://app.example.com/", "null"])("is not listed as %s", async (wrong) => {
    await using engine = await createEngine({ workers: 1, executor: "threads" });
    await expect(createServer(engine, { port: 0, origins: [wrong] })).rejects.toThrow(
      /^origins are written as browsers do/,
    );
  });
});
