// Tools of the SDK's documentation of servers: https://github.com/modelcontextprotocol/typescript-sdk
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

export const server = new McpServer({ name: "demo-server", version: "1.0.0" }, { capabilities: { logging: {} } });

server.registerTool(
  "add",
  {
    title: "Addition Tool",
    description: "Add two numbers",
    inputSchema: { a: z.number(), b: z.number() },
    outputSchema: { result: z.number() },
    annotations: { readOnlyHint: true },
  },
  async ({ a, b }) => {
    const output = { result: a + b };
    return { content: [{ type: "text", text: JSON.stringify(output) }], structuredContent: output };
  },
);

server.registerTool(
  "calculate-bmi",
  {
    title: "BMI Calculator",
    description: "Calculate Body Mass Index",
    inputSchema: { weightKg: z.number(), heightM: z.number() },
    outputSchema: { bmi: z.number() },
  },
  async ({ weightKg, heightM }) => {
    const output = { bmi: weightKg / (heightM * heightM) };
    return { content: [{ type: "text", text: JSON.stringify(output) }], structuredContent: output };
  },
);

server.registerTool(
  "list-files",
  { title: "List Files", description: "List files with ResourceLinks", inputSchema: { pattern: z.string() } },
  async ({ pattern }) => ({
    content: [
      { type: "text", text: `Found files matching "${pattern}":` },
      { type: "resource_link", uri: "file:///project/README.md", name: "README.md", mimeType: "text/markdown" },
    ],
  }),
);

server.tool("echo", "Echoes", { message: z.string() }, async ({ message }) => ({
  content: [{ type: "text", text: `Tool echo: ${message}` }],
}));

server.registerTool(
  "fails",
  { description: "Fails", inputSchema: { how: z.enum(["throws", "says"]) } },
  async ({ how }) => {
    if (how === "throws") throw new Error("no luck");
    return { content: [{ type: "text", text: "no luck at all" }], isError: true };
  },
);

server.registerTool(
  "count",
  { description: "Counts with progress and log lines", inputSchema: { to: z.number().int().max(5) } },
  async ({ to }, { sendNotification, _meta }) => {
    for (let at = 1; at <= to; at++) {
      await sendNotification({
        method: "notifications/progress",
        params: { progressToken: _meta?.progressToken ?? "", progress: at, total: to, message: `step ${at}` },
      });
      await server.sendLoggingMessage({ level: "info", data: `at ${at}` });
    }
    return { content: [{ type: "text", text: `${to}` }] };
  },
);

server.registerTool(
  "summarize",
  { description: "Asks a model", inputSchema: { text: z.string() } },
  async ({ text }) => {
    const response = await server.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text } }],
      maxTokens: 500,
    });
    return { content: [{ type: "text", text: JSON.stringify(response) }] };
  },
);
