import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { formsOf } from "../../src/kernel/base/redaction/forms.ts";
import { createEngine, type Engine, type EngineOptions } from "../../src/glovebox/index.ts";
import { serve, type TestServer } from "../kernel/broker/capabilities/fetch/server.ts";
import { Session } from "../kernel/broker/capabilities/fetch/session.ts";
import { TurnMeter } from "../turns.ts";

const VALUE = 'kV9-zQ7m/T+0aX&2"q';
const KEY = "glovebox.secret.VAULT.";
const MIB = 1024 * 1024;
/** Requests of one call, under the default limit of capability calls. */
const BATCH = 80;
/** The longest turn of the event loop, in processor time; the attacks once held it for 10 seconds. */
const TURN_MS = 250;

/** A tool that is granted `secrets`, on an engine with the secret VAULT bound to `bound`. */
async function open(
  servers: readonly TestServer[],
  bound: TestServer,
  secrets: readonly string[],
  source: string,
  options: EngineOptions = {},
): Promise<Engine> {
  const privateOrigins = servers.map(({ origin }) => origin);
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    policy: { rules: [{ allow: { fetch: { origins: [], privateOrigins, maxRequests: 1_000 }, secrets: ["*"] } }] },
    secrets: { VAULT: { value: VALUE, bind: [{ origin: bound.origin, as: "Bearer {}" }] } },
    ...options,
  });
  const capabilities = { fetch: { origins: privateOrigins, maxRequests: 1_000 }, secrets };
  await engine.register({ name: "probe", description: "Probes.", source, capabilities });
  return engine;
}

async function callsOf(engine: Engine, items: readonly unknown[], more: object): Promise<readonly unknown[]> {
  const batches = Array.from({ length: Math.ceil(items.length / BATCH) }, (_, at) =>
    items.slice(at * BATCH, (at + 1) * BATCH),
  );
  const results = [];
  for (const batch of batches) {
    const result = await engine.execute({ name: "probe", arguments: { items: batch, ...more } });
    expect(result.error).toBeNull();
    results.push(...(result.output as readonly unknown[]));
  }
  return results;
}

/** Delivers the first chunk of each answer, and never ends it. Tells how much of the chunk the tool got at once. */
const PROBE = `export default async ({ origin, items, headers = {} }) => {
  const told = [];
  for (let at = 0; at < items.length; at += 8) {
    told.push(...await Promise.all(items.slice(at, at + 8).map(async (item) => {
      const { body } = await fetch(origin + "/?" + item, { headers });
      const reader = body.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return value.length;
    })));
  }
  return told;
};`;

/** The lengths of all guesses at the secret, and how much of each a tool gets at once from its author's server. */
async function guessAll(secrets: readonly string[]): Promise<{ readonly asked: unknown; readonly told: unknown }> {
  // It answers with the bytes that are asked for, in hex, and then with nothing more.
  await using author = await serve(({ url = "" }, response) => {
    response.write(Buffer.from(url.slice("/?".length), "hex"));
  });
  await using vault = await serve((_request, response) => response.end());
  await using engine = await open([author, vault], vault, secrets, PROBE);
  // All beginnings of all forms, and each of them whole.
  const guesses = formsOf(VALUE).flatMap((form) =>
    Array.from({ length: form.length }, (_, at) => Buffer.concat([Buffer.from("x "), form.subarray(0, at + 1)])),
  );
  const items = guesses.map((guess) => guess.toString("hex"));
  return { asked: guesses.map(({ length }) => length), told: await callsOf(engine, items, { origin: author.origin }) };
}

test("a tool without a secret learns nothing of it from its author's server", async () => {
  const { asked, told } = await guessAll([]);
  expect(told).toEqual(asked);
});

test("a tool with a secret for another server learns nothing of it from its author's server", async () => {
  const { asked, told } = await guessAll(["VAULT"]);
  expect(told).toEqual(asked);
});

