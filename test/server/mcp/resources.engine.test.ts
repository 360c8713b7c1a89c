import { createHash } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRegistry, type Registry } from "../../../src/contrib/agentspace/index.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type KeyOptions, type Server } from "../../../src/server/http/server.ts";
import { moduleFile, sample } from "../../contrib/agentspace/bench.ts";

const ID = "greeting-tool-v1";
const textOf = (name: string): string => `gbx_${name.padEnd(40, "0")}`;
const keyOf = (name: string): KeyOptions => ({
  name,
  tenant: name,
  roles: ["execute"],
  hash: `sha256:${createHash("sha256").update(textOf(name)).digest("hex")}`,
});

async function open(hasRegistry = true): Promise<{ readonly server: Server; readonly registry: Registry }> {
  const engine = await createEngine({ workers: 1, executor: "threads", modelChars: Infinity });
  const registry = await createRegistry(engine, { path: ":memory:" });
  const options = hasRegistry ? { agentspace: registry } : {};
  const server = await createServer(engine, { port: 0, keys: [keyOf("a"), keyOf("b")], ...options });
  onTestFinished(async () => {
    await server.close();
    await registry.close();
  });
  return { server, registry };
}

async function connect({ url }: Server, key: string, mode: "legacy" | "auto"): Promise<Client> {
  const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${textOf(key)}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

describe.each(["legacy", "auto"] as const)("a client of the registry's resources, %s", (mode) => {
  test("lists the manual pages of its tenant's tools, reads them, and calls such a tool", async () => {
    const { server, registry } = await open();
    const text = "export class AgentSpaceV1Tool { execute() { return { message: 'called' }; } }";
    registry.register(sample(ID, { tool_source_code_link: await moduleFile(text) }), { tenant: "a" });
    const client = await connect(server, "a", mode);
    expect(client.getServerCapabilities()?.resources).toEqual({});
    const uri = `agentspace://tools/${ID}`;
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([{ uri, name: ID, mimeType: "text/markdown" }]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates).toMatchObject([{ uriTemplate: "agentspace://tools/{id}" }]);
    const { contents } = await client.readResource({ uri });
    expect(contents).toEqual([{ uri, mimeType: "text/markdown", text: registry.manPage(ID, { tenant: "a" }) }]);
    const { structuredContent } = await client.callTool({ name: ID, arguments: {} });
    expect(structuredContent).toEqual({ message: "called" });
  });

  test("sees nothing of another tenant's", async () => {
    const { server, registry } = await open();
    registry.register(sample(ID), { tenant: "a" });
    const client = await connect(server, "b", mode);
    expect((await client.listResources()).resources).toEqual([]);
    for (const id of [ID, "none", "../x", ""]) {
      await expect(client.readResource({ uri: `agentspace://tools/${id}` })).rejects.toThrow();
    }
    await expect(client.callTool({ name: ID, arguments: {} })).rejects.toThrow("Unknown tool");
  });

  test("gets many in pages", async () => {
    const { server, registry } = await open();
    for (let at = 0; at < 250; at++) registry.register(sample(ID, { tool_id: `t${at}` }), { tenant: "a" });
    const client = await connect(server, "a", mode);
    const names = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await client.listResources(cursor === undefined ? {} : { cursor });
      for (const { name } of page.resources) names.add(name);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(names.size).toBe(250);
  });

  test("is told of no resources where no registry is configured and no output is cut", async () => {
    const { server } = await open(false);
    const client = await connect(server, "a", mode);
    expect(client.getServerCapabilities()?.resources).toBeUndefined();
  });
});
