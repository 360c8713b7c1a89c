import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type ChatOptions,
  chatProvider,
  createProvider,
  load_spec,
  type ModelMessage,
  ProviderError,
  run_chain,
  ToolRegistry,
  type WorkflowError,
} from "../../../src/contrib/strands/index.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { emptyMetadata, success } from "../../../src/kernel/base/result.ts";
import { Folder, SAMPLES, workflow } from "./folder.ts";

type Body = { readonly [key: string]: unknown };

let server: Server;
let host: string;
/** What the server was asked, and how it answers. */
let requests: { url: string; authorization: string | undefined; body: Body }[];
let answer: (response: ServerResponse, body: Body, request: IncomingMessage) => unknown;

beforeEach(async () => {
  requests = [];
  server = createServer((request, response) => {
    void text(request).then((sent) => {
      const body = JSON.parse(sent) as Body;
      requests.push({ url: `${request.method} ${request.url}`, authorization: request.headers.authorization, body });
      return answer(response, body, request);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

const USER: readonly ModelMessage[] = [{ role: "user", text: "Hi" }];
const TOOL = { name: "echo", description: "Echoes.", inputSchema: { type: "object" } } as const;

function ask(options: Partial<ChatOptions> = {}, messages = USER, signal?: AbortSignal) {
  return chatProvider({ host, retries: 0, ...options }).generate(messages, { tools: [TOOL], model: "tiny", signal });
}

/** Answers with a message, as chat completions do. */
function say(response: ServerResponse, message: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ id: "1", object: "chat.completion", choices: [{ index: 0, message }] }));
}

function fail(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, headers);
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

/** The error of a model that does not answer. */
async function problem(options: Partial<ChatOptions> = {}): Promise<string> {
  const error: unknown = await ask(options).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ProviderError);
  return error instanceof ProviderError ? error.message : "";
}

describe("a model behind chat completions", () => {
  test("is sent the conversation and the tools, and answers with a text", async () => {
    answer = (response) => say(response, { role: "assistant", content: "Hello." });
    expect(await ask()).toEqual({ text: "Hello.", calls: [] });
    expect(requests).toMatchObject([
      {
        url: "POST /v1/chat/completions",
        body: {
          model: "tiny",
          stream: false,
          messages: [{ role: "user", content: "Hi" }],
          tools: [
            {
              type: "function",
              function: { name: "echo", description: "Echoes.", parameters: { type: "object" } },
            },
          ],
        },
      },
    ]);
    expect(requests[0]?.authorization).toBeUndefined();
  });

  test("asks for calls, and is told how they ended", async () => {
    const use = { id: "c1", type: "function", function: { name: "echo", arguments: '{"message":"hi"}' } };
    answer = (response) => say(response, { role: "assistant", content: null, tool_calls: [use] });
    const call = { id: "c1", name: "echo", arguments: { message: "hi" } };
    expect(await ask()).toEqual({ text: "", calls: [call] });
    const result = success("hi", emptyMetadata("c1", "echo", 0));
    await ask({}, [...USER, { role: "assistant", text: "", calls: [call] }, { role: "tool", call, result }]);
    expect(requests[1]?.body["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant", tool_calls: [use] },
      { role: "tool", tool_call_id: "c1", content: "hi" },
    ]);
  });

  test("is sent what it said without calls as a message that has none", async () => {
    answer = (response) => say(response, { role: "assistant", content: "Bye" });
    await ask({}, [...USER, { role: "assistant", text: "Hello", calls: [] }, { role: "user", text: "And now?" }]);
    const messages = requests[0]?.body["messages"] as readonly unknown[];
    expect(messages[1]).toEqual({ role: "assistant", content: "Hello" });
  });

  test("whose arguments are no JSON has the call answered with that", async () => {
    const calls = ["{", "[1]", '"a"', "null"].map((args, n) => ({
      id: `${n}`,
      function: { name: "echo", arguments: args },
    }));
    answer = (response) => say(response, { tool_calls: calls });
    for (const call of (await ask()).calls) {
      expect(call).toMatchObject({ arguments: {}, problem: expect.stringContaining("/function/arguments") });
    }
  });

  test("is told and tells names as the protocol takes them", async () => {
    const long = { ...TOOL, name: `org.tools.${"x".repeat(80)}` };
    answer = (response, { tools }) => {
      const names = (tools as { function: { name: string } }[]).map((tool) => tool.function.name);
      for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      say(response, { tool_calls: names.map((name) => ({ id: name, function: { name, arguments: "{}" } })) });
    };
    const tools = [{ ...TOOL, name: "my.tool" }, long];
    const { calls } = await chatProvider({ host }).generate(USER, { tools, model: "m" });
    expect(calls.map(({ name }) => name)).toEqual(["my.tool", long.name]);
  });

  test("may leave out arguments and ids, or send arguments as an object", async () => {
    const calls = [{ function: { name: "a" } }, { id: "", function: { name: "b", arguments: { c: 1 } } }];
    answer = (response) => say(response, { content: "", tool_calls: calls });
    expect((await ask()).calls).toEqual([
      { id: "call_1", name: "a", arguments: {} },
      { id: "call_2", name: "b", arguments: { c: 1 } },
    ]);
  });

  test("at an address with a path of its own is asked there", async () => {
    answer = (response) => say(response, { content: "ok" });
    await ask({ host: `${host}/api/v3/` });
    expect(requests[0]?.url).toBe("POST /api/v3/chat/completions");
  });

  test("is given the key, and keeps it out of its errors", async () => {
    const apiKey = "sk-correct-horse-battery";
    answer = (response) => fail(response, 401, { error: { message: `Incorrect API key:\n ${apiKey}` } });
    expect(await problem({ apiKey })).toBe("the model's server answered 401: Incorrect API key: [key]");
    expect(requests[0]?.authorization).toBe(`Bearer ${apiKey}`);
  });

  test("is asked again where it may answer later", async () => {
    answer = (response) => (requests.length < 3 ? fail(response, 503, "busy") : say(response, { content: "at last" }));
    expect((await ask({ retries: 2 })).text).toBe("at last");
    expect(requests).toHaveLength(3);
  });

  test("is not asked again more often than that, nor where that cannot help", async () => {
    answer = (response) => fail(response, 500, { error: "broken" });
    expect(await problem({ retries: 1 })).toBe("the model's server answered 500: broken");
    expect(requests).toHaveLength(2);
    answer = (response) => fail(response, 400, { error: { message: "no such model" } });
    expect(await problem({ retries: 5 })).toBe("the model's server answered 400: no such model");
    expect(requests).toHaveLength(3);
  });

  test("that does not answer in time is given up", async () => {
    answer = () => undefined;
    expect(await problem({ timeoutMs: 100 })).toMatch(
      /^the model's server at 127\.0\.0\.1:\d+ did not answer in 100 ms$/,
    );
  });

  test("that begins to answer and does not go on is given up", async () => {
    answer = (response) => response.writeHead(200).write("{");
    expect(await problem({ timeoutMs: 200 })).toContain("did not answer in 200 ms");
  });

  test("that answers without an end is cut off", async () => {
    answer = (response) => {
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
        if (!response.destroyed) response.once("drain", more);
      };
      response.writeHead(200);
      more();
    };
    expect(await problem({ maxBytes: 100_000 })).toBe("the model's answer has more than 100000 bytes");
  });

  test("that hangs up is told as such", async () => {
    answer = (response) => response.destroy();
    expect(await problem()).toMatch(/^the model's server at \S+ cannot be reached: /);
  });

  test("does not carry a key on to where it points", async () => {
    answer = (response) => fail(response, 307, "", { location: "/steal" });
    expect(await problem({ apiKey: "sk-correct-horse" })).toContain("cannot be reached");
    expect(requests).toHaveLength(1);
  });

  test("is no longer waited for when the caller gives up", async () => {
    const stop = new AbortController();
    answer = () => stop.abort(new Error("enough"));
    await expect(ask({ retries: 3 }, USER, stop.signal)).rejects.toThrow("enough");
  });

  test("is not asked again when the caller gives up meanwhile", async () => {
    const stop = new AbortController();
    answer = (response) => {
      fail(response, 503, "busy", { "retry-after": "10" });
      setTimeout(() => stop.abort(new Error("enough")), 20);
    };
    await expect(ask({ retries: 3 }, USER, stop.signal)).rejects.toThrow("enough");
    expect(requests).toHaveLength(1);
  });

  test.each(["", "no", "{}", "[]", "null", '{"choices":5}', '{"choices":[null]}', '{"choices":[{"message":7}]}'])(
    "that answers %j is told as such",
    async (body) => {
      answer = (response) => fail(response, 200, body);
      expect(await problem()).toBe("the model's answer holds no message");
    },
  );

  test("that answers with whatever JSON is read or refused, and nothing else happens", async () => {
    const part = fc.letrec((tie) => ({
      value: fc.oneof(
        fc.jsonValue(),
        fc.record(
          { choices: fc.array(fc.record({ message: tie("message") })) },
          { noNullPrototype: true, requiredKeys: [] },
        ),
      ),
      message: fc.record(
        { content: fc.jsonValue(), tool_calls: fc.oneof(fc.jsonValue(), fc.array(tie("call"))) },
        { noNullPrototype: true, requiredKeys: [] },
      ),
      call: fc.record(
        { id: fc.jsonValue(), function: fc.record({ name: fc.jsonValue(), arguments: fc.jsonValue() }) },
        { noNullPrototype: true, requiredKeys: [] },
      ),
    }));
    await fc.assert(
      fc.asyncProperty(part.value, async (body) => {
        answer = (response) => fail(response, 200, body);
        await ask().catch((error: unknown) => expect(error).toBeInstanceOf(ProviderError));
      }),
      { numRuns: 60 },
    );
  });
});

describe("a provider", () => {
  const runtime = (provider: string, at?: string) => ({
    provider,
    model_id: "m",
    ...(at === undefined ? {} : { host: at }),
  });
  const key = { OPENAI_API_KEY: "sk-correct-horse" };

  test("is made for ollama and for openai [D72]", async () => {
    answer = (response) => say(response, { content: "ok" });
    const options = { tools: [], model: "m" };
    expect(await createProvider(runtime("ollama", host), {}).generate(USER, options)).toEqual({
      text: "ok",
      calls: [],
    });
    const openai = createProvider(runtime("openai", host), { ...key, OPENAI_BASE_URL: `${host}/v1` });
    expect(await openai.generate(USER, options)).toEqual({ text: "ok", calls: [] });
    expect(requests.map(({ authorization }) => authorization)).toEqual([undefined, "Bearer sk-correct-horse"]);
    expect(requests[0]?.body).not.toHaveProperty("tools");
  });

  test("of another name is a typed error, and so is one without its key [D72]", () => {
    expect(() => createProvider(runtime("bedrock"), {})).toThrow(ProviderError);
    expect(() => createProvider(runtime("constructor"), {})).toThrow(ProviderError);
    expect(() => createProvider(runtime("openai"), {})).toThrow("set OPENAI_API_KEY");
  });

  test("that is not there is a typed error of the run [D72]", async () => {
    server.close();
    const failing = createProvider(runtime("ollama", host)).generate(USER, { tools: [], model: "m" });
    const error = await failing.catch((caught: unknown) => caught as WorkflowError);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ trouble: "runtime", message: expect.stringContaining("ECONNREFUSED") });
    server.listen(0);
  });

  test("sends the key to no host that a workflow names", async () => {
    answer = (response) => say(response, { content: "ok" });
    await createProvider(runtime("openai", host), key).generate(USER, { tools: [], model: "m" });
    await createProvider(runtime("ollama", host), key).generate(USER, { tools: [], model: "m" });
    expect(requests.map(({ authorization }) => authorization)).toEqual([undefined, undefined]);
  });

  test.each(["ftp://a", "file:///etc/passwd", "nowhere", "http://user:secret@127.0.0.1"])("at %s is refused", (at) => {
    expect(() => createProvider(runtime("ollama", at))).toThrow(ProviderError);
    expect(() => createProvider(runtime("ollama", at))).not.toThrow("secret");
  });
});

test("a workflow runs against a server that speaks chat completions, and its tools in the sandbox", async () => {
  await using engine = await createEngine({ workers: 1, executor: "threads" });
  const registry = await ToolRegistry.discover({ engine, tools: SAMPLES });
  using folder = new Folder({ "flow.yaml": workflow(["http://localhost:11434", host]) });
  answer = (response, { messages }) => {
    const last = (messages as Body[]).at(-1);
    if (last?.["role"] === "tool") return say(response, { content: `It said ${String(last["content"])}` });
    const call = { id: "c1", type: "function", function: { name: "echo", arguments: '{"message":"Hello"}' } };
    return say(response, { content: "", tool_calls: [call] });
  };
  const spec = await load_spec(folder.at("flow.yaml"));
  const { last_response } = await run_chain(spec, {}, { registry, folder: folder.path });
  expect(last_response).toBe("It said Hello");
});
