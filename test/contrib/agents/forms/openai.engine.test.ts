import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ResponseInput } from "openai/resources/responses/responses";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callTools, openaiChat, openaiResponses } from "../../../../src/standard/contracts.ts";
import type { Engine } from "../../../../src/glovebox/index.ts";
import { openEngine } from "../../../standard/contracts/engine.ts";

/** What the client sent, by what its path ends in. */
type Sent = Readonly<Record<string, unknown>>;

let engine: Engine;
let endpoint: Server;
let client: OpenAI;
let sent: Sent[] = [];
/** What the endpoint answers, one after the other. */
let answers: unknown[] = [];

beforeAll(async () => {
  engine = await openEngine();
  endpoint = createServer((request, response) => {
    void json(request).then((body) => {
      sent.push(body as Sent);
      response.setHeader("content-type", "application/json").end(JSON.stringify(answers.shift()));
    });
  });
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  const { port } = endpoint.address() as AddressInfo;
  client = new OpenAI({ apiKey: "none", baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 });
});

beforeEach(() => {
  sent = [];
});

afterAll(async () => {
  endpoint.closeAllConnections();
  endpoint.close();
  await engine.close();
});

const WANTED = [
  ["c1", "get_weather", '{"city":"Oslo"}'],
  ["c2", "text-dot_upper", '{"text":"ab"}'],
  ["c3", "fail", ""],
  ["c4", "nothing", "{}"],
  ["c5", "get_weather", '{"city":'],
] as const;

describe("the openai client's chat", () => {
  const completion = (message: object) => ({
    id: "x",
    object: "chat.completion",
    created: 0,
    model: "m",
    choices: [
      { index: 0, finish_reason: "stop", message: { role: "assistant", content: null, refusal: null, ...message } },
    ],
  });

  async function chat(): Promise<string | null | undefined> {
    const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "What is the weather like?" }];
    const tools = engine.list().map((tool) => openaiChat.writeTool(tool));
    for (;;) {
      const { choices } = await client.chat.completions.create({ model: "m", messages, tools });
      const message = choices[0]?.message;
      if (message === undefined) return undefined;
      messages.push(message);
      const said = await callTools(engine, "openai-chat", message);
      if (said.length === 0) return message.content;
      messages.push(...said);
    }
  }

  test("has all calls of a message answered, whatever becomes of them [A10 E42]", async () => {
    answers = [
      completion({
        tool_calls: WANTED.map(([id, name, given]) => ({ id, type: "function", function: { name, arguments: given } })),
      }),
      completion({ content: "done" }),
    ];
    expect(await chat()).toBe("done");
    const messages = sent[1]?.["messages"] as { role: string; tool_call_id: string; content: string }[];
    const told = new Map(messages.flatMap((each) => (each.role === "tool" ? [[each.tool_call_id, each.content]] : [])));
    expect([...told.keys()]).toEqual(["c1", "c2", "c3", "c4", "c5"]);
    expect(told.get("c1")).toBe('{"city":"Oslo","temperature":4}');
    expect(told.get("c2")).toBe("AB");
    expect(told.get("c3")).toBe("Error: there is no such place");
    expect(told.get("c4")).toMatch(/^Error: .*"nothing"/);
    expect(told.get("c5")).toMatch(/^Error: openai-chat \/function\/arguments: is not JSON/);
  });

  test("is offered tools as strict where their schemas are [B02 A29]", async () => {
    answers = [completion({ content: "done" })];
    await chat();
    const tools = sent[0]?.["tools"] as { function: { name: string } }[];
    expect(tools.map((tool) => tool.function.name)).toEqual(["fail", "get_weather", "text-dot_upper", "wait"]);
    expect(tools[1]).toEqual({
      type: "function",
      function: {
        name: "get_weather",
        description: "Current weather of a city",
        parameters: engine.get("get_weather")?.inputSchema,
        strict: true,
      },
    });
    expect(tools[0]).not.toHaveProperty("function.strict");
  });
});

describe("the openai client's responses", () => {
  const response = (output: readonly object[]) => ({
    id: "x",
    object: "response",
    created_at: 0,
    model: "m",
    status: "completed",
    output,
  });
  const done = {
    type: "message",
    id: "m1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "done", annotations: [] }],
  };

  async function respond(): Promise<string> {
    const input: ResponseInput = [{ role: "user", content: "What is the weather like?" }];
    const tools = engine.list().map((tool) => openaiResponses.writeTool(tool));
    for (;;) {
      const { output, output_text: text } = await client.responses.create({ model: "m", input, tools });
      const said = await callTools(engine, "openai-responses", output);
      if (said.length === 0) return text;
      input.push(...(output as ResponseInput), ...said);
    }
  }

  test("have all calls answered, whatever becomes of them [A10 E42]", async () => {
    answers = [
      response(WANTED.map(([id, name, given]) => ({ type: "function_call", call_id: id, name, arguments: given }))),
      response([done]),
    ];
    expect(await respond()).toBe("done");
    const items = sent[1]?.["input"] as { type?: string; call_id: string; output: string }[];
    const told = new Map(
      items.flatMap((each) => (each.type === "function_call_output" ? [[each.call_id, each.output]] : [])),
    );
    expect([...told.keys()]).toEqual(["c1", "c2", "c3", "c4", "c5"]);
    expect(told.get("c1")).toBe('{"city":"Oslo","temperature":4}');
    expect(told.get("c2")).toBe("AB");
    expect(told.get("c3")).toBe("Error: there is no such place");
    expect(told.get("c4")).toMatch(/^Error: .*"nothing"/);
    expect(told.get("c5")).toMatch(/^Error: openai-responses \/arguments: is not JSON/);
  });

  test("are offered tools that say whether they are strict, and what they answer [B02]", async () => {
    answers = [response([done])];
    await respond();
    const tools = sent[0]?.["tools"] as Sent[];
    expect(tools.map((tool) => tool["strict"])).toEqual([false, true, false, false]);
    expect(tools[1]?.["output_schema"]).toEqual(engine.get("get_weather")?.outputSchema);
  });
});
