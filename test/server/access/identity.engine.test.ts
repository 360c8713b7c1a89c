import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createEngine,
  type Engine,
  type Policy,
  type ToolDefinition,
  type ToolInfo,
  type ToolResult,
} from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

const NOTE = `export default async ({ value }, { host }) =>
  value === undefined ? await host.kv.get("note") : await host.kv.set("note", value);`;
const note = {
  name: "note",
  description: "Keeps a note.",
  source: NOTE,
  tags: ["trusted"],
  capabilities: { kv: true },
} satisfies ToolDefinition;
const OPERATORS: Policy = {
  rules: [
    { tools: ["note"], allow: { kv: true } },
    { tags: ["trusted"], allow: { kv: true } },
  ],
};

const keys = { own: createKey(), other: createKey() };
let engine: Engine;
let server: Server;

async function open(policy: Policy): Promise<void> {
  engine = await createEngine({ workers: 1, executor: "threads", policy, kv: { path: ":memory:" } });
  const roles = ["admin", "execute"] as const;
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: Object.entries(keys).map(([name, { hash }]) => ({ name, hash, tenant: "a", roles })),
  });
}

async function send(method: string, tool: ToolDefinition, key: keyof typeof keys) {
  const response = await fetch(`${server.url}/v1/tools/${tool.name}`, {
    method,
    headers: {
      authorization: `Bearer ${keys[key].secret}`,
      ...(method === "PUT" ? { "content-type": "application/json" } : {}),
    },
    ...(method === "PUT" ? { body: JSON.stringify(tool) } : {}),
  });
  const text = await response.text();
  const body = (text === "" ? null : JSON.parse(text)) as (ToolInfo & ToolResult) | null;
  return { status: response.status, body };
}

const codeOf = async (value?: string) =>
  (await engine.execute({ name: "note", arguments: value === undefined ? {} : { value } })).error?.code ?? "ok";
const outputOf = async () => (await engine.execute({ name: "note", arguments: {} })).output;

beforeEach(() => open(OPERATORS));
afterEach(() => server.close());

describe("a tool that a key registers", () => {
  test("says whose it is, and by which digest a rule can pin it", async () => {
    const { status, body } = await send("PUT", note, "own");
    expect(status).toBe(201);
    expect(body).toMatchObject({ registrant: "key:own", digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const again = await send("PUT", { ...note, description: "Other words.", config: { secret: 1 } }, "own");
    expect(again.body?.digest).toBe(body?.digest);
    const changed = await send("PUT", { ...note, source: `${NOTE} ` }, "own");
    expect(changed.status).toBe(200);
  });

  test("is granted nothing by rules that mention its name and its tags", async () => {
    await send("PUT", note, "own");
    const { error } = await engine.execute({ name: "note", arguments: {} });
    expect(error).toMatchObject({ code: "capability_denied" });
    expect(error?.message).toContain('to tool "note" with the registrant "key:own"');
    expect(error?.message).toContain('add "key:own" to registrants of a policy rule');
    expect(engine.explain("note")?.findings).toHaveLength(1);
  });

  test("is granted what a rule for its registrant allows", async () => {
    engine.setPolicy({ rules: [{ registrants: ["key:own"], allow: { kv: true } }] });
    await send("PUT", note, "own");
    expect(await codeOf("a")).toBe("ok");
    await engine.register({ ...note, name: "mine" });
    expect((await engine.execute({ name: "mine", arguments: {} })).error?.code).toBe("capability_denied");
  });

  test("is neither replaced nor removed by another key, and does not replace the operator's", async () => {
    await engine.register(note);
    for (const method of ["PUT", "DELETE"]) {
      expect(await send(method, note, "own")).toMatchObject({ status: 403, body: { error: { code: "forbidden" } } });
    }
    expect(engine.get("note")?.registrant).toBe("operator");
    const own = { ...note, name: "own-note" };
    expect((await send("PUT", own, "own")).status).toBe(201);
    expect((await send("PUT", own, "other")).status).toBe(403);
    expect((await send("DELETE", own, "other")).status).toBe(403);
    expect((await send("DELETE", own, "own")).status).toBe(204);
    expect((await send("PUT", own, "other")).status).toBe(201);
  });

  test("does not replace a tool that was registered while it was built", async () => {
    const [put] = await Promise.all([send("PUT", note, "own"), engine.register(note)]);
    expect(engine.get("note")?.registrant).toBe("operator");
    expect([201, 403]).toContain(put.status);
  });
});

test("a rule that pins a digest grants nothing once a byte of the source has changed", async () => {
  const { digest } = await engine.register(note);
  engine.setPolicy({ rules: [{ digests: [digest], allow: { kv: true } }] });
  expect(await codeOf("a")).toBe("ok");
  await engine.register({ ...note, source: NOTE.replace('"note", value', '"notes", value') });
  const { error } = await engine.execute({ name: "note", arguments: {} });
  expect(error?.message).toMatch(/with the digest "[0-9a-f]{64}".* to digests of a policy rule/s);
  await engine.register(note);
  expect(await codeOf()).toBe("ok");
});

test("values of kv do not go on to the next registrant of a name", async () => {
  engine.setPolicy({ rules: [{ registrants: ["*"], allow: { kv: true } }] });
  await engine.register(note);
  expect(await codeOf("the operator's")).toBe("ok");
  await engine.unregister("note");
  await send("PUT", note, "own");
  expect(await outputOf()).toBe(null);
  expect(await codeOf("the key's")).toBe("ok");
  await send("DELETE", note, "own");
  await engine.register(note);
  expect(await outputOf()).toBe("the operator's");
});

test("a result with an idempotency key does not go on to the next registrant of a name", async () => {
  const call = { name: "say", arguments: {} };
  const options = { idempotencyKey: "once" };
  const say = (word: string) => ({
    name: "say",
    description: "Says a word.",
    source: `export default () => "${word}"`,
  });
  await engine.register(say("operator"));
  expect((await engine.execute(call, options)).output).toBe("operator");
  await engine.unregister("say");
  await send("PUT", say("key"), "own");
  expect((await engine.execute(call, options)).output).toBe("key");
});
