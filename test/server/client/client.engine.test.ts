import { once } from "node:events";
import { createServer as createHttp, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine } from "../../../src/glovebox/index.ts";
import { toolsForAISDK } from "../../../src/contrib/agents/adapters/ai-sdk.ts";
import type { KeyOptions } from "../../../src/server/access/key-options.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { type CallUpdate, createClient, unwrap } from "../../../src/server/client/client.ts";
import { type FetchHandler, toFetchHandler } from "../../../src/server/handlers/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

interface Tools {
  readonly greet: { readonly input: { readonly name: string }; readonly output: { readonly text: string } };
  readonly "talks-long": { readonly input: { readonly length: number }; readonly output: string };
  readonly then: { readonly input: object; readonly output: string };
  readonly waits: { readonly input: object; readonly output: string };
}

const GREET = {
  name: "greet",
  description: "Greets.",
  source: "export default ({ name }) => ({ text: `Hello, ${name}!` });",
  inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};
const TALKS = {
  name: "talks-long",
  description: "Says two lines, and answers at length.",
  source: `export default ({ length }, { progress }) => {
    console.log("one\\ntwo");
    progress(1, 2, "half");
    console.warn("é…😀");
    return "😀\\n".repeat(length);
  };`,
};
const THEN = { name: "then", description: "Has an unlucky name.", source: "export default () => 'now';" };
const WAITS = {
  name: "waits",
  description: "Waits for ever.",
  source: "export default (_input, { host }) => { console.log('waiting'); return host.gate.pass(); };",
  capabilities: { gate: true },
};

const [all, slow] = [createKey(), createKey()];
let engine: Engine;
let server: Server;
let mounted: FetchHandler;

beforeAll(async () => {
  const gate = defineCapability({
    name: "gate",
    methods: { pass: { handler: () => new Promise<never>(() => undefined) } },
  });
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [GREET, TALKS, THEN, WAITS],
    capabilities: [gate],
    policy: { rules: [{ allow: { gate: true } }] },
  });
  const keys: readonly KeyOptions[] = [
    { name: "all", hash: all.hash, tenant: null, roles: ["execute"] },
    { name: "slow", hash: slow.hash, tenant: null, roles: ["execute"], rate: { calls: 1, perMs: 3_600_000 } },
  ];
  server = await createServer(engine, { port: 0, drainMs: 0, keys });
  mounted = toFetchHandler(engine, { basePath: "/tools", keys });
});

afterAll(async () => {
  await mounted.drain({ drainMs: 0 });
  await server.close();
});

type Options = Partial<Parameters<typeof createClient>[0]>;

/** What each of the servers needs to be told. */
const SERVERS: Readonly<Record<string, () => Pick<Options, "url" | "fetch">>> = {
  "a service": () => ({ url: server.url }),
  "a mounted handler": () => ({
    url: "http://app.test/tools",
    fetch: async (url, init) => mounted(new Request(url, init)),
  }),
};

function clientOf(name: string, options: Options = {}) {
  return createClient<Tools>({ url: server.url, key: all.secret, ...SERVERS[name]?.(), ...options });
}

function client(options: Options = {}) {
  return clientOf("a service", options);
}

/** The next call that ends with an error, as its tool and code. */
async function nextFailure(): Promise<readonly [tool: string, code: string]> {
  const failed = Promise.withResolvers<readonly [string, string]>();
  const listener = ({ tool, result }: { tool: string; result: { error: { code: string } } }): void =>
    failed.resolve([tool, result.error.code]);
  engine.on("tool:error", listener);
  return failed.promise.finally(() => engine.off("tool:error", listener));
}

