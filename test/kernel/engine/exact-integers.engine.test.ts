import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeMode } from "../../../src/code-mode/index.ts";
import {
  defineCapability,
  type Engine,
  type EngineOptions,
  type JsonSchema,
  type ToolResult,
} from "../../../src/glovebox/index.ts";
import { createClient } from "../../../src/server/client/client.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { parseForWriting, rawDigits } from "../../../src/kernel/base/exact-json.ts";
import { callTools } from "../../../src/standard/contracts.ts";
import { replayCall } from "../../../src/standard/create-engine.ts";
import { readRecording } from "../../../src/kernel/engine/replay/recording.ts";
import { type HandServer, openConnected, serveByHand } from "../../connectors/engine/mcp-by-hand.ts";
import { bodyWith, documentOf, serveApi, type Api } from "../../connectors/engine/api.ts";
import { given, ID, jsonOf, typeOf, unchanged } from "../../long-integers.ts";

const seen: unknown[] = [];
const recorder = defineCapability({
  name: "recorder",
  methods: {
    note: {
      input: { type: "object", properties: { id: { type: "integer" } } },
      handler: ({ id }: { readonly id?: unknown }) => {
        seen.push(id);
        return { id, big: ID };
      },
    },
  },
});
const IDS: JsonSchema = {
  type: "object",
  properties: { ids: { type: "array", items: { type: "integer" } } },
  required: ["ids"],
};

