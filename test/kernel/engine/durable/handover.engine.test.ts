import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  type AuditAct,
  createEngine,
  defineCapability,
  type Engine,
  type ToolResult,
} from "../../../../src/glovebox/index.ts";

/* An engine that closes hands its stored calls over to the next one, wherever they are. */

let folder: string;
/** Methods whose handlers wait until they are told to go on, and what has happened outside. */
let holds = new Set<string>();
let reached = Promise.withResolvers<undefined>();
let effects: string[] = [];
/** Names of the effects of `send`, each time that it was asked for. */
let names: string[] = [];
/** What the audit says that people did. */
let acts: AuditAct[] = [];
/** It never answers. */
const silent = createServer(() => reached.resolve(undefined));
let origin = "";

const work = async (name: string, signal: AbortSignal): Promise<string> => {
  if (holds.has(name)) {
    reached.resolve(undefined);
    await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  }
  effects.push(name);
  return name;
};
const desk = defineCapability({
  name: "desk",
  methods: {
    look: { isRead: true, handler: (_args: unknown, { signal }) => work("look", signal) },
    pay: { handler: (_args: unknown, { signal }) => work("pay", signal) },
    send: {
      isRepeatable: true,
      handler: (_args: unknown, { once, signal }) => {
        names.push(once);
        return work("send", signal);
      },
    },
  },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-handover-"));
  await new Promise<void>((resolve) => void silent.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
});
afterAll(async () => {
  silent.close();
  silent.closeAllConnections();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  holds = new Set();
  reached = Promise.withResolvers();
  effects = [];
  names = [];
  acts = [];
});

function open(name: string): Promise<Engine> {
  return createEngine({
    workers: 1,
    executor: { kind: "threads" },
    capabilities: [desk],
    audit: (entry) => void ("act" in entry && "callId" in entry && acts.push(entry)),
    calls: { path: join(folder, `${name}.sqlite`) },
    policy: {
      rules: [
        {
          allow: {
            desk: true,
            tools: ["*"],
            fetch: { origins: [origin], privateOrigins: [origin], methods: ["POST"] },
          },
        },
      ],
    },
    tools: [
      {
        name: "pay",
        description: "Pays after a look.",
        approval: "always",
        capabilities: { desk: true },
        source: "export default async (input, { host }) => [await host.desk.pay(), await host.desk.look()];",
      },
      {
        name: "post",
        description: "Posts an order.",
        approval: "always",
        capabilities: { fetch: { origins: [origin], methods: ["POST"] } },
        source: `export default async () => {
          const answer = await fetch("${origin}/orders", { method: "POST", body: "{}" });
          const { url, status, ok } = answer;
          return { url, status, ok, type: answer.headers.get("content-type"), text: await answer.text() };
        };`,
      },
      {
        name: "buy",
        description: "Pays at once.",
        capabilities: { desk: true },
        source: "export default (input, { host }) => host.desk.pay();",
      },
      {
        name: "shop",
        description: "Calls a snippet.",
        approval: "always",
        capabilities: { tools: ["snippets.buys"] },
        source: `export default (input, { host }) => host.tools["snippets.buys"]({});`,
      },
      {
        name: "send",
        description: "Sends twice.",
        approval: "always",
        capabilities: { desk: true },
        source: "export default async (input, { host }) => [await host.desk.send(), await host.desk.send()];",
      },
    ],
  });
}

/** A call that is approved in an engine, which closes once `until` says so. */
async function closedWhile(name: string, until: () => Promise<unknown>, tool = "pay"): Promise<string> {
  await using engine = await open(name);
  if (tool === "shop")
    await engine.snippets.save({ name: "buys", description: "Buys.", code: "return await tools.buy({});" });
  const { error } = await engine.execute({ name: tool, arguments: {} });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  const [wait] = (await engine.calls.durable.get(id))?.waits ?? [];
  if (wait?.kind !== "approval") throw new Error("nothing waits");
  await engine.calls.durable.decide(id, { decision: "approve", digest: wait.digest });
  await until();
  await engine.close({ drainMs: 0 });
  return id;
}

async function resultIn(name: string, id: string): Promise<ToolResult | undefined> {
  holds = new Set();
  await using engine = await open(name);
  return await engine.calls.durable.result(id, {}, { waitMs: 120_000 });
}

test("a call that is decided as its engine closes goes on in the next one", async () => {
  for (const turns of [0, 1, 3]) {
    const name = `at-once-${turns}`;
    effects = [];
    const id = await closedWhile(name, async () => {
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
    });
    expect(await resultIn(name, id)).toMatchObject({ output: ["pay", "look"] });
    expect(effects).toEqual(["pay", "look"]);
  }
});

test("a call that reads as its engine closes reads again, and repeats no effect", async () => {
  holds = new Set(["look"]);
  const id = await closedWhile("reads", () => reached.promise);
  expect(await resultIn("reads", id)).toMatchObject({ output: ["pay", "look"] });
  expect(effects).toEqual(["pay", "look"]);
});

test("a call with an effect under way that is repeatable asks for it again, by the same name", async () => {
  holds = new Set(["send"]);
  const id = await closedWhile("sends", () => reached.promise, "send");
  expect(await resultIn("sends", id)).toMatchObject({ output: ["send", "send"] });
  expect(names).toEqual([`${id}/1`, `${id}/1`, `${id}/2`]);
});

test("a call of a snippet that is under way, whose tools have effects, is in doubt", async () => {
  holds = new Set(["pay"]);
  const id = await closedWhile("snippet", () => reached.promise, "shop");
  holds = new Set();
  await using engine = await open("snippet");
  expect(await engine.calls.durable.get(id)).toMatchObject({
    state: "in_doubt",
    waits: [{ state: "approved" }, { kind: "outcome", asked: "tools.call", state: "open" }],
  });
});

test("effects of calls that are not stored have names of their own", async () => {
  await using engine = await createEngine({
    workers: 1,
    executor: { kind: "threads" },
    capabilities: [desk],
    policy: { rules: [{ allow: { desk: true } }] },
    tools: [
      {
        name: "send",
        description: "Sends twice.",
        capabilities: { desk: true },
        source: "export default async (input, { host }) => [await host.desk.send(), await host.desk.send()];",
      },
    ],
  });
  for (let nth = 0; nth < 2; nth++) await engine.execute({ id: "same", name: "send", arguments: {} });
  expect(new Set(names).size).toBe(4);
});

test("a call with an effect under way as its engine closes is in doubt", async () => {
  holds = new Set(["pay"]);
  const id = await closedWhile("pays", () => reached.promise);
  holds = new Set();
  const engine = await open("pays");
  expect(await engine.calls.durable.get(id)).toMatchObject({
    state: "in_doubt",
    waits: [{ state: "approved" }, { kind: "outcome", asked: "desk.pay", state: "open" }],
  });
  await expect(engine.calls.durable.decide(id, { decision: "approve" })).rejects.toThrow("digest");
  await expect(engine.calls.durable.decide(id, { decision: "happened", answer: 1n })).resolves.toBeDefined();
  expect(await engine.calls.durable.result(id, {}, { waitMs: 120_000 })).toMatchObject({ output: [1, "look"] });
  expect(effects).toEqual(["look"]);
  await engine.close();
  const step = expect.any(Number);
  const nobody = { id, act: "decide", tool: "pay", tenant: "", key: null, actor: null, isEdited: false };
  expect(acts).toMatchObject([
    { ...nobody, step: 0, decision: "approve", digest: expect.stringMatching(/^[0-9a-f]{16,}$/) },
    { ...nobody, step, decision: "happened", digest: null },
  ]);
});

test("a request in doubt is answered with the response that a person describes, of which a status is enough", async () => {
  for (const [name, answer, heard] of [
    ["status", { status: 201 }, { status: 201, ok: true, type: null, text: "" }],
    [
      "body",
      { headers: { "Content-Type": "a/b" }, body: "made" },
      { status: 200, ok: true, type: "a/b", text: "made" },
    ],
  ] as const) {
    reached = Promise.withResolvers();
    const id = await closedWhile(name, () => reached.promise, "post");
    await using engine = await open(name);
    const { durable } = engine.calls;
    await durable.decide(id, { decision: "happened", answer });
    const result = await durable.result(id, {}, { waitMs: 120_000 });
    expect(result).toMatchObject({ output: { url: `${origin}/orders`, ...heard } });
  }
});

test("an answer that is no response is refused for a request in doubt, and the call waits on", async () => {
  const id = await closedWhile("no-response", () => reached.promise, "post");
  await using engine = await open("no-response");
  const { durable } = engine.calls;
  for (const answer of [null, "201", [], { status: 99 }, { status: "201" }, { body: {} }, { headers: { a: "\n" } }])
    await expect(durable.decide(id, { decision: "happened", answer })).rejects.toMatchObject({
      code: "invalid_arguments",
    });
  expect((await durable.get(id))?.state).toBe("in_doubt");
});
