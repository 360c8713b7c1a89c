import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ConversationError,
  guardedProvider,
  type LLM,
  LLMMessage,
  type LLMOptions,
  type LLMResponse,
  runConversation,
  toolProvider,
  type ToolProviderProtocol,
} from "../../../src/contrib/xaibo/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [
      {
        name: "get_weather",
        description: "Tells the weather of a city.",
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        source: `export default ({ city }) => {
          if (city === "Atlantis") throw new Error("City 'Atlantis' not found");
          return { city, temperature: 22.5 };
        }`,
      },
      { name: "tell_time", description: "Tells the time.", source: "export default () => 'noon'" },
    ],
  });
});

afterAll(() => engine.close());

/** A model that says what it was given to say, and notes what it was asked. */
class ScriptedLLM implements LLM {
  readonly asked: { readonly messages: readonly LLMMessage[]; readonly options: LLMOptions | undefined }[] = [];
  readonly #script: readonly unknown[];

  constructor(...script: readonly unknown[]) {
    this.#script = script;
  }

  generate(messages: readonly LLMMessage[], options?: LLMOptions): Promise<LLMResponse> {
    this.asked.push({ messages, options });
    const said = this.#script[this.asked.length - 1] ?? { content: "done" };
    return said instanceof Error ? Promise.reject(said) : Promise.resolve(said);
  }
}

const call = (id: string, name: string, args: unknown = {}) => ({ id, name, arguments: args });
const calls = (...tool_calls: readonly unknown[]) => ({ content: null, tool_calls });
const user = [LLMMessage.user("What is the weather in Paris?")];

/** Calls without a result, and results without a call. */
function dangling(messages: readonly LLMMessage[]): readonly string[] {
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role === "assistant") for (const { id } of message.tool_calls ?? []) open.add(id);
    if (message.role === "function" && !open.delete(message.id)) return [message.id];
  }
  return [...open];
}

const results = (messages: readonly LLMMessage[]) => messages.filter((message) => message.role === "function");