describe.each(Object.keys(SERVERS))("to %s,", (server) => {
  const client = (options: Options = {}) => clientOf(server, options);

  describe("a call", () => {
    test("ends with the server's result", async () => {
      const result = await client().execute({ id: "c1", name: "greet", arguments: { name: "Ada" } });
      expect(result).toMatchObject({ success: true, output: { text: "Hello, Ada!" }, metadata: { callId: "c1" } });
    });

    test("can be made by a function of the tool's name, with options", async () => {
      const { greet } = client().tools;
      const result = await greet({ name: "Ada" }, { id: "c2", tenant: "acme", limits: { wallMs: 5_000 } });
      expect(unwrap(result).text).toBe("Hello, Ada!");
      expect(result.metadata.callId).toBe("c2");
    });

    test("that the server refuses has its refusal as the result", async () => {
      const wrong = await client().execute({ name: "greet", arguments: { name: 1 } as unknown as { name: string } });
      expect(wrong).toMatchObject({ success: false, error: { code: "invalid_arguments" } });
      expect(() => unwrap(wrong)).toThrow(
        expect.objectContaining({ name: "ToolCallError", code: "invalid_arguments" }),
      );
      const option = await client().tools.greet({ name: "Ada" }, { maxLimits: { wallMs: 1 } });
      expect(option.error?.message).toContain("options.maxLimits is not an option");
    });

    test("with a wrong key, or without one, is unauthorized", async () => {
      const codes = [client({ key: "wrong" }), createClient<Tools>({ url: "", ...SERVERS[server]?.() })].map(
        async (one) => (await one.tools.greet({ name: "Ada" })).error?.code,
      );
      expect(await Promise.all(codes)).toEqual(["unauthorized", "unauthorized"]);
    });

    test("above a key's rate has the time to wait", async () => {
      const { greet } = client({ key: slow.secret }).tools;
      await greet({ name: "Ada" });
      const { error } = await greet({ name: "Ada" });
      expect(error).toMatchObject({ code: "rate_limited", details: { retryAfterMs: expect.any(Number) as number } });
    });

    test("is cancelled by the signal of its caller, who gets the signal's reason", async () => {
      const failure = nextFailure();
      const started = new Promise<void>((resolve) => engine.on("tool:pre", () => resolve()));
      const controller = new AbortController();
      const running = client().tools.waits({}, { signal: controller.signal });
      await started;
      const reason = new Error("enough");
      controller.abort(reason);
      await expect(running).rejects.toBe(reason);
      expect(await failure).toEqual(["waits", "cancelled"]);
    });

    test("tells lines and progress to its options", async () => {
      const told: unknown[] = [];
      const result = await client().tools["talks-long"](
        { length: 1 },
        { onLog: ({ level, message }) => told.push([level, message]), onProgress: (progress) => told.push(progress) },
      );
      expect(result.output).toBe("😀\n");
      expect(told).toEqual([["log", "one\ntwo"], { progress: 1, total: 2, message: "half" }, ["warn", "é…😀"]]);
    });
  });

  describe("a stream", () => {
    const collect = (updates: AsyncIterable<CallUpdate>): Promise<CallUpdate[]> => Array.fromAsync(updates);

    test("has what a call tells, and its result as the last", async () => {
      const updates = await collect(client().stream({ name: "talks-long", arguments: { length: 1 } }));
      expect(updates).toMatchObject([
        { type: "log", line: { level: "log", message: "one\ntwo" } },
        { type: "progress", progress: { progress: 1 } },
        { type: "log", line: { message: "é…😀" } },
        { type: "result", result: { success: true, output: "😀\n" } },
      ]);
    });

    test("carries a result of megabytes", async () => {
      const call = { name: "talks-long", arguments: { length: 600_000 } } as const;
      const updates = await collect(client().stream(call, { limits: { outputBytes: 8_000_000 } }));
      const last = updates.at(-1);
      expect(last?.type === "result" && last.result.output === "😀\n".repeat(600_000)).toBe(true);
    });

    test("of a call that is refused has its result alone", async () => {
      const updates = await collect(client({ key: "wrong" }).stream({ name: "greet", arguments: { name: "Ada" } }));
      expect(updates).toMatchObject([{ type: "result", result: { error: { code: "unauthorized" } } }]);
    });

    test("whose reader stops cancels its call", async () => {
      const failure = nextFailure();
      for await (const { type } of client().stream({ name: "waits", arguments: {} })) {
        expect(type).toBe("log");
        break;
      }
      expect(await failure).toEqual(["waits", "cancelled"]);
    });
  });

  describe("a batch", () => {
    test("has the results in the order of its calls, with options for all and for one", async () => {
      const [one, two] = await client().batch(
        [
          { name: "talks-long", arguments: { length: 1 }, options: { idempotencyKey: "once" } },
          { name: "greet", arguments: { name: "Ada" } },
        ],
        { tenant: "acme" },
      );
      expect(unwrap(one)).toBe("😀\n");
      expect(unwrap(two).text).toBe("Hello, Ada!");
    });

    test("that is refused has the refusal in the place of each result", async () => {
      const results = await client({ key: "wrong" }).batch([
        { name: "greet", arguments: { name: "Ada" } },
        { name: "greet", arguments: { name: "Bo" } },
      ]);
      expect(results.map(({ error }) => error?.code)).toEqual(["unauthorized", "unauthorized"]);
    });
  });
});

