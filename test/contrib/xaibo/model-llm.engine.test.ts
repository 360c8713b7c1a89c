import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chatProvider, scriptedProvider } from "../../../src/contrib/strands/index.ts";
import { LLMMessage, modelLLM, runConversation, toolProvider } from "../../../src/contrib/xaibo/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";

const ADD = {
  name: "add_numbers",
  description: "Adds two numbers.",
  source: "export default ({ a, b }) => ({ sum: a + b })",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
};

let engine: Engine;
let server: Server;
let host: string;
/** What the model's server was asked. */
const requests: { readonly messages: readonly unknown[]; readonly tools: readonly unknown[] }[] = [];

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", tools: [ADD] });
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      requests.push(JSON.parse(body));
      const fn = (id: string, args: string) => ({
        id,
        type: "function",
        function: { name: "add_numbers", arguments: args },
      });
      const asks = { role: "assistant", content: null, tool_calls: [fn("c1", '{"a":1,"b":2}'), fn("c2", "{a:")] };
      const message = requests.length === 1 ? asks : { role: "assistant", content: "It is 3." };
      response.setHeader("content-type", "application/json").end(JSON.stringify({ choices: [{ message }] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await engine.close();
});

const messages = [LLMMessage.system("Be exact."), LLMMessage.user("What is 1 + 2?")];

describe("a conversation with a model behind chat completions", () => {
  test("gives it the tools, makes its calls, and tells it every result [E39 E40 E41 E42]", async () => {
    const llm = modelLLM(chatProvider({ host, retries: 0 }), "tiny");
    const conversation = await runConversation({ llm, provider: toolProvider(engine), messages });
    expect(conversation).toMatchObject({ ended: "answer", content: "It is 3.", turns: 2 });
    expect(requests[0]).toMatchObject({
      model: "tiny",
      messages: [
        { role: "system", content: "Be exact." },
        { role: "user", content: "What is 1 + 2?" },
      ],
      tools: [{ function: { name: "add_numbers", parameters: { required: ["a", "b"] } } }],
    });
    expect(requests[1]?.messages.slice(2)).toMatchObject([
      { role: "assistant", tool_calls: [{ id: "c1" }, { id: "c2" }] },
      { role: "tool", tool_call_id: "c1", content: '{"sum":3}' },
      { role: "tool", tool_call_id: "c2", content: expect.stringMatching(/^Error: .*arguments: is not JSON/) },
    ]);
  });

  test("ends with an error where the model's server is not there", async () => {
    const llm = modelLLM(chatProvider({ host: "http://127.0.0.1:9", retries: 0 }), "tiny");
    await expect(runConversation({ llm, provider: toolProvider(engine), messages })).rejects.toMatchObject({
      name: "ConversationError",
      message: expect.stringMatching(/^the model failed in turn 1: .*cannot be reached/),
      messages,
    });
  });
});

test("a scripted model hears what came of its calls", async () => {
  const model = scriptedProvider([{ calls: [{ id: "c1", name: "add_numbers", arguments: { a: 1 } }] }, "I see."]);
  const { content } = await runConversation({ llm: modelLLM(model, "tiny"), provider: toolProvider(engine), messages });
  expect(content).toBe("I see.");
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({
    role: "tool",
    call: { id: "c1", name: "add_numbers" },
    result: { output: expect.stringMatching(/^Error: .*'?b'?/) },
  });
});