describe("a conversation", () => {
  test("gives the model the provider's tools as functions, and its temperature [E39]", async () => {
    const llm = new ScriptedLLM({ content: "Hello." });
    const provider = toolProvider(engine);
    const options: LLMOptions = { temperature: 0.7 };
    expect(await runConversation({ llm, provider, messages: user, options })).toMatchObject({
      ended: "answer",
      content: "Hello.",
      turns: 1,
    });
    expect(llm.asked[0]).toEqual({
      messages: user,
      options: { temperature: 0.7, functions: await provider.list_tools() },
    });
  });

  test("executes every call of an answer through the provider [E40]", async () => {
    const llm = new ScriptedLLM(calls(call("1", "get_weather", { city: "Paris" }), call("2", "tell_time")), {
      content: "22.5 degrees at noon.",
    });
    const { messages, content, turns } = await runConversation({ llm, provider: toolProvider(engine), messages: user });
    expect({ content, turns }).toEqual({ content: "22.5 degrees at noon.", turns: 2 });
    expect(results(messages).map(({ id, name }) => [id, name])).toEqual([
      ["1", "get_weather"],
      ["2", "tell_time"],
    ]);
    expect(llm.asked[1]?.messages).toEqual(messages.slice(0, -1));
  });

  test("a result is text: as it is, or JSON of an object [E41]", async () => {
    const llm = new ScriptedLLM(calls(call("1", "get_weather", { city: "Paris" }), call("2", "tell_time")));
    const { messages } = await runConversation({ llm, provider: toolProvider(engine), messages: user });
    expect(messages).toEqual([
      ...user,
      LLMMessage.assistant(null, [call("1", "get_weather", { city: "Paris" }), call("2", "tell_time")] as never),
      { role: "function", id: "1", name: "get_weather", content: '{"city":"Paris","temperature":22.5}' },
      { role: "function", id: "2", name: "tell_time", content: "noon" },
      LLMMessage.assistant("done"),
    ]);
  });

  test.each<[string, unknown, RegExp]>([
    ["fails", call("1", "get_weather", { city: "Atlantis" }), /^Error: City 'Atlantis' not found$/],
    ["has parameters that do not fit", call("1", "get_weather", { city: 5 }), /^Error: .*\/city must be string/],
    ["names no tool", call("1", "get_tides"), /^Error: Tool 'get_tides' not found\. Available tools: \['get_weather'/],
    ["has no arguments", { id: "1", name: "get_weather" }, /^Error: the call cannot be read: .*\/arguments/],
    ["has text for arguments", call("1", "get_weather", "{"), /^Error: the call cannot be read/],
  ])("a call that %s is told to the model, in both of the provider's ways [E42]", async (_what, wrong, text) => {
    for (const throwOnError of [false, true]) {
      const llm = new ScriptedLLM(calls(wrong, call("2", "tell_time")));
      const provider = toolProvider(engine, { throwOnError });
      const { ended, messages } = await runConversation({ llm, provider, messages: user });
      expect(ended).toBe("answer");
      expect(dangling(messages)).toEqual([]);
      expect(results(messages)).toEqual([
        expect.objectContaining({ id: "1", content: expect.stringMatching(text) }),
        expect.objectContaining({ id: "2", content: "noon" }),
      ]);
    }
  });

  test("a call without an id, or without a name, gets one, so that it can be answered [E42]", async () => {
    const llm = new ScriptedLLM(calls({ name: "tell_time", arguments: {} }, null, { arguments: {} }));
    const { messages } = await runConversation({ llm, provider: toolProvider(engine), messages: user });
    expect(dangling(messages)).toEqual([]);
    expect(results(messages).map(({ id, name }) => [id, name])).toEqual([
      ["call_1_1", "tell_time"],
      ["call_1_2", "unknown"],
      ["call_1_3", "unknown"],
    ]);
  });

  test("ends after so many turns, with every call answered [E42]", async () => {
    const again = calls(call("1", "tell_time"));
    const llm = new ScriptedLLM(again, again, again, again);
    const conversation = { llm, provider: toolProvider(engine), messages: user, maxTurns: 3 };
    const { ended, turns, messages } = await runConversation(conversation);
    expect({ ended, turns }).toEqual({ ended: "turns", turns: 3 });
    expect(llm.asked).toHaveLength(3);
    expect(dangling(messages)).toEqual([]);
    expect(results(messages)).toHaveLength(3);
  });

  test("whatever a model answers, no call is left without a result [E42]", async () => {
    const provider = guardedProvider({ tools: [{ name: "get_it", description: "Gives." }], execute: () => "it" });
    const name = fc.oneof(fc.constant("get_it"), fc.jsonValue());
    const asked = fc.record(
      { id: fc.jsonValue(), name, arguments: fc.oneof(fc.constant({}), fc.jsonValue()), problem: fc.jsonValue() },
      { requiredKeys: [] },
    );
    const answers = fc.record(
      { content: fc.jsonValue(), tool_calls: fc.oneof(fc.array(fc.oneof(asked, fc.jsonValue())), fc.jsonValue()) },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(answers, fc.jsonValue()), { maxLength: 3 }), async (script) => {
        const llm = new ScriptedLLM(...script);
        const { messages } = await runConversation({ llm, provider, messages: user, maxTurns: 5 });
        const made = messages.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []));
        expect(results(messages).map(({ id, name: of }) => [id, of])).toEqual(made.map((one) => [one.id, one.name]));
      }),
    );
  });

  test("makes the calls of one answer side by side, and tells them in their order", async () => {
    const open: (() => void)[] = [];
    const provider = guardedProvider({
      tools: [{ name: "get_turn", description: "Waits for the other." }],
      execute: async () => {
        const mine = open.length;
        await new Promise<void>((resolve) => {
          open.push(resolve);
          // The last to come lets the others go, itself first.
          if (open.length === 3) for (const go of open.toReversed()) go();
        });
        return mine;
      },
    });
    const llm = new ScriptedLLM(calls(call("a", "get_turn"), call("b", "get_turn"), call("c", "get_turn")));
    const { messages } = await runConversation({ llm, provider, messages: user });
    expect(results(messages).map(({ id, content }) => [id, content])).toEqual([
      ["a", "0"],
      ["b", "1"],
      ["c", "2"],
    ]);
  });

  test("makes at most 64 calls of one answer, and answers the others [E42]", async () => {
    let made = 0;
    const provider = guardedProvider({
      tools: [{ name: "get_more", description: "Counts." }],
      execute: () => ++made,
    });
    const llm = new ScriptedLLM(calls(...Array.from({ length: 70 }, (_, at) => call(String(at), "get_more"))));
    const { messages } = await runConversation({ llm, provider, messages: user });
    expect(made).toBe(64);
    expect(dangling(messages)).toEqual([]);
    expect(results(messages).at(-1)?.content).toMatch("only 64 calls");
  });

  test.each<[string, unknown, string]>([
    ["too large", "x".repeat(101), "Error: the result has 101 characters, the limit is 100; ask for less"],
    ["no JSON", { a: 10n }, "Error: the result cannot be written as JSON: /a is a BigInt"],
  ])("a result that is %s is an error that says so [E44 E45]", async (_what, result, text) => {
    const provider: ToolProviderProtocol = {
      list_tools: () => Promise.resolve([]),
      execute_tool: () => Promise.resolve({ success: true, result }),
    };
    const llm = new ScriptedLLM(calls(call("1", "get_it")));
    const { messages } = await runConversation({ llm, provider, messages: user, resultChars: 100 });
    expect(results(messages)[0]?.content).toBe(text);
  });

  test("a call that does not end is answered in time [E42]", async () => {
    const provider: ToolProviderProtocol = {
      list_tools: () => Promise.resolve([]),
      execute_tool: () => new Promise(() => undefined),
    };
    const llm = new ScriptedLLM(calls(call("1", "get_it")));
    const { messages } = await runConversation({ llm, provider, messages: user, callMs: 5 });
    expect(results(messages)[0]?.content).toBe("Error: Tool 'get_it' took longer than 5 ms");
  });

  test("a signal ends it, with every call answered [E42]", async () => {
    const controller = new AbortController();
    const provider: ToolProviderProtocol = {
      list_tools: () => Promise.resolve([]),
      execute_tool: () => {
        controller.abort();
        return new Promise(() => undefined);
      },
    };
    const llm = new ScriptedLLM(calls(call("1", "get_it"), call("2", "get_it")));
    const conversation = { llm, provider, messages: user, signal: controller.signal };
    const { ended, turns, messages } = await runConversation(conversation);
    expect({ ended, turns, asked: llm.asked.length }).toEqual({ ended: "cancelled", turns: 1, asked: 1 });
    expect(dangling(messages)).toEqual([]);
  });

  test("a model that fails ends it with an error that has what was said, every call answered [E42]", async () => {
    const llm = new ScriptedLLM(calls(call("1", "tell_time")), new Error("no connection"));
    const failed = await runConversation({ llm, provider: toolProvider(engine), messages: user }).catch(
      (error: unknown) => error,
    );
    if (!(failed instanceof ConversationError)) throw new Error("it did not fail", { cause: failed });
    expect(failed.message).toBe("the model failed in turn 2: no connection");
    expect(results(failed.messages)).toHaveLength(1);
    expect(dangling(failed.messages)).toEqual([]);
  });

  test("a model that does not answer in time has failed", async () => {
    const llm: LLM = { generate: () => new Promise(() => undefined) };
    const conversation = { llm, provider: toolProvider(engine), messages: user, llmMs: 5 };
    await expect(runConversation(conversation)).rejects.toThrow("the model's answer took longer than 5 ms");
  });

  test("does not change the messages it is given", async () => {
    const given = Object.freeze([...user]);
    const llm = new ScriptedLLM(calls(call("1", "tell_time")));
    await runConversation({ llm, provider: toolProvider(engine), messages: given });
    expect(given).toEqual(user);
  });
});
