import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUg==";
const IMAGE = { type: "image", data: PNG, mimeType: "image/png" };
/** 400,000 characters of Base64: longer than outputs that are parsed at once. */
const LONG = 400_000;

/** A tool of each contract that returns a text and an image, or an image alone where there is one value. */
const MODULES = {
  glovebox: `export const spec = { name: "glovebox", description: "d" };
    export default () => ({ content: [{ type: "text", text: "Look:" }, ${JSON.stringify(IMAGE)}] });`,
  strands: `export const TOOL_SPEC = { name: "strands", description: "d", inputSchema: { json: { type: "object" } } };
    export function strands({ toolUseId }) {
      const image = Uint8Array.from(atob("${PNG}"), (one) => one.charCodeAt(0));
      return { toolUseId, status: "success", content: [{ text: "Look:" }, { image }] };
    }`,
  amplifier: `export function mount() {
      return {
        name: "amplifier", description: "d", input_schema: { type: "object" },
        execute: async () => ({ success: true, output: ["Look:", ${JSON.stringify(IMAGE)}] }),
      };
    }`,
  xaibo: `export class Provider {
      async list_tools() { return [{ name: "xaibo", description: "d", parameters: {} }]; }
      async execute_tool() { return { success: true, result: ["Look:", ${JSON.stringify(IMAGE)}] }; }
    }`,
  "ai-sdk": `export const tools = { "ai-sdk": {
      description: "d", inputSchema: { type: "object" }, execute: () => ({ png: "${PNG}" }),
      toModelOutput: ({ output }) => ({ type: "content", value: [
        { type: "text", text: "Look:" }, { type: "image-data", data: output.png, mediaType: "image/png" },
      ] }),
    } };`,
} as const;

const OTHERS = [
  {
    name: "links",
    description: "Returns audio and a link.",
    source: `export default () => [
      { type: "audio", data: "UklGRg==", mimeType: "audio/wav" },
      { type: "resource_link", uri: "https://example.com/a", name: "a" },
    ];`,
  },
  {
    name: "promised",
    description: "Returns an image that its schema promises.",
    source: `export default () => (${JSON.stringify(IMAGE)});`,
    outputSchema: { type: "object", properties: { type: { const: "image" } } },
  },
  {
    name: "long",
    description: "Returns a long image.",
    source: `export default ({ order }) => {
      const data = "A".repeat(${LONG});
      const image = order === "last" ? { data, mimeType: "image/png", type: "image" } : { type: "image", data, mimeType: "image/png" };
      return order === "result" ? { content: [image] } : image;
    };`,
  },
  {
    name: "refused",
    description: "Fails in the protocol's way.",
    source: `export default () => ({ content: [{ type: "text", text: "no" }], isError: true });`,
  },
];

let engine: Engine;
let server: Server;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-content-"));
  const tools = Object.entries(MODULES).map(([name, source]) => {
    const path = join(folder, `${name}.js`);
    writeFileSync(path, source);
    return path;
  });
  engine = await createEngine({ workers: 1, executor: "threads", tools: [...tools, ...OTHERS] });
  server = await createServer(engine, { port: 0 });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface AnyClient {
  listTools(): Promise<unknown>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<{ [key: string]: unknown }>;
  close(): Promise<void>;
}

async function connectV1(): Promise<AnyClient> {
  const client = new Client1({ name: "tester", version: "1.0.0" });
  // Its declaration leaves optional members out of `exactOptionalPropertyTypes`.
  await client.connect(new Http1(new URL(`${server.url}/mcp`)) as Parameters<Client1["connect"]>[0]);
  return client;
}

async function connectV2(mode: "legacy" | "auto"): Promise<AnyClient> {
  const client = new Client2({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new Http2(new URL(`${server.url}/mcp`)));
  return client;
}

describe.each([
  ["version 1", connectV1],
  ["version 2, with a session", () => connectV2("legacy")],
  ["version 2", () => connectV2("auto")],
] as const)("a client of the official SDK, %s,", (_name, connect) => {
  let client: AnyClient;
  beforeAll(async () => {
    client = await connect();
    await client.listTools();
  });
  afterAll(() => client.close());

  test.each(Object.keys(MODULES))("gets the image of a tool of %s", async (name) => {
    const { content, structuredContent } = await client.callTool({ name, arguments: {} });
    expect(content).toEqual([{ type: "text", text: "Look:" }, IMAGE]);
    expect(structuredContent).toBeUndefined();
    expect(engine.get(name)?.contract).toBe(name);
  });

  test("gets audio and a link", async () => {
    const { content } = await client.callTool({ name: "links", arguments: {} });
    expect(content).toMatchObject([{ type: "audio" }, { type: "resource_link", uri: "https://example.com/a" }]);
  });

  test("gets an image as structured content too, where a schema promises it", async () => {
    const result = await client.callTool({ name: "promised", arguments: {} });
    expect(result).toMatchObject({ content: [IMAGE], structuredContent: IMAGE });
  });

  test.each(["first", "last", "result"])("gets a long image whose type stands %s", async (order) => {
    const { content } = await client.callTool({ name: "long", arguments: { order } });
    expect(content).toEqual([{ type: "image", data: "A".repeat(LONG), mimeType: "image/png" }]);
  });

  test("is told of a failure that a tool reports in the protocol's way", async () => {
    const result = await client.callTool({ name: "refused", arguments: {} });
    expect(result).toMatchObject({ content: [{ type: "text", text: "no" }], isError: true });
  });
});

test.each([
  ["2024-11-05", ["text", "text"]],
  ["2025-03-26", ["audio", "text"]],
  ["2025-06-18", ["audio", "resource_link"]],
])("a client of revision %s gets blocks of later ones as text", async (protocolVersion, types) => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const send = async (message: object, more: Record<string, string> = {}): Promise<[Response, string]> => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    const response = await fetch(`${server.url}/mcp`, { method: "POST", headers: { ...headers, ...more }, body });
    return [response, await response.text()];
  };
  const clientInfo = { name: "tester", version: "1.0.0" };
  const [opened] = await send({
    id: 1,
    method: "initialize",
    params: { protocolVersion, capabilities: {}, clientInfo },
  });
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  const [, answer] = await send({ id: 2, method: "tools/call", params: { name: "links", arguments: {} } }, session);
  const { result } = JSON.parse(/^data: (\{.*)$/m.exec(answer)?.[1] ?? "") as {
    result: { content: readonly { type: string; text?: string }[] };
  };
  expect(result.content.map(({ type }) => type)).toEqual(types);
});
