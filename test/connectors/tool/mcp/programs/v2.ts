// A server of the official SDK's second version, which speaks 2026-07-28, and older revisions unless it is told not to.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

export function createV2Server(): McpServer {
  const server = new McpServer({ name: "v2", version: "2.0.0" });
  server.registerTool(
    "echo",
    { description: "Says it again.", inputSchema: z.object({ text: z.string() }) },
    ({ text }) => ({
      content: [{ type: "text", text }],
    }),
  );
  server.registerTool(
    "add",
    { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    ({ a, b }) => ({ content: [], structuredContent: { sum: a + b } }),
  );
  server.registerTool("wait", { inputSchema: z.object({ ms: z.number() }) }, async ({ ms }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { content: [] };
  });
  server.registerTool("grow", {}, () => {
    server.registerTool("grown", {}, () => ({ content: [] }));
    return { content: [] };
  });
  return server;
}

if (process.argv[1] === import.meta.filename) {
  serveStdio(() => createV2Server(), { legacy: process.argv[2] === "modern" ? "reject" : "serve" });
}
