import { Redis } from "ioredis";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EngineOptions, ToolResult } from "../../src/glovebox/index.ts";
import { RedisConnection } from "../../src/fleet/redis/connection.ts";
import { monitorRedis } from "../redis-monitor.ts";
import { type RedisServer, startRedis } from "../redis-server.ts";
import { type Line, machineIn, type Siege, startSiege } from "./siege.ts";

const SECRET = "the secret of this fleet";
const LONG_MS = 300_000;
const CREDENTIAL = "correct-horse-battery-staple";
const CONFIGURED = "configured-key-of-a-service";
/** What only a fleet with a secret keeps from whoever reads its Redis. */
const OPEN = {
  argument: "argument-9f1c2a",
  output: "output-7d20b4",
  line: "line-1b8e55",
  error: "error-44e0aa",
  code: "code-c0de77",
  tenant: "tenant-5a5a01",
  environment: "environment-0e11f2",
};
const MARK = "the end of what is heard";
const ENV = "GLOVEBOX_TEST_ENVIRONMENT";

/** All that anybody says to a Redis, word by word, and then all that is in it. */
async function witness(redis: RedisServer): Promise<{ readonly all: () => Promise<string> } & AsyncDisposable> {
  const connection = RedisConnection.open(redis.url, "witness");
  await connection.ready(30_000);
  const client = connection.client as Redis;
  const heard: string[] = [];
  const ear = await monitorRedis(redis, (words) => void heard.push(words.join(" ")));
  return {
    all: async () => {
      // What is said is heard later: all of it has been once this has.
      await client.echo(MARK);
      await expect.poll(() => heard.some((line) => line.includes(MARK))).toBe(true);
      return [...heard, ...(await dump(client))].join("\n");
    },
    [Symbol.asyncDispose]: async () => {
      ear[Symbol.dispose]();
      await connection.close();
    },
  };
}

async function dump(client: Redis): Promise<readonly string[]> {
  const found: string[] = [];
  for (const key of await client.keys("*")) found.push(key, JSON.stringify(await valueOf(client, key)));
  return found;
}

async function valueOf(client: Redis, key: string): Promise<unknown> {
  switch (await client.type(key)) {
    case "string":
      return client.get(key);
    case "hash":
      return client.hgetall(key);
    case "list":
      return client.lrange(key, 0, -1);
    case "set":
      return client.smembers(key);
    case "zset":
      return client.zrange(key, "0", "-1", "WITHSCORES");
    case "stream":
      return client.xrange(key, "-", "+");
    default:
      return null;
  }
}

/** A text as it may stand anywhere: as it is, in hexadecimal, and in Base64 wherever it begins. */
function formsOf(text: string): readonly string[] {
  const inBase64 = [0, 1, 2].map((before) =>
    Buffer.from("\0".repeat(before) + text)
      .toString("base64")
      .slice(4, -4),
  );
  return [text, Buffer.from(text).toString("hex"), ...inBase64];
}

function found(all: string, texts: readonly string[]): readonly string[] {
  return texts.filter((text) => formsOf(text).some((form) => all.includes(form)));
}