describe("a client", () => {
  test("lists the tools, or says why it may not", async () => {
    expect((await client().list()).map(({ name }) => name)).toEqual(["greet", "talks-long", "then", "waits"]);
    await expect(client({ key: "wrong" }).list()).rejects.toMatchObject({
      name: "ToolCallError",
      code: "unauthorized",
      result: { success: false },
    });
  });

  test("has a runner of its tools for adapters", async () => {
    const runner = await client().runner();
    const { greet } = toolsForAISDK(runner, { names: ["greet"] });
    expect(await greet.execute({ name: "Ada" }, { toolCallId: "c3" })).toEqual({ text: "Hello, Ada!" });
    expect([runner.get("greet")?.description, runner.get("none")]).toEqual(["Greets.", undefined]);
    await expect(client({ key: "wrong" }).runner()).rejects.toMatchObject({ code: "unauthorized" });
  });

  test("asks for its key before each request", async () => {
    const keys = [all.secret, "wrong"];
    const { greet } = client({ key: async () => keys.shift() ?? "" }).tools;
    expect((await greet({ name: "Ada" })).success).toBe(true);
    expect((await greet({ name: "Ada" })).error?.code).toBe("unauthorized");
  });

  test("sends through the fetch that it is given, with headers of its own", async () => {
    const sent: [unknown, Headers][] = [];
    const fetch: typeof globalThis.fetch = (url, init) => {
      sent.push([url, new Headers(init?.headers)]);
      return globalThis.fetch(url, init);
    };
    await client({ url: new URL("/", server.url), fetch, headers: { "x-team": "a" } }).tools.greet({ name: "Ada" });
    const [[url, headers] = []] = sent;
    expect(url).toBe(`${server.url}/v1/execute`);
    expect(headers?.get("x-team")).toBe("a");
    expect(headers?.get("authorization")).toBe(`Bearer ${all.secret}`);
  });

  test("is no promise, nor are its tools, whatever the tools' names", async () => {
    const one = client();
    expect(await (one as unknown)).toBe(one);
    expect(await (one.tools as unknown)).toBe(one.tools);
    expect(JSON.stringify(one.tools)).toBe("{}");
    expect((await one.execute({ name: "then", arguments: {} })).output).toBe("now");
  });

  test("rejects with the error of fetch where nobody answers", async () => {
    const nobody = createHttp().listen(0, "127.0.0.1");
    await once(nobody, "listening");
    const { port } = nobody.address() as AddressInfo;
    nobody.close();
    await expect(client({ url: `http://127.0.0.1:${port}` }).tools.greet({ name: "Ada" })).rejects.toMatchObject({
      cause: { code: "ECONNREFUSED" },
    });
  });
});

describe("something else than a server of tools", () => {
  const ask = async (answer: RequestListener): Promise<unknown> => {
    const other = createHttp(answer).listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const call = { name: "greet", arguments: { name: "Ada" } } as const;
    const outcome = await Promise.allSettled([
      client({ url }).execute(call),
      Array.fromAsync(client({ url }).stream(call)),
    ]);
    other.closeAllConnections();
    other.close();
    return outcome.map((one) => (one.status === "rejected" ? (one.reason as Error).message : one.value));
  };

  test("is said to be no server of tools", async () => {
    const html = await ask((_request, response) => response.writeHead(502).end("<html>"));
    expect(html).toEqual(Array(2).fill(expect.stringContaining("its status 502")));
    const json = await ask((_request, response) => response.writeHead(404).end('{"error":"no"}'));
    expect(json).toEqual(Array(2).fill(expect.stringContaining("the answer is no result")));
  });

  test("that ends its stream too early is said to have lost the connection", async () => {
    const [, stream] = (await ask((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(':\n\nevent: later\nid: 1\ndata: {}\n\nevent: log\nid: 2\ndata: {"level":"log","message":"a"}\n\n');
    })) as [unknown, unknown];
    expect(stream).toBe("the connection was lost before the call had a result");
  });
});
