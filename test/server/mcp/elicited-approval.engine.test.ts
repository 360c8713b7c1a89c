import {
  Client,
  type ElicitResult,
  InMemoryTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type DurableCall, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { createToolServer } from "../../../src/server/mcp/tool-server.ts";

/* A client is asked about calls that a rule lets its caller decide; what it does not answer waits on. */

const SCHEMA = { type: "object", properties: { order: { type: "string" } }, required: ["order"] } as const;
const SOURCE =
  "export default async ({ order }, { host }) => { await host.charge.now({ order }); return `paid ${order}`; };";
const KEYS = { own: createKey(), other: createKey(), mute: createKey() };

let engine: Engine;
let server: Server;
/** Refunds that have happened. */
let paid: unknown[] = [];
const open: Client[] = [];

beforeAll(async () => {
  const charge = defineCapability({ name: "charge", methods: { now: { handler: (args) => void paid.push(args) } } });
  const tool = (name: string) =>
    ({ name, description: name, source: SOURCE, inputSchema: SCHEMA, capabilities: { charge: true } }) as const;
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    capabilities: [charge],
    codeMode: {},
    policy: {
      rules: [{ allow: { tools: ["*"], charge: true } }],
      approvals: [
        { tools: ["refund"], self: true, message: "Refunds are looked at" },
        { tools: ["strict"], message: "Somebody else looks at these" },
      ],
    },
    tools: [tool("refund"), tool("strict")],
  });
  server = await createServer(engine, {
    port: 0,
    keys: [
      { name: "own", tenant: null, hash: KEYS.own.hash, roles: ["execute", "approve"] },
      { name: "other", tenant: null, hash: KEYS.other.hash, roles: ["execute", "approve"] },
      { name: "mute", tenant: null, hash: KEYS.mute.hash, roles: ["execute"] },
    ],
  });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});
afterAll(() => server.close());
beforeEach(() => {
  paid = [];
});

type Answer = (message: string) => ElicitResult | Promise<ElicitResult>;
type Mode = "legacy" | "auto";

/** A client whose person answers so; `null` for one that cannot ask. */
function clientOf(mode: Mode, answer: Answer | null): Client {
  const capabilities = answer === null ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode }, capabilities });
  if (answer !== null) client.setRequestHandler("elicitation/create", ({ params }) => answer(params.message));
  open.push(client);
  return client;
}

async function connect(
  mode: Mode,
  answer: Answer | null,
  key: keyof typeof KEYS = "own",
  path = "/mcp",
): Promise<Client> {
  const client = clientOf(mode, answer);
  const requestInit = { headers: { authorization: `Bearer ${KEYS[key].secret}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}${path}`), { requestInit }));
  return client;
}

const accept = (content: Record<string, string>) => (): ElicitResult => ({ action: "accept", content });
const call = (client: Client, name: string, order: string) => client.callTool({ name, arguments: { order } });

async function newest(): Promise<DurableCall> {
  const [found] = (await engine.calls.durable.list({ limit: 1 })).calls;
  if (found === undefined) throw new Error("no call is kept");
  return found;
}

const WAITS = {
  isError: true,
  content: [{ text: expect.stringContaining("the call waits for the approval of") as string }],
  _meta: { "glovebox/error": { code: "paused" } },
};

describe.each(["legacy", "auto"] as const)("a client that shows forms (%s)", (mode) => {
  test("is asked with what is to run, and an approval runs it once", async () => {
    const asked: string[] = [];
    const client = await connect(mode, (message) => {
      asked.push(message);
      return { action: "accept", content: { decision: "approve", reason: "fine" } };
    });
    expect(await call(client, "refund", "A-1")).toMatchObject({ content: [{ text: "paid A-1" }] });
    expect(asked).toEqual(['Tool: refund\nArguments: {"order":"A-1"}\n\nRefunds are looked at']);
    expect(paid).toEqual([{ order: "A-1" }]);
    expect((await newest()).waits).toMatchObject([{ state: "approved", settled: { by: "own", reason: "fine" } }]);
  });

  test("refuses with its reason", async () => {
    const client = await connect(mode, accept({ decision: "refuse", reason: "it was delivered" }));
    const text = expect.stringContaining("it was delivered") as string;
    expect(await call(client, "refund", "A-2")).toMatchObject({ isError: true, content: [{ text }] });
    expect(paid).toEqual([]);
  });

  test.each([
    ["declines", { action: "decline" }],
    ["cancels", { action: "cancel" }],
    ["declines with a form that is filled in", { action: "decline", content: { decision: "approve" } }],
    ["approves without a decision", { action: "accept", content: {} }],
    ["answers with another word", { action: "accept", content: { decision: "yes" } }],
    [
      "gives a reason that is too long",
      { action: "accept", content: { decision: "approve", reason: "x".repeat(1_001) } },
    ],
  ] as const)("leaves a call as it is that it %s", async (_how, answer) => {
    const client = await connect(mode, () => answer);
    expect(await call(client, "refund", "A-3")).toMatchObject(WAITS);
    expect((await newest()).state).toBe("paused");
    expect(paid).toEqual([]);
  });

  test.each([
    ["about calls that somebody else has to decide", "own", "strict", "A-4"],
    ["where its key has not the role approve", "mute", "refund", "A-5"],
    ["with arguments that it could not show whole", "own", "refund", "x".repeat(9_000)],
  ] as const)("is not asked %s", async (_when, key, tool, order) => {
    const asked: string[] = [];
    const approve = accept({ decision: "approve" });
    const client = await connect(mode, (message) => (asked.push(message), approve()), key);
    expect(await call(client, tool, order)).toMatchObject(WAITS);
    expect(asked).toEqual([]);
  });

  test("is told the end where somebody else decides while it thinks", async () => {
    const client = await connect(mode, async () => {
      const { id, waits } = await newest();
      const [wait] = waits;
      if (wait?.kind !== "approval") throw new Error("the call waits for no approval");
      await engine.calls.durable.decide(id, { decision: "refuse", reason: "I was faster" });
      return { action: "accept", content: { decision: "approve" } };
    });
    const text = expect.stringContaining("I was faster") as string;
    expect(await call(client, "refund", "A-6")).toMatchObject({ isError: true, content: [{ text }] });
    expect(paid).toEqual([]);
  });

  test("is asked about what a program of code mode calls", async () => {
    const client = await connect(mode, accept({ decision: "approve" }), "own", "/mcp/code");
    const code = 'return await tools.refund({ order: "A-7" });';
    const { structuredContent } = await client.callTool({ name: "run_code", arguments: { code } });
    expect(structuredContent).toMatchObject({ result: "paid A-7" });
  });
});

