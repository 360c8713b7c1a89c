import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import type { KeyGrant } from "../../../src/server/access/key-options.ts";
import { Keys } from "../../../src/server/access/keys.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createClient } from "../../../src/server/client/client.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import type { DurableCall } from "../../../src/kernel/store/calls/durable/durable-call.ts";
import type { DurablePage } from "../../../src/kernel/store/calls/durable/durable-step.ts";
import { conformingFetch } from "../mcp/conformance.ts";

const KEYS = {
  caller: { tenant: "acme", roles: ["execute"] },
  other: { tenant: "acme", roles: ["execute"] },
  boss: { tenant: "acme", roles: ["approve"] },
  both: { tenant: "acme", roles: ["execute", "approve"] },
  adder: { tenant: "acme", roles: ["approve"], tools: ["ad*"] },
  reader: { tenant: null, roles: ["calls"] },
  stranger: { tenant: "beta", roles: ["execute", "approve", "calls"] },
} as const;
type Name = keyof typeof KEYS;
const keys = new Map(Object.keys(KEYS).map((name) => [name, createKey()]));

const ORDER = {
  type: "object",
  properties: { order: { type: "integer" }, any: {}, why: { type: "string" } },
  additionalProperties: false,
};

let engine: Engine;
let server: Server;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    policy: {
      rules: [{ allow: { pause: true, kv: true, tools: ["book", "rent"] } }],
      approvals: [{ tools: ["pay"], self: true }],
    },
  });
  const source = "export default ({ order }) => `refunded ${order}`;";
  for (const name of ["refund", "pay"])
    await engine.register({
      name,
      description: "Pays.",
      source,
      inputSchema: ORDER,
      ...(name === "refund" && { approval: "always" as const }),
    });
  await engine.register({
    name: "wait",
    description: "Waits.",
    source: "export default (_, { host }) => host.pause.signal({ name: 'payment' });",
    capabilities: { pause: true },
  });
  await engine.register({
    name: "count",
    description: "Asks how many.",
    source:
      "export default (_, { host }) => host.pause.approval({ message: 'How many?', schema: { type: 'integer' } });",
    capabilities: { pause: true },
  });
  await engine.register({
    name: "book",
    description: "Books a seat, and gives it back.",
    capabilities: { kv: true },
    undo: { tool: "book", arguments: { seat: "/output/seat" } },
    source:
      "export default async ({ seat = 'free' }, { host }) => (await host.kv.set('seat', seat), { seat: 'back' });",
  });
  await engine.register({
    name: "trip",
    description: "Books, and fails.",
    capabilities: { tools: ["book"] },
    source:
      "export default async (_, { host }) => { await host.tools.call('book', { seat: '7a' }); throw new Error('full'); };",
  });
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: Object.entries(KEYS).map(([name, grant]) => ({ name, ...grant, hash: keys.get(name)?.hash ?? "" })),
  });
});
afterAll(async () => {
  await server.close();
});

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

