// A server of the official SDK's first version, which speaks revisions up to 2025-11-25.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

export function createV1Server(): McpServer {
  const server = new McpServer({ name: "v1", version: "1.2.3" });
  server.registerTool(
    "echo",
    { description: "Says it again.", inputSchema: { text: z.string() }, annotations: { readOnlyHint: true } },
    ({ text }) => ({
      content: [{ type: "text", text }],
    }),
  );
  server.registerTool(
    "add",
    { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
    ({ a, b }) => ({
      content: [],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool("fail", {}, () => ({ isError: true, content: [{ type: "text", text: "it broke" }] }));
  server.registerTool("environment", {}, () => ({ content: [{ type: "text", text: JSON.stringify(process.env) }] }));
  const cancelled: string[] = [];
  server.registerTool("wait", { inputSchema: { ms: z.number() } }, async ({ ms }, { signal }) => {
    signal.addEventListener("abort", () => cancelled.push("wait"));
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { content: [] };
  });
  server.registerTool("cancelled", {}, () => ({ content: [{ type: "text", text: JSON.stringify(cancelled) }] }));
  server.registerTool("grow", {}, () => {
    server.registerTool("grown", {}, () => ({ content: [] }));
    return { content: [] };
  });
  server.registerTool("ask", {}, async () => {
    const answer = await server.server
      .elicitInput({ message: "your name?", requestedSchema: { type: "object", properties: {} } })
      .then(({ action }) => action)
      .catch((error: unknown) => String(error));
    return { content: [{ type: "text", text: answer }] };
  });
  server.registerTool("exit", {}, () => process.exit(7));
  return server;
}

if (process.argv[1] === import.meta.filename) await createV1Server().connect(new StdioServerTransport());
