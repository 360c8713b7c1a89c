import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callTools } from "../../../../src/standard/contracts.ts";
import type { Engine } from "../../../../src/glovebox/index.ts";
import { openEngine } from "../../../standard/contracts/engine.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

describe("a message of Anthropic's", () => {
  test("is answered with one message that has all results, in their order [A10 E42]", async () => {
    const use = (id: string, name: string, input: unknown) => ({ type: "tool_use", id, name, input });
    const [answer, ...others] = await callTools(engine, "anthropic", {
      role: "assistant",
      content: [
        { type: "text", text: "Let me see." },
        use("c1", "get_weather", { city: "Oslo" }),
        use("c2", "fail", {}),
        use("c3", "nothing", {}),
        use("c4", "get_weather", "Oslo"),
      ],
    });
    expect(others).toEqual([]);
    expect(answer?.role).toBe("user");
    expect(answer?.content.map((each) => each.tool_use_id)).toEqual(["c1", "c2", "c3", "c4"]);
    expect(answer?.content.map((each) => each.is_error ?? false)).toEqual([false, true, true, true]);
    expect(answer?.content[0]?.content).toBe('{"city":"Oslo","temperature":4}');
    expect(answer?.content[3]?.content).toBe("anthropic /input: must be an object, but is a string");
  });
});

describe("a content of Gemini's", () => {
  test("is answered with the ids that calls have, and without where they have none [A10 E42]", async () => {
    const [answer] = await callTools(engine, "gemini", {
      role: "model",
      parts: [
        { functionCall: { name: "get_weather", args: { city: "Oslo" } } },
        { functionCall: { id: "c2", name: "fail", args: {} } },
        { functionCall: { id: "c3", name: "text-dot_upper", args: 1 } },
        { text: "Let me see." },
      ],
    });
    expect(answer).toEqual({
      role: "user",
      parts: [
        { functionResponse: { name: "get_weather", response: { output: { city: "Oslo", temperature: 4 } } } },
        {
          functionResponse: {
            id: "c2",
            name: "fail",
            response: { error: expect.objectContaining({ type: "RangeError", message: "there is no such place" }) },
          },
        },
        {
          functionResponse: {
            id: "c3",
            name: "text-dot_upper",
            response: { error: expect.objectContaining({ code: "invalid_arguments" }) },
          },
        },
      ],
    });
  });
});

describe("a message that calls nothing", () => {
  test.each(["openai-chat", "openai-responses", "anthropic", "gemini"] as const)(
    "has no answer: %s",
    async (contract) => {
      for (const message of [
        null,
        "text",
        1,
        [],
        {},
        { content: "text" },
        { tool_calls: null, parts: {}, output: 1 },
      ]) {
        expect(await callTools(engine, contract, message)).toEqual([]);
      }
    },
  );
});

test.each(["openai", "toString"])("a form that is not there names those that are: %s", async (form) => {
  await expect(callTools(engine, form as "anthropic", {})).rejects.toThrow(
    new TypeError(`callTools knows no form "${form}"; give one of openai-chat, openai-responses, anthropic, gemini`),
  );
});

test("a call for a tenant is that tenant's", async () => {
  const tenants: string[] = [];
  engine.on("tool:pre", ({ tenant }) => tenants.push(tenant));
  const calls = [{ type: "function_call", call_id: "c", name: "get_weather", arguments: '{"city":"Rome"}' }];
  await callTools(engine, "openai-responses", { output: calls }, { tenant: "acme" });
  expect(tenants).toEqual(["acme"]);
});