let folder: string;
let api: Api;
let hand: HandServer;
let engine: Engine;
let server: Server;
beforeAll(async () => {
  hand = await serveByHand([{ name: "echo", inputSchema: IDS }]);
  hand.answer = (_tool, { body }) => {
    const { params } = parseForWriting(body) as { readonly params: { readonly arguments: object } };
    return { content: [], structuredContent: params.arguments };
  };
  folder = await mkdtemp(path.join(tmpdir(), "glovebox-integers-"));
  api = await serveApi(({ url, body }, response) => {
    response.setHeader("content-type", "application/json");
    response.end(url === "/ids" ? body : `{"id":${ID},"name":"an order"}`);
  });
  const ids = bodyWith({ ids: { type: "array", items: { type: "integer", format: "int64" } } });
  const document = await api.write(
    documentOf([
      ["POST", "/ids", "echo_ids", ids],
      ["GET", "/orders/latest", "latest_order"],
      [
        "POST",
        "/orders/change",
        "change_order",
        bodyWith({ id: { type: "integer", format: "int64" }, name: { type: "string" } }),
      ],
    ]),
  );
  const options: EngineOptions = {
    workers: 1,
    executor: "threads",
    stateDir: folder,
    capabilities: [recorder],
    connectors: {
      shop: { openapi: { document, server: api.origin } },
      hand: { mcp: { url: `${hand.origin}/mcp` } },
    },
    policy: { rules: [{ allow: { tools: ["echo"], kv: true, recorder: true, connector: ["shop", "hand"] } }] },
    codeMode: { typeCheck: "off" },
    tools: [
      {
        name: "echo",
        description: "Gives its input back.",
        source: "export default (input) => input;",
        inputSchema: IDS,
      },
      { name: "untyped", description: "Gives its input back.", source: "export default (input) => input;" },
      {
        name: "kinds",
        description: "Says what it sees.",
        source:
          "export default ({ ids }) => ids.map((id) => [typeof id, String(id), `${id}`, JSON.stringify({ id })]);",
      },
      {
        name: "passes",
        description: "Passes integers on.",
        capabilities: { tools: ["echo"], kv: true, recorder: true },
        source: `export default async ({ ids }, { host }) => {
          await host.kv.set("ids", { ids });
          const child = await host.tools.echo({ ids });
          const kept = await host.kv.get("ids");
          const noted = await host.recorder.note({ id: ids[0] });
          return { child, kept, noted };
        };`,
      },
      {
        name: "texts",
        description: "Gives integers as texts.",
        source: "export default ({ ids }) => ({ ids: ids.map(String) });",
        outputSchema: IDS,
      },
      { name: "sum", description: "Adds a number.", source: "export default ({ ids }) => ids[0] + 1;" },
    ],
  };
  engine = await openConnected(options);
  server = await createServer(engine, { port: 0, drainMs: 100 });
});
afterAll(async () => {
  await server.close();
  await api[Symbol.asyncDispose]();
  await hand[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function post(route: string, body: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${server.url}${route}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  return response.text();
}

describe("an integer of any length does not change on its way", () => {
  test(
    "through the library: as a bigint, and as a text of its digits where the schema says integer",
    unchanged(async (ids) => {
      const expected = { ids: ids.map(given) };
      expect((await engine.execute({ name: "echo", arguments: { ids } })).output).toEqual(expected);
      expect((await engine.execute({ name: "untyped", arguments: { ids } })).output).toEqual(expected);
      const again = await engine.execute({ name: "echo", arguments: expected });
      expect([again.output, JSON.stringify(again.output)]).toEqual([expected, JSON.stringify(expected)]);
    }),
  );

  test(
    "in the tool, where it is a bigint, and as a text of its digits wherever it is written",
    unchanged(async (ids) => {
      const { output } = await engine.execute({ name: "kinds", arguments: { ids } });
      expect(output).toEqual(ids.map((id) => [typeOf(id), `${id}`, `${id}`, `{"id":${id}}`]));
    }),
  );

  test(
    "to other tools, to the store of keys and values, and to a function of the embedder",
    unchanged(async (ids) => {
      seen.length = 0;
      const { output, error } = await engine.execute({ name: "passes", arguments: { ids } });
      const same = { ids: ids.map(given) };
      expect(error).toBeNull();
      expect(output).toEqual({ child: same, kept: same, noted: { id: given(ids[0] ?? 0n), big: `${ID}` } });
      expect(seen).toEqual([given(ids[0] ?? 0n)]);
    }),
  );

  test(
    "from a text of its digits, where the schema of the output says integer",
    unchanged(async (ids) => {
      const long = ids.filter((id) => typeof given(id) === "string");
      expect(await post("/v1/execute", `{"name":"texts","arguments":${jsonOf(long)}}`)).toContain(
        `"output":${jsonOf(long)}`,
      );
    }),
  );

  test(
    "over HTTP, also with a key, twice, in a stream and in a long body",
    unchanged(async (ids) => {
      const call = `{"name":"echo","arguments":${jsonOf(ids)}}`;
      expect(await post("/v1/execute", call)).toContain(`"output":${jsonOf(ids)}`);
      const key = { "idempotency-key": `key-${ids.join("_")}`.slice(0, 200) };
      expect(await post("/v1/execute", call, key)).toContain(`"output":${jsonOf(ids)}`);
      expect(await post("/v1/execute", call, key)).toContain(`"output":${jsonOf(ids)}`);
      expect(await post("/v1/execute", call, { accept: "text/event-stream" })).toContain(`"output":${jsonOf(ids)}`);
      const long = `{"name":"untyped","arguments":{"filling":"${"x".repeat(70_000)}",${jsonOf(ids).slice(1)}}`;
      expect(await post("/v1/execute", long)).toContain(`,${jsonOf(ids).slice(1)}`);
      expect(await post("/v1/execute", long, { "idempotency-key": `long-${key["idempotency-key"]}` })).toContain(
        `,${jsonOf(ids).slice(1)}`,
      );
    }),
  );

  test.each(["application/json", "application/x-ndjson"])("in a batch that is answered as %s", (accept) =>
    unchanged(async (ids) => {
      const calls = `{"calls":[{"name":"echo","arguments":${jsonOf(ids)}},{"name":"untyped","arguments":${jsonOf(ids)}}]}`;
      const answered = await post("/v1/execute/batch", calls, { accept });
      expect(answered.split(`"output":${jsonOf(ids)}`)).toHaveLength(3);
    })(),
  );

  test(
    "through the client of the server",
    unchanged(async (ids) => {
      const client = createClient({ url: server.url });
      const result = await client.execute({ name: "echo", arguments: { ids: ids.map(given) } });
      expect(result.output).toEqual({ ids: ids.map(given) });
    }),
  );

  test(
    "over MCP, by an official client",
    unchanged(async (ids) => {
      const texts: string[] = [];
      const listening: typeof fetch = async (input, init) => {
        const response = await fetch(input, init);
        if (init?.method === "POST") texts.push(await response.clone().text());
        return response;
      };
      const client = new Client({ name: "test", version: "1" });
      await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { fetch: listening }));
      await client.callTool({ name: "echo", arguments: { ids: ids.map((id) => rawDigits(`${id}`)) } });
      await client.close();
      const answered = texts.find((text) => text.includes("structuredContent"));
      expect(answered).toContain(`"structuredContent":${jsonOf(ids)}`);
      expect(answered).toContain(JSON.stringify(jsonOf(ids)).slice(1, -1));
    }),
  );

  test(
    "to an API and back",
    unchanged(async (ids) => {
      const { output, error } = await engine.execute({ name: "shop.echo_ids", arguments: { body: { ids } } });
      expect(error).toBeNull();
      expect(output).toEqual({ ids: ids.map(given) });
      expect(api.seen.at(-1)?.body).toBe(jsonOf(ids));
      await engine.execute({ name: "shop.echo_ids", arguments: { body: { ids: ids.map(given) } } });
      expect(api.seen.at(-1)?.body).toBe(jsonOf(ids));
    }),
  );

  test(
    "to the tool of an MCP server and back",
    unchanged(async (ids) => {
      const { output, error } = await engine.execute({ name: "hand.echo", arguments: { ids } });
      expect(error).toBeNull();
      expect(output).toEqual({ ids: ids.map(given) });
      expect(hand.seen.at(-1)?.body).toContain(jsonOf(ids));
    }),
  );

  test(
    "through a recording, and its replay",
    unchanged(async (ids) => {
      const { metadata } = await engine.execute({ name: "passes", arguments: { ids } }, { record: true });
      const recording = readRecording(JSON.stringify(metadata["recording"]));
      const { result, isSame } = await replayCall(recording);
      expect(isSame).toBe(true);
      expect(result.output).toMatchObject({ child: { ids: ids.map(given) } });
    }),
  );

  test(
    "in the text that a model gets",
    unchanged(async (ids) => {
      const call = { id: "c1", type: "function", function: { name: "echo", arguments: jsonOf(ids) } };
      const [answer] = await callTools(engine, "openai-chat", { role: "assistant", content: null, tool_calls: [call] });
      expect(answer?.content).toBe(jsonOf(ids));
    }),
  );
});

describe("a program", () => {
  const CODE = `const order = await tools.shop.latest_order({});
    await tools.shop.change_order({ body: { id: order.id, name: "another" } });
    return { id: order.id, text: \`order \${order.id}\`, same: order.id === ${ID}n };`;

  test("changes the object whose id of 19 digits it was given, and no other", async () => {
    const { output, error } = await codeMode(engine, { typeCheck: "off" }).run(CODE);
    expect(error).toBeNull();
    expect(api.seen.at(-1)?.body).toBe(`{"id":${ID},"name":"another"}`);
    expect(output).toMatchObject({ result: { id: `${ID}`, text: `order ${ID}`, same: true } });
  });

  test("does so over HTTP, whose answer has the digits", async () => {
    const call = { name: "run_code", arguments: { code: CODE } };
    expect(await post("/v1/execute", JSON.stringify(call))).toContain(`"result":{"id":${ID},`);
    expect(api.seen.at(-1)?.body).toBe(`{"id":${ID},"name":"another"}`);
  });

  test(
    "takes integers as its input, and gives them back",
    unchanged(async (ids) => {
      const mode = codeMode(engine, { typeCheck: "off" });
      const { output } = await mode.run("return [input, input.ids.map((id) => typeof id)];", { input: { ids } });
      expect(output).toMatchObject({ result: [{ ids: ids.map(given) }, ids.map(typeOf)] });
    }),
  );
});

describe("an integer that no number holds", () => {
  test("is not added to a number", async () => {
    const { error } = await engine.execute({ name: "sum", arguments: { ids: [ID] } });
    expect(error).toMatchObject({ code: "tool_error", type: "TypeError" });
  });

  test("is still a number for surfaces, after a listener has read the result", async () => {
    const listener = ({ result }: { readonly result: ToolResult }) => void result.output;
    engine.on("tool:post", listener as never);
    expect(await post("/v1/execute", `{"name":"echo","arguments":${jsonOf([ID])}}`)).toContain(
      `"output":${jsonOf([ID])}`,
    );
    engine.off("tool:post", listener as never);
  });

  test("is a string of its digits for a listener, also where the call came over HTTP", async () => {
    const told: unknown[] = [];
    const listener = ({ call }: { readonly call: { readonly arguments: unknown } }) => void told.push(call.arguments);
    engine.on("tool:pre", listener as never);
    expect(await post("/v1/execute", `{"name":"echo","arguments":${jsonOf([ID])}}`)).toContain(jsonOf([ID]));
    engine.off("tool:pre", listener as never);
    expect(told).toEqual([{ ids: [`${ID}`] }]);
  });

  test("is refused as an argument where it has more than 4,096 digits", async () => {
    const { error } = await engine.execute({ name: "untyped", arguments: { id: 10n ** 5_000n } });
    expect(error).toMatchObject({ code: "invalid_arguments" });
    expect(error?.message).toBe("/id is an integer of more than 4096 digits; send it as a text");
    const sent = await post("/v1/execute", `{"name":"untyped","arguments":{"id":${"9".repeat(5_000)}}}`);
    expect(JSON.parse(sent)).toMatchObject({ error });
  });

  // The isolate read none of the calls that came with it: they waited for their limits.
  test("and of more than 4,096 digits, beside other calls of the tool, harms none of them", async () => {
    const [good, bad] = [
      '{"name":"untyped","arguments":{"id":1}}',
      `{"name":"untyped","arguments":{"id":${"9".repeat(5_000)}}}`,
    ];
    const ends = await Promise.all(Array.from({ length: 40 }, (_, at) => post("/v1/execute", at === 4 ? bad : good)));
    expect(ends.filter((end) => end.startsWith('{"success":true'))).toHaveLength(39);
  });
});

test("a number that JSON does not have is refused, with its place", async () => {
  const { error } = await engine.execute({ name: "untyped", arguments: { at: [new Date(0), { mean: 0 / 0 }] } });
  expect(error).toMatchObject({ code: "invalid_arguments" });
  expect(error?.message).toBe("/at/1/mean is NaN, which JSON does not have; send a number, a text or null");
  const sent = await post("/v1/execute", '{"name":"untyped","arguments":{"n":[1e400]}}');
  expect(sent).toContain("/n/0 is Infinity, which JSON does not have");
});