const forms = formsOf(VALUE).map((form) => form.toString());
const ECHO = `export default async ({ origin, items }) => {
  const told = [];
  for (const item of items) {
    const headers = { authorization: "Bearer glovebox.secret.VAULT." };
    const response = await fetch(origin + "/?" + item, { headers });
    told.push([await response.text(), response.headers.get("x-echo")]);
  }
  return told;
};`;

test("a server that got the secret echoes it in no form and in no chunks to the tool", async () => {
  await using vault = await serve(async (request, response) => {
    expect(request.headers.authorization).toBe(`Bearer ${VALUE}`);
    const [form = 0, size = 0] = (request.url ?? "").slice("/?".length).split(",").map(Number);
    const echo = forms[form] ?? "";
    response.setHeader("x-echo", `a ${echo} b`);
    const body = Buffer.from(`a ${echo} b`);
    for (let at = 0; at < body.length; at += size) {
      response.write(body.subarray(at, at + size));
      await nextTurn();
    }
    response.end();
  });
  await using engine = await open([vault], vault, ["VAULT"], ECHO);
  const items = forms.flatMap((_, form) => [1, 2, 3, 4, 5, 6, 7].map((size) => `${form},${size}`));
  const told = await callsOf(engine, items, { origin: vault.origin });
  expect(new Set(told.map(String))).toEqual(new Set([String([`a ${KEY} b`, `a ${KEY} b`])]));
});

test("answers of backslashes cost the broker no more than others", async () => {
  const bodies = [Buffer.alloc(8 * MIB, "abcd efgh "), Buffer.alloc(8 * MIB, "\\"), Buffer.alloc(8 * MIB, "%25&amp;")];
  await using vault = await serve(({ url = "" }, response) => response.end(bodies[Number(url.slice("/?".length))]));
  await using session = new Session({
    rules: [{ privateOrigins: [vault.origin], maxBytes: 1_000 * MIB, maxRequests: 100 }],
    secrets: { VAULT: { value: VALUE, bind: [{ origin: vault.origin }] } },
    grantedSecrets: ["VAULT"],
  });
  const spent = bodies.map(() => Infinity);
  for (let round = 0; round < 4; round++) {
    for (const at of bodies.keys()) {
      const before = process.cpuUsage();
      const headers = [["authorization", KEY]] as const;
      const { bytes } = await session.whole(`${vault.origin}/?${at}`, { headers });
      const { user, system } = process.cpuUsage(before);
      expect(bytes.length).toBe(8 * MIB);
      spent[at] = Math.min(spent[at] ?? Infinity, user + system);
    }
  }
  // The matcher before this one took 70 times as long for backslashes.
  const [plain = 0, ...hostile] = spent;
  for (const one of hostile) expect(one).toBeLessThan(5 * plain);
});

test("logs of backslashes cost the host nothing, and the call its own time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-secrets-"));
  try {
    const path = join(folder, "tool.js");
    writeFileSync(
      path,
      `export class AgentSpaceV1Tool {
        constructor(id, data) { this.data = data; }
        execute({ lines }) {
          const line = "\\\\".repeat(64 * 1024 - 100) + this.data.api_key;
          for (let at = 0; at < lines; at++) console.log(line);
          throw new Error(line.slice(-200));
        }
      }`,
    );
    await using engine = await createEngine({ workers: 1, executor: "process", maxLimits: { logBytes: 4 * MIB } });
    await engine.register({ path, config: { api_key: VALUE }, limits: { logBytes: 4 * MIB } });
    const [{ name } = { name: "" }] = engine.list();
    await engine.execute({ name, arguments: { lines: 1 } });
    using turns = new TurnMeter();
    const { error, metadata } = await engine.execute({ name, arguments: { lines: 60 } });
    turns.stop();
    expect(metadata.logs).toHaveLength(60);
    expect(JSON.stringify([error, metadata])).not.toContain(JSON.stringify(VALUE).slice(1, -1));
    expect(error?.message).toMatch(/\\\(api_key\)$/);
    expect(turns.longestMs).toBeLessThan(TURN_MS);
    // Some 4 million bytes at a few nanoseconds each, counted where they are written.
    expect(metadata.cpuMs).toBeGreaterThan(4);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