/** A server that answers with what it was sent. */
async function startEcho(): Promise<{ readonly origin: string } & AsyncDisposable> {
  const server = createServer((request, response) => response.end(JSON.stringify(request.headers)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}

const SOURCE = `export default async ({ origin, long, fails, text }, { host, config }) => {
  const label = "${OPEN.code}";
  console.log("${OPEN.line}");
  const headers = { authorization: "Bearer " + host.secrets.CREDENTIAL };
  const echoed = await (await fetch(origin, { headers })).json();
  const region = await host.env.get("${ENV}");
  if (fails) throw new Error("${OPEN.error}");
  return { text: "${OPEN.output}".repeat(long ? 20_000 : 1), echoed, region, isConfigured: config.key.length, label, of: text };
}`;

function optionsFor(origin: string): Partial<EngineOptions> {
  const allow = { fetch: { origins: [], privateOrigins: [origin] }, secrets: ["CREDENTIAL"], env: [ENV] };
  return {
    secrets: { CREDENTIAL: { value: CREDENTIAL, bind: [{ origin, as: "Bearer {}" }] } },
    policy: { rules: [{ allow }] },
    limits: { outputBytes: 4 * 1024 * 1024, wallMs: 200_000 },
  };
}

async function useAll({ engine }: Siege, origin: string): Promise<readonly ToolResult[]> {
  await engine.register({
    name: "everything",
    description: "does all",
    capabilities: { fetch: { origins: [origin] }, secrets: ["CREDENTIAL"], env: [ENV] },
    config: { key: CONFIGURED },
    source: SOURCE,
  });
  const calls = [{}, { long: true }, { fails: true }].map((more) =>
    engine.execute(
      { name: "everything", arguments: { origin, text: OPEN.argument, ...more } },
      { tenant: OPEN.tenant, onLog: () => undefined },
    ),
  );
  return Promise.all(calls);
}

describe.each([
  ["without a secret", undefined],
  ["with a secret", SECRET],
])("a fleet %s", (_name, secret) => {
  test(
    "keeps what its policy's secrets stand for, and its tools' config, out of Redis",
    { timeout: LONG_MS },
    async () => {
      process.env[ENV] = OPEN.environment;
      await using echo = await startEcho();
      const redis = await startRedis();
      await using seen = await witness(redis);
      await using siege = await startSiege(secret, optionsFor(echo.origin), redis);
      const [short, long, failed] = await useAll(siege, echo.origin);
      expect(short).toMatchObject({
        success: true,
        output: { region: OPEN.environment, isConfigured: CONFIGURED.length },
      });
      expect(long).toMatchObject({ success: true });
      expect(failed).toMatchObject({ success: false, error: { code: "tool_error" } });
      const all = await seen.all();
      expect(found(all, [CREDENTIAL, CONFIGURED])).toEqual([]);
      const open = found(all, Object.values(OPEN));
      // What is looked for would be found: without a secret it is.
      expect(open).toEqual(secret === undefined ? Object.values(OPEN) : []);
      if (secret !== undefined) expect(all).not.toContain(secret);
      delete process.env[ENV];
    },
  );
});

const AGENTSPACE = `export class AgentSpaceV1Tool {
  constructor(id, data) { this.data = data; }
  execute() {
    console.log("with", this.data.api_key);
    throw new Error("refused for " + this.data.api_key);
  }
}`;

test(
  "a machine sends no key of an AgentSpace tool's config on in a log line or an error",
  { timeout: LONG_MS },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-fleet-secrets-"));
    try {
      const path = join(folder, "keyed.js");
      writeFileSync(path, AGENTSPACE);
      const redis = await startRedis();
      await using seen = await witness(redis);
      await using siege = await startSiege(undefined, {}, redis);
      await siege.engine.register({ path, config: { api_key: CONFIGURED } });
      const [{ name } = { name: "" }] = siege.engine.list().filter(({ contract }) => contract === "agentspace");
      const lines: string[] = [];
      const onLog = ({ message }: { readonly message: string }) => void lines.push(message);
      const { error, metadata } = await siege.engine.execute({ name, arguments: {} }, { onLog });
      expect(error?.message).toBe("refused for (api_key)");
      expect([lines, metadata.logs.map(({ message }) => message)]).toEqual([["with (api_key)"], ["with (api_key)"]]);
      const all = await seen.all();
      expect(found(all, [CONFIGURED])).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test("members with different secrets do not talk, and each says so in one line", { timeout: LONG_MS }, async () => {
  await using siege = await startSiege(SECRET);
  const theirs: Line[] = [];
  await using machine = await machineIn(siege.redis, "the secret of another fleet", theirs);
  const why = (lines: readonly Line[]): readonly string[] =>
    lines.flatMap(({ fields }) =>
      "why" in fields && String(fields.why).includes("another secret") ? [String(fields.why)] : [],
    );
  await expect
    .poll(() => why(siege.lines), { timeout: 60_000 })
    .toEqual([
      "1 worker machines cannot be read: they were given another secret than this server, or none; " +
        "give all of them the same GLOVEBOX_FLEET_SECRET (executor.secret)",
    ]);
  const words =
    "1 servers cannot be read: they were given another secret than this machine, or none; " +
    "give all of them the same GLOVEBOX_FLEET_SECRET (executor.secret)";
  expect([why(theirs), machine.stats().problem]).toEqual([[words], words]);
  const sums = await Promise.all(Array.from({ length: 50 }, (_, at) => siege.add(at, 1)));
  expect(sums).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
  expect(await machine.registry.metrics()).toMatch(/^glovebox_machine_jobs_total 0$/m);
});