test("a client that says nothing of forms is answered as before", async () => {
  expect(await call(await connect("auto", null), "refund", "B-1")).toMatchObject(WAITS);
  expect(await call(await connect("legacy", null), "refund", "B-2")).toMatchObject(WAITS);
});

describe("a client that lies", () => {
  /** A client of one server, connected in this process; `answerMs` is the time for answers. */
  async function pair(answer: Answer, answerMs?: number): Promise<Client> {
    const client = clientOf("legacy", answer);
    const [here, there] = InMemoryTransport.createLinkedPair();
    await createToolServer(engine, { name: "one", version: "1.0.0" }, answerMs).connect(there);
    await client.connect(here);
    return client;
  }

  test("and never answers gets the call's state after some time, and the call waits on", async () => {
    const client = await pair(() => new Promise<never>(() => undefined), 200);
    expect(await call(client, "refund", "C-1")).toMatchObject(WAITS);
    expect((await newest()).state).toBe("paused");
  });

  test("and cannot show forms after all gets it at once", async () => {
    const client = await pair(() => Promise.reject(new Error("no forms here")));
    expect(await call(client, "refund", "C-2")).toMatchObject(WAITS);
    expect((await newest()).state).toBe("paused");
  });
});

describe("an answer that comes back with another request", () => {
  let lastId = 0;
  const META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "tester", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  };
  interface Reply {
    readonly result?: { readonly resultType?: string; readonly requestState?: string; readonly isError?: boolean };
    readonly error?: { readonly code: number };
  }
  async function send(more: Record<string, unknown>, key: keyof typeof KEYS = "own", name = "refund"): Promise<Reply> {
    const params = { name, arguments: { order: "D-1" }, _meta: META, ...more };
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method: "tools/call", params });
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${KEYS[key].secret}`,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
    };
    const answer = await fetch(`${server.url}/mcp`, { method: "POST", headers, body });
    const text = await answer.text();
    return JSON.parse(text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "{}")) as Reply;
  }
  const inputOf = (decision: string) => ({ approval: { action: "accept", content: { decision } } });
  async function ask(): Promise<string> {
    const { result } = await send({});
    expect(result?.resultType).toBe("input_required");
    return result?.requestState ?? "";
  }

  test("counts once: the same again answers the same, another one changes nothing", async () => {
    const requestState = await ask();
    for (const decision of ["approve", "approve", "refuse"]) {
      const { result } = await send({ requestState, inputResponses: inputOf(decision) });
      expect(result).toMatchObject({ content: [{ text: "paid D-1" }] });
    }
    expect(paid).toEqual([{ order: "D-1" }]);
  });

  test("does not decide for another key, or about another tool", async () => {
    const requestState = await ask();
    const back = { requestState, inputResponses: inputOf("approve") };
    expect((await send(back, "other")).error?.code).toBe(-32_602);
    expect((await send(back, "own", "strict")).error?.code).toBe(-32_602);
    expect((await newest()).state).toBe("paused");
  });

  test.each([
    ["state that was changed", (state: string) => ({ requestState: `${state}x`, inputResponses: inputOf("approve") })],
    ["state that was made up", () => ({ requestState: "v1.e30.AAAA", inputResponses: inputOf("approve") })],
  ])("does not decide with a %s", async (_what, more) => {
    const state = await ask();
    expect((await send(more(state))).error?.code).toBe(-32_602);
    expect((await newest()).state).toBe("paused");
  });

  test.each([["junk"], [7], [{ approval: "approve" }], [{ approval: { method: "x", result: {} } }], [{}]])(
    "leaves the call as it is where it is %j",
    async (inputResponses) => {
      const requestState = await ask();
      const reply = await send({ requestState, inputResponses });
      expect(reply.error !== undefined || reply.result?.isError === true).toBe(true);
      expect((await newest()).state).toBe("paused");
      expect(paid).toEqual([]);
    },
  );
});
