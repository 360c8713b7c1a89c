// Prints what the libraries themselves answer to the cases, as JSON: `node reference.mjs ai-sdk langchain …`
import { CASES, CONFIG } from "./cases.mjs";

/** A model of the AI SDK calls the tool, and is told what came of it. */
async function aiSdk(module, toolName, args) {
  const { generateText, isStepCount } = await import("ai");
  const { MockLanguageModelV4 } = await import("ai/test");
  const usage = {
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 0, text: 0, reasoning: 0 },
  };
  const call = { type: "tool-call", toolCallId: "call-1", toolName, input: JSON.stringify(args) };
  const model = new MockLanguageModelV4({
    doGenerate: { content: [call], finishReason: { unified: "tool-calls" }, usage, warnings: [] },
  });
  const { content, response } = await generateText({
    model,
    tools: { [toolName]: module[toolName] },
    stopWhen: isStepCount(1),
    prompt: "Go.",
  });
  const result = content.find(({ type }) => type === "tool-result");
  if (result === undefined) throw new Error("the call was refused");
  const told = response.messages.flatMap((message) => (message.role === "tool" ? message.content : []));
  return { output: result.output, ...(told[0].output.type === "content" ? { told: told[0].output.value.length } : {}) };
}

async function openaiAgents(module, name, args) {
  const { RunContext } = await import("@openai/agents-core");
  const tool = Object.values(module).find((one) => one.name === name);
  const text = JSON.stringify(args);
  const toolCall = { type: "function_call", callId: "call-1", name, arguments: text };
  return { output: await tool.invoke(new RunContext(CONFIG), text, { toolCall }) };
}

async function langchain(module, name, args) {
  const tool = Object.values(module).find((one) => one.name === name);
  const config = { configurable: CONFIG };
  const output = await tool.invoke(args, config);
  if (tool.responseFormat !== "content_and_artifact") return { output };
  const { artifact } = await tool.invoke({ type: "tool_call", id: "call-1", name, args }, config);
  return { output, artifact };
}

async function mastra(module, id, args) {
  const tool = Object.values(module).find((one) => one.id === id);
  const output = await tool.execute(args);
  if (output?.error === true) throw new Error(output.message);
  return { output };
}

const clients = new Map();

async function mcpServer(module, name, args) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { InMemoryTransport } = await import("@modelcontextprotocol/sdk/inMemory.js");
  if (!clients.has(module)) {
    const [theirs, ours] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: "reference", version: "1.0.0" });
    await module.server.connect(theirs);
    await client.connect(ours);
    clients.set(module, client);
  }
  const { content, structuredContent, isError } = await clients.get(module).callTool({ name, arguments: args });
  if (isError) throw new Error(content[0].text);
  // As connectors of MCP servers are read.
  const isText = content.length === 1 && content[0].type === "text";
  return { output: structuredContent ?? (isText ? content[0].text : content) };
}

const ANSWER = { "ai-sdk": aiSdk, "openai-agents": openaiAgents, langchain, mastra, "mcp-server": mcpServer };

const wanted = process.argv.slice(2);
const answers = [];
for (const [library, tool, args] of CASES) {
  if (!wanted.includes(library)) continue;
  const module = await import(`./${library}.mjs`);
  const answer = await ANSWER[library](module, tool, args).catch((error) => ({ error: String(error.message) }));
  answers.push({ library, tool, args, answer });
}
process.stdout.write(JSON.stringify(answers));
