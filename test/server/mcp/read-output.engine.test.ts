import { createHash } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type KeyOptions, type Server } from "../../../src/server/http/server.ts";

const secretOf = (name: string): string => `gbx_${name.padEnd(40, "0")}`;
const keyOf = (name: string, tenant: string, tools?: string[]): KeyOptions => ({
  name,
  tenant,
  roles: ["execute"],
  hash: `sha256:${createHash("sha256").update(secretOf(name)).digest("hex")}`,
  ...(tools === undefined ? {} : { tools }),
});

const source = `export default ({ count }) => ({ rows: Array.from({ length: count }, (_, id) => ({ id, name: "name " + id })) });`;
const outputSchema = {
  type: "object",
  properties: { rows: { type: "array", items: { type: "object" } } },
  required: ["rows"],
};

let engine: Engine;
let server: Server;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    calls: { path: ":memory:", keep: "summaries" },
    limits: { outputBytes: 8 * 1024 * 1024 },
    tools: [
      { name: "rows", description: "Rows.", source },
      { name: "typed", description: "Rows of a schema.", source, outputSchema },
    ],
  });
  const keys = [keyOf("a", "acme", ["rows", "typed"]), keyOf("b", "acme"), keyOf("c", "other")];
  server = await createServer(engine, { port: 0, keys });
});
afterAll(() => server.close());

async function connect(key: string, mode: "legacy" | "auto"): Promise<Client> {
  const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${secretOf(key)}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

type Answer = Awaited<ReturnType<Client["callTool"]>>;
const textsOf = ({ content }: Answer) =>
  (content as { type: string; text?: string }[]).flatMap(({ text }) => (text === undefined ? [] : [text]));
const linksOf = ({ content }: Answer) =>
  (content as { type: string; uri?: string }[]).flatMap(({ uri }) => (uri === undefined ? [] : [uri]));

test("calls of read_output are kept as the key's, over MCP", async () => {
  const client = await connect("b", "auto");
  const [uri = ""] = linksOf(await client.callTool({ name: "rows", arguments: { count: 50_000 } }));
  await client.readResource({ uri });
  const { calls } = await engine.calls.list({ tool: "read_output", tenant: "acme" });
  expect(calls[0]).toMatchObject({ surface: "mcp", key: "b", code: "ok" });
});

describe.each(["legacy", "auto"] as const)("a client, %s", (mode) => {
  test("gets a cut output with a link, reads on with the tool, and reads the link", async () => {
    const client = await connect("a", mode);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["read_output", "rows", "typed"]);
    const answer = await client.callTool({ name: "rows", arguments: { count: 50_000 } });
    const [text = ""] = textsOf(answer);
    expect(text.length).toBeLessThanOrEqual(25_000);
    expect(answer.structuredContent).toBeUndefined();
    const [uri = ""] = linksOf(answer);
    expect(uri).toMatch(/^glovebox:\/\/calls\/[^/]+\/output$/);
    const call = decodeURIComponent(uri.split("/")[3] ?? "");
    const found = await client.callTool({ name: "read_output", arguments: { call, search: "name 31415" } });
    expect(textsOf(found)[0]).toContain('in "/rows/31415/name"');
    const matched = await client.callTool({ name: "read_output", arguments: { call, pattern: "name 3141[5]\\b" } });
    expect(textsOf(matched)[0]).toContain('in "/rows/31415/name"');
    const { contents } = await client.readResource({ uri: `${uri}?pointer=/rows/31415` });
    expect(contents[0]).toMatchObject({ mimeType: "text/plain" });
    expect(contents[0]).toHaveProperty("text", expect.stringContaining('{"id":31415,"name":"name 31415"}'));
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(
      "glovebox://calls/{call}/output{?pointer,from,chars,search}",
    );
  });

  test("gets the whole of an output with a schema as structured content, which it validates", async () => {
    const client = await connect("a", mode);
    const answer = await client.callTool({ name: "typed", arguments: { count: 20_000 } });
    expect(answer.structuredContent).toMatchObject({ rows: expect.any(Array) as unknown[] });
    expect((answer.structuredContent as { rows: unknown[] }).rows).toHaveLength(20_000);
    expect(textsOf(answer).join("").length).toBeLessThanOrEqual(25_000);
  });

  test("reads no output of another key or tenant", async () => {
    const answer = await (await connect("a", mode)).callTool({ name: "rows", arguments: { count: 5_000 } });
    const [uri = ""] = linksOf(answer);
    const call = decodeURIComponent(uri.split("/")[3] ?? "");
    for (const key of ["b", "c"]) {
      const client = await connect(key, mode);
      const read = await client.callTool({ name: "read_output", arguments: { call } });
      expect(read).toMatchObject({ isError: true, _meta: { "glovebox/error": { code: "tool_not_found" } } });
      await expect(client.readResource({ uri })).rejects.toThrow();
    }
  });
});