async function send(key: Name, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answered> {
  const response = await conformingFetch(`${server.url}/v1/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${keys.get(key)?.secret}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answered["body"] };
}

/** Makes a call that pauses. */
async function pausedCall(name = "refund", args: object = { order: 7 }, key: Name = "caller"): Promise<DurableCall> {
  const { headers } = await send(key, "execute", { name, arguments: args });
  const { body } = await send(key, (headers.get("location") ?? "").replace("/v1/", ""));
  return body as unknown as DurableCall;
}

function digestOf({ waits: [wait] }: DurableCall): string {
  if (wait?.kind !== "approval") throw new Error("the call waits for no approval");
  return wait.digest;
}

const client = (key: Name) => createClient({ url: server.url, key: keys.get(key)?.secret ?? "" });

describe("POST /v1/execute of a call that waits", () => {
  test("answers 202 with the place where its result will be", async () => {
    const { status, headers, body } = await send("caller", "execute", { name: "refund", arguments: { order: 1 } });
    expect(status).toBe(202);
    expect(body).toMatchObject({ success: false, error: { code: "paused", details: { id: expect.any(String) } } });
    const { id } = (body["error"] as { readonly details: { readonly id: string } }).details;
    expect(id).toMatch(/^c_[\w-]{16}$/);
    expect(headers.get("location")).toBe(`/v1/calls/${id}`);
    expect((await send("caller", `calls/${id}`)).body).toMatchObject({
      id,
      state: "paused",
      key: "caller",
      waits: [{ kind: "approval", arguments: { order: 1 }, state: "open" }],
      result: null,
    });
  });

  /** Such bodies are read by the isolate alone. Found by an attack: the tool was said to have returned it. */
  test("refuses an infinite number in a long body", async () => {
    const response = await fetch(`${server.url}/v1/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${keys.get("caller")?.secret}`, "content-type": "application/json" },
      body: `{"name":"refund","arguments":{"any":1e400,"why":"${"x".repeat(80_000)}"}}`,
    });
    const { error } = (await response.json()) as {
      readonly error: { readonly code: string; readonly message: string };
    };
    expect([error.code, error.message]).toEqual(["invalid_arguments", expect.stringContaining("beyond 1.8e308")]);
  });

  test("has its idempotency key while it waits and when it has ended, and runs once", async () => {
    let runs = 0;
    const listener = ({ tool }: { readonly tool: string }): void => void (tool === "refund" && runs++);
    engine.on("tool:post", listener);
    const call = { name: "refund", arguments: { order: 32 } };
    const sent = () => send("caller", "execute", call, { "idempotency-key": "order-32" });
    const [first, again] = [await sent(), await sent()];
    expect(first).toMatchObject({ status: 202, body: { error: { code: "paused" } } });
    expect([again.status, again.headers.get("location")]).toEqual([202, first.headers.get("location")]);
    const { id, waits } = (await send("boss", (first.headers.get("location") ?? "").replace("/v1/", "")))
      .body as unknown as DurableCall;
    const [wait] = waits;
    const digest = wait?.kind === "approval" ? wait.digest : "";
    await send("boss", `calls/${id}/decisions`, { decision: "approve", digest });
    await engine.calls.durable.result(id, {}, { waitMs: 25_000 });
    expect(await sent()).toMatchObject({ status: 200, body: { success: true, output: "refunded 32" } });
    expect(await sent()).toMatchObject({ status: 200, body: { output: "refunded 32" } });
    engine.off("tool:post", listener);
    expect(runs).toBe(1);
  });

  test("waits for its end with the header Prefer, or with an option", async () => {
    const asked = [
      send("caller", "execute", { name: "refund", arguments: { order: 20 } }, { prefer: "respond-async, wait=20" }),
      send("caller", "execute", { name: "refund", arguments: { order: 21 }, options: { pause: "wait" } }),
    ];
    await approveAll([20, 21]);
    const answers = await Promise.all(asked);
    expect(answers.map(({ status, body }) => [status, body["output"]])).toEqual([
      [200, "refunded 20"],
      [200, "refunded 21"],
    ]);
  });

  test("is told that it waits still where its end does not come in time", async () => {
    const options = { pause: "wait", waitMs: 50 };
    const { status, body } = await send("caller", "execute", { name: "refund", arguments: { order: 3 }, options });
    expect([status, body["error"]]).toMatchObject([202, { code: "paused" }]);
  });

  test("fails where it must not wait, and wrong options are refused", async () => {
    const refund = { name: "refund", arguments: { order: 4 } };
    const { status, body } = await send("caller", "execute", { ...refund, options: { pause: "refuse" } });
    expect([status, body["error"]]).toMatchObject([200, { code: "cannot_pause" }]);
    for (const options of [{ pause: "no" }, { pause: "wait", waitMs: 60_000 }, { waitMs: "1" }]) {
      const refused = await send("caller", "execute", { ...refund, options });
      expect([refused.status, refused.body["error"]]).toMatchObject([400, { code: "invalid_arguments" }]);
    }
  });

  test("tells in a stream that it has paused, and what came of it", async () => {
    const types: unknown[] = [];
    const options = { pause: "wait" } as const;
    for await (const update of client("caller").stream({ name: "refund", arguments: { order: 5 } }, options)) {
      types.push(update.type === "result" ? update.result.output : update.type);
      if (update.type === "paused") await approveAll([5]);
    }
    expect(types).toEqual(["paused", "refunded 5"]);
  });

  test("is one result of a batch", async () => {
    const calls = [{ name: "refund", arguments: { order: 6 } }, { name: "none" }];
    const { status, body } = await send("caller", "execute/batch", { calls });
    expect(status).toBe(200);
    expect(body).toMatchObject({ results: [{ error: { code: "paused" } }, { error: { code: "tool_not_found" } }] });
  });
});

/** Approves the calls with these orders, when they are there. */
async function approveAll(orders: readonly number[]): Promise<void> {
  const left = new Set(orders);
  while (left.size > 0) {
    const { body } = await send("boss", "calls?state=paused&limit=200");
    for (const call of (body as unknown as DurablePage).calls) {
      const [wait] = call.waits;
      const { order } = (wait?.kind === "approval" ? wait.arguments : {}) as { readonly order?: number };
      if (order === undefined || !left.delete(order)) continue;
      await send("boss", `calls/${call.id}/decisions`, { decision: "approve", digest: digestOf(call) });
    }
  }
}

describe("GET /v1/calls?state=", () => {
  test("lists calls that wait for those who may decide or read them", async () => {
    const { id } = await pausedCall("refund", { order: 30 });
    for (const key of ["boss", "reader"] as const) {
      const { status, body } = await send(key, "calls?state=paused&tool=refund");
      expect(status).toBe(200);
      expect((body as unknown as DurablePage).calls.map((call) => call.id)).toContain(id);
    }
    const either = (await send("boss", "calls?state=in_doubt,paused&tool=refund")).body as unknown as DurablePage;
    expect(either.calls.map((call) => call.id)).toContain(id);
    expect((await send("boss", "calls?state=in_doubt")).body).toMatchObject({ calls: [] });
    expect((await send("caller", "calls?state=paused")).status).toBe(403);
    expect((await send("adder", "calls?state=paused")).body).toMatchObject({ calls: [] });
    expect((await send("stranger", "calls?state=paused")).body).toMatchObject({ calls: [] });
  });

  test("leaves out values that may be long where the query says so", async () => {
    const { id } = await pausedCall("refund", { order: 31 });
    const { body } = await send("boss", "calls?state=paused&tool=refund&values=false");
    const listed = (body as unknown as DurablePage).calls.find((call) => call.id === id);
    expect(listed).toMatchObject({ id, waits: [{ kind: "approval", tool: "refund", arguments: null }] });
    await send("boss", `calls/${id}/decisions`, { decision: "refuse" });
    await send("caller", `calls/${id}?wait=20`);
    const ended = await send("boss", "calls?state=ended&values=false");
    expect((ended.body as unknown as DurablePage).calls.find((call) => call.id === id)).toMatchObject({ result: null });
  });

  test("lists calls whose tool has been replaced since, or the others", async () => {
    const register = (source: string) =>
      engine.register({ name: "old", description: "Is replaced.", source, approval: "always" });
    await register("export default () => 1;");
    const { id } = await pausedCall("old", {});
    const ids = async (query: string): Promise<readonly string[]> => {
      const { body } = await send("boss", `calls?tool=old&${query}`);
      return (body as unknown as DurablePage).calls.map((call) => call.id);
    };
    expect([await ids("stale=true"), await ids("stale=false&state=paused")]).toEqual([[], [id]]);
    await register("export default () => 2;");
    expect([await ids("stale=true"), await ids("stale=false&state=paused")]).toEqual([[id], []]);
    expect(await client("boss").calls.list({ stale: true, tool: "old" })).toMatchObject({
      calls: [{ id, isStale: true }],
    });
    expect(await send("boss", "calls?stale=yes")).toMatchObject({ status: 400 });
    expect(await send("caller", "calls?stale=true")).toMatchObject({ status: 403 });
  });

  test("refuses wrong filters, and kept calls to who may not read them", async () => {
    for (const query of [
      "state=sleeping",
      "state=paused,sleeping",
      "state=",
      "state=paused&code=ok",
      "state=paused&limit=0",
      "state=paused&limit=x",
      "state=paused&cursor=zzz",
      "state=paused&values=no",
    ])
      expect([query, (await send("boss", `calls?${query}`)).status]).toEqual([query, 400]);
    const { status, body } = await send("boss", "calls");
    expect([status, body["error"]]).toMatchObject([403, { code: "forbidden" }]);
  });
});

describe("GET /v1/calls/{id} of a call that waits", () => {
  test("shows what it has done, in which runs, and whether its tool is another one by now", async () => {
    const { headers } = await send("caller", "execute", {
      name: "trip",
      arguments: {},
      options: { durable: true },
    });
    expect(headers.get("location")).toBeNull();
    const { calls } = await engine.calls.durable.list({ tool: "trip", limit: 1 });
    const { body } = await send("boss", `calls/${calls[0]?.id}`);
    expect(body).toMatchObject({
      isStale: false,
      effects: [{ step: 1, asked: "tools.call", tool: "book", arguments: '{"seat":"7a"}', state: "done" }],
      effectsOmitted: 0,
      runs: [{ number: 1, outcome: "ended" }],
      program: null,
    });
  });

  test("shows it to who made it and to who may decide or read it, and to nobody else", async () => {
    const { id } = await pausedCall();
    for (const [key, status] of Object.entries({ caller: 200, boss: 200, reader: 200, other: 404, stranger: 404 }))
      expect([key, (await send(key as Name, `calls/${id}`)).status]).toEqual([key, status]);
    expect((await send("adder", `calls/${id}`)).status).toBe(404);
    expect((await send("boss", "calls/c_nothing")).status).toBe(404);
    expect((await send("boss", "calls/nothing")).status).toBe(403);
  });

  test("waits for its end as long as the query says", async () => {
    const call = await pausedCall();
    const shown = send("caller", `calls/${call.id}?wait=20`);
    await send("boss", `calls/${call.id}/decisions`, { decision: "refuse", reason: "delivered" });
    expect((await shown).body).toMatchObject({
      state: "ended",
      result: { success: false, error: { code: "approval_refused", message: expect.stringContaining("delivered") } },
    });
    for (const wait of ["26", "-1", "x", "1e1"])
      expect([wait, (await send("caller", `calls/${call.id}?wait=${wait}`)).status]).toEqual([wait, 400]);
  });
});

describe("POST /v1/calls/{id}/decisions", () => {
  test("runs what was shown, and answers the same decision the same", async () => {
    const call = await pausedCall();
    const decision = { decision: "approve", digest: digestOf(call), actor: "ada@example.com" };
    expect(await send("boss", `calls/${call.id}/decisions`, decision)).toMatchObject({
      status: 200,
      body: { id: call.id, waits: [{ state: "approved", settled: { by: "boss", actor: "ada@example.com" } }] },
    });
    expect((await send("boss", `calls/${call.id}/decisions`, [decision])).status).toBe(200);
    const other = await send("boss", `calls/${call.id}/decisions`, { wait: 0, decision: "refuse" });
    expect(other).toMatchObject({ status: 409, body: { status: 409, call: { id: call.id } } });
    expect((await send("caller", `calls/${call.id}?wait=20`)).body).toMatchObject({
      result: { output: "refunded 7" },
    });
  });

  test("says what there is now where the digest is missing or another one", async () => {
    const call = await pausedCall();
    for (const digest of [undefined, "0".repeat(64)]) {
      const { status, body } = await send("boss", `calls/${call.id}/decisions`, { decision: "approve", digest });
      expect([status, body["call"]]).toMatchObject([409, { id: call.id, state: "paused" }]);
    }
  });

  test("refuses arguments that do not match their schema", async () => {
    const call = await pausedCall();
    const decision = { decision: "approve", digest: digestOf(call), arguments: { order: "seven" } };
    const { status, body } = await send("boss", `calls/${call.id}/decisions`, decision);
    expect([status, body]).toMatchObject([
      400,
      { error: { code: "invalid_arguments", details: { violations: [{ pointer: "/order" }] } } },
    ]);
    await send("boss", `calls/${call.id}/decisions`, { ...decision, arguments: { order: 8 } });
    expect((await send("caller", `calls/${call.id}?wait=20`)).body).toMatchObject({
      result: { output: "refunded 8" },
    });
  });

  test("needs the role, the tenant and the tool, and another key than the one that called", async () => {
    const { id } = await pausedCall();
    const refuse = { decision: "refuse" };
    for (const [key, status] of Object.entries({ caller: 403, reader: 403, adder: 404, stranger: 404 }))
      expect([key, (await send(key as Name, `calls/${id}/decisions`, refuse)).status]).toEqual([key, status]);
    const own = await pausedCall("refund", {}, "both");
    expect(await send("both", `calls/${own.id}/decisions`, refuse)).toMatchObject({
      status: 403,
      body: { error: { code: "forbidden", message: "the key that made a call may not decide it" } },
    });
    const self = await pausedCall("pay", {}, "both");
    expect((await send("both", `calls/${self.id}/decisions`, refuse)).status).toBe(200);
  });

  test("refuses what is no decision", async () => {
    const { id } = await pausedCall();
    const wrong = [
      1,
      {},
      [],
      [null],
      { decision: "maybe" },
      { decision: "refuse", why: "no" },
      { decision: "refuse", reason: 1 },
    ];
    for (const body of wrong)
      expect([body, (await send("boss", `calls/${id}/decisions`, body)).status]).toEqual([body, 400]);
    const long = { decision: "refuse", actor: "a".repeat(257) };
    expect((await send("boss", `calls/${id}/decisions`, long)).status).toBe(400);
  });
});

describe("POST /v1/calls/{id}/signals/{name} and /cancel", () => {
  test("a signal brings its payload to the call", async () => {
    const { id } = await pausedCall("wait", {});
    expect(await send("other", `calls/${id}/signals/payment`, { sum: 12 })).toMatchObject({
      status: 200,
      body: { id, state: "ready" },
    });
    expect((await send("caller", `calls/${id}?wait=20`)).body).toMatchObject({ result: { output: { sum: 12 } } });
    const late = await send("other", `calls/${id}/signals/payment`, { sum: 13 });
    expect(late).toMatchObject({ status: 409, body: { call: { id, state: "ended" } } });
    expect(Object.keys(late.body["call"] as object)).toEqual(["id", "state"]);
  });

  test("need the role execute and a name, and know the tenant's calls only", async () => {
    const { id } = await pausedCall("wait", {});
    expect((await send("boss", `calls/${id}/signals/payment`, {})).status).toBe(403);
    expect((await send("boss", `calls/${id}/cancel`, {})).status).toBe(403);
    expect((await send("stranger", `calls/${id}/signals/payment`, {})).status).toBe(404);
    expect((await send("stranger", `calls/${id}/cancel`, {})).status).toBe(404);
    expect((await send("caller", `calls/${id}/signals/${encodeURIComponent("a b")}`, {})).status).toBe(400);
    expect((await send("caller", `calls/${id}/signals/payment`, "x".repeat(70_000))).status).toBe(400);
    expect((await send("caller", `calls/${id}/cancel`, { why: "no" })).status).toBe(400);
  });

  test("a call that is cancelled has ended", async () => {
    const { id } = await pausedCall();
    expect(await send("caller", `calls/${id}/cancel`, { reason: "withdrawn" })).toMatchObject({
      status: 200,
      body: { id, state: "ended" },
    });
    expect((await send("caller", `calls/${id}`)).body).toMatchObject({
      result: { error: { code: "cancelled", message: expect.stringContaining("withdrawn") } },
    });
    expect((await send("caller", `calls/${id}/cancel`, {})).status).toBe(409);
  });
});

describe("POST /v1/calls/{id}/undo", () => {
  async function failedTrip(): Promise<string> {
    await send("caller", "execute", { name: "trip", arguments: {}, options: { durable: true } });
    const { body } = await send("boss", "calls?state=ended&tool=trip&limit=1");
    return (body as unknown as DurablePage).calls[0]?.id ?? "";
  }

  test("undoes a call of the key's tenant, once, and answers with the report", async () => {
    const id = await failedTrip();
    const report = {
      id: `${id}.undo`,
      state: "ended",
      effects: [{ step: 1, asked: "tools.call", tool: "book", outcome: "undone" }],
      error: null,
    };
    expect(await send("caller", `calls/${id}/undo`, {})).toMatchObject({ status: 200, body: report });
    expect(await client("caller").calls.undo(id)).toEqual(report);
    expect((await send("caller", `calls/${id}.undo`)).body).toMatchObject({ tool: "trip", state: "ended", legs: 1 });
    expect((await send("boss", `calls/${id}/undo`, {})).status).toBe(403);
    expect((await send("stranger", `calls/${id}/undo`, {})).status).toBe(404);
    expect((await send("caller", `calls/${id}.undo/undo`, {})).status).toBe(409);
    expect((await send("caller", `calls/${id}/undo?wait=60`, {})).status).toBe(400);
  });

  test("is tried again with `again`, where its tool has failed", async () => {
    const undo = { tool: "give_back", arguments: {} };
    await engine.register({ name: "rent", description: "Rents.", source: "export default () => 1;", undo });
    const source = "export default (_, { host }) => host.tools.call('rent', {});";
    await engine.register({ name: "ride", description: "Rents.", source, capabilities: { tools: ["rent"] } });
    const { body } = await send("caller", "execute", { name: "ride", arguments: {}, options: { durable: true } });
    const { durableId: id } = body["metadata"] as { readonly durableId: string };
    expect((await client("caller").calls.undo(id))?.effects).toMatchObject([{ tool: "rent", outcome: "failed" }]);
    await engine.register({ name: "give_back", description: "Gives back.", source: "export default () => 1;" });
    expect((await client("caller").calls.undo(id))?.effects).toMatchObject([{ outcome: "failed" }]);
    const again = await client("caller").calls.undo(id, { again: true });
    expect(again).toMatchObject({ id: `${id}.undo.2`, effects: [{ tool: "rent", outcome: "undone" }] });
    expect((await send("caller", `calls/${id}/undo?again=yes`, {})).status).toBe(400);
  });

  test("happens by itself where the call asked for it and has failed", async () => {
    await send("caller", "execute", { name: "trip", arguments: {}, options: { undo: "onFailure" } });
    const ended = async (): Promise<readonly DurableCall[]> => {
      const { body } = await send("boss", "calls?state=ended&tool=trip&limit=1");
      return (body as unknown as DurablePage).calls;
    };
    await expect.poll(async () => (await ended())[0]?.id).toMatch(/\.undo$/);
    const wrong = await send("caller", "execute", { name: "trip", arguments: {}, options: { undo: "always" } });
    expect(wrong.status).toBe(400);
  });
});

test("a decision about an approval with a schema brings data that the schema allows", async () => {
  const call = await pausedCall("count", {});
  expect(call.waits).toMatchObject([{ schema: { type: "integer" } }]);
  const decide = (data: unknown) =>
    send("boss", `calls/${call.id}/decisions`, { decision: "approve", digest: digestOf(call), data });
  const { status, body } = await decide("many");
  expect([status, body]).toMatchObject([400, { error: { code: "invalid_arguments", details: { violations: [{}] } } }]);
  expect((await decide(7)).status).toBe(200);
  const { body: ended } = await send("caller", `calls/${call.id}?wait=25`);
  expect(ended).toMatchObject({ state: "ended", result: { output: { approved: true, data: 7 } } });
});

test("a tool that was replaced while its approval is open is a conflict, until somebody refuses it", async () => {
  const swap = (version: string) =>
    engine.register({
      name: "swap",
      description: version,
      source: `export default () => "${version}";`,
      approval: "always",
    });
  await swap("old");
  const call = await pausedCall("swap", {});
  await swap("new");
  const decide = (decision: string) => send("boss", `calls/${call.id}/decisions`, { decision, digest: digestOf(call) });
  const { status, body } = await decide("approve");
  expect([status, body]).toMatchObject([
    409,
    { detail: expect.stringContaining("another version") as string, call: { id: call.id, state: "paused" } },
  ]);
  expect((await decide("refuse")).status).toBe(200);
  const { body: ended } = await send("caller", `calls/${call.id}?wait=25`);
  expect(ended).toMatchObject({
    state: "ended",
    result: { error: { code: "approval_refused", details: { by: "boss" } } },
  });
});

test("GET /v1/caller says what a key may do, to each key", async () => {
  for (const [name, { tenant, roles }] of Object.entries(KEYS))
    expect(await send(name as Name, "caller")).toMatchObject({ status: 200, body: { key: name, tenant, roles } });
  const stranger = await fetch(`${server.url}/v1/caller`);
  expect(stranger.status).toBe(401);
  await stranger.text();
});

test("a key with the role approve reads tools that it may decide about, and calls none", async () => {
  expect((await send("boss", "tools/refund")).body).toMatchObject({ name: "refund", description: "Pays." });
  expect((await send("adder", "tools/refund")).status).toBe(404);
  expect((await send("reader", "tools/refund")).status).toBe(403);
  expect((await send("boss", "execute", { name: "refund", arguments: {} })).status).toBe(403);
});

describe("a call of a key that is another by a reload", () => {
  const CALLER = { name: "caller", tenant: "acme", roles: ["execute"] } as const;
  const BOSS = { name: "boss", tenant: "acme", roles: ["approve"] } as const;
  const optionsOf = (grants: readonly KeyGrant[]) =>
    grants.map((grant) => ({ ...grant, hash: keys.get(grant.name as Name)?.hash ?? "" }));

  test.each<[string, readonly KeyGrant[], string]>([
    ["that removes it", [BOSS], "unauthorized"],
    ["after which it may not call the tool", [{ ...CALLER, tools: ["look*"] }, BOSS], "forbidden"],
    ["after which it may not call", [{ ...CALLER, roles: ["metrics"] }, BOSS], "forbidden"],
    ["after which it is another tenant's", [{ ...CALLER, tenant: "beta" }, BOSS], "forbidden"],
    ["that changes its rate alone", [{ ...CALLER, rate: { calls: 5, perMs: 1_000 } }, BOSS], "refunded"],
  ])("%s", async (_how, grants, code) => {
    const reloaded = new Keys(optionsOf([CALLER, BOSS]));
    const own = await createEngine({ workers: 1, executor: "threads" });
    const source = "export default () => 'refunded';";
    await own.register({ name: "refund", description: "Pays.", source, approval: "always" });
    await using of = await createServer(own, { port: 0, drainMs: 100, keys: reloaded });
    const as = (name: Name) => createClient({ url: of.url, key: keys.get(name)?.secret ?? "" });
    const { error } = await as("caller").execute({ name: "refund", arguments: {} });
    const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
    const call = await own.calls.durable.get(id);
    if (call === undefined) throw new Error("the call is not kept");
    reloaded.replace(optionsOf(grants));
    await as("boss").calls.decide(id, { decision: "approve", digest: digestOf(call) });
    const result = await own.calls.result(id, {}, { waitMs: 120_000 });
    expect(result?.error?.code ?? result?.output).toBe(code);
  });
});
