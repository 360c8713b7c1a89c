import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  ArtifactError,
  check_capability,
  type ChainOptions,
  load_spec,
  ProviderError,
  run_chain,
  type ScriptedTurn,
  scriptedProvider,
  SpecError,
  TemplateError,
  ToolError,
  ToolRegistry,
  TurnLimitError,
  UnsupportedError,
} from "../../../src/contrib/strands/index.ts";
import { writeArtifact } from "../../../src/contrib/strands/artifacts.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { type Change, Folder, SAMPLES, workflow } from "./folder.ts";

let engine: Engine;
let registry: ToolRegistry;
let folder: Folder;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  registry = await ToolRegistry.discover({ engine, tools: SAMPLES });
});

afterAll(() => engine.close());

beforeEach(() => {
  folder = new Folder();
});

afterEach(() => folder[Symbol.dispose]());

interface Run extends ChainOptions {
  readonly changes?: readonly Change[];
  readonly variables?: Record<string, unknown>;
}

/** Runs the document's workflow against a model that answers with these turns. */
async function run(turns: readonly ScriptedTurn[], { changes = [], variables = {}, ...options }: Run = {}) {
  const spec = await load_spec(folder.write("flow.yaml", workflow(...changes)));
  const provider = scriptedProvider(turns);
  const result = await run_chain(spec, variables, { registry, provider, folder: folder.path, ...options });
  return { ...result, requests: provider.requests };
}

const written = (name = "result.txt") => readFileSync(folder.at(name), "utf8");
const echo = (message: unknown, id = "use-1") => ({ calls: [{ id, name: "echo", arguments: { message } }] });
const two: Change = [
  'input: "Test"',
  'input: "First"\n      - agent: assistant\n        input: "Then {{ last_response }}"',
];

describe("a chain", () => {
  test("ends with its last response [D68]", async () => {
    const result = await run(["All done."]);
    expect(result.last_response).toBe("All done.");
    expect(result.steps).toEqual([{ agent: "assistant", response: "All done.", turns: 1, calls: [] }]);
  });

  test("asks a model that is scripted, and nobody on the network [D71]", async () => {
    const { requests } = await run(["ok"]);
    expect(requests).toMatchObject([
      {
        messages: [
          { role: "system", text: "Test assistant" },
          { role: "user", text: "Test" },
        ],
        options: { model: "llama3.2:3b", tools: [{ name: "echo" }] },
      },
    ]);
  });

  test("runs its steps in their order, and each may use the response before it [D69]", async () => {
    const { requests, steps } = await run(["one", "two"], { changes: [two] });
    expect(steps.map(({ response }) => response)).toEqual(["one", "two"]);
    expect(requests.map(({ messages }) => messages.at(-1))).toEqual([
      { role: "user", text: "First" },
      { role: "user", text: "Then one" },
    ]);
  });

  test("fills in variables, and the responses of all steps", async () => {
    const { requests } = await run(["one", "two"], {
      changes: [two, ["Then {{ last_response }}", "{{ topic }}: {{ steps[0].response | upcase }}"]],
      variables: { topic: "numbers", last_response: "mine" },
    });
    expect(requests[1]?.messages.at(-1)).toEqual({ role: "user", text: "numbers: ONE" });
  });

  test("makes the calls that the model asks for, in the sandbox, and tells it what they answered", async () => {
    const { last_response, steps, requests } = await run([
      echo("Test message"),
      (messages) => {
        const last = messages.at(-1);
        return last?.role === "tool" ? `The tool said: ${String(last.result.output)}` : "nothing";
      },
    ]);
    expect(last_response).toBe("The tool said: Test message");
    expect(steps).toMatchObject([{ turns: 2, calls: [{ name: "echo", success: true }] }]);
    expect(requests[1]?.messages.slice(2)).toMatchObject([
      { role: "assistant", calls: [{ id: "use-1", name: "echo" }] },
      { role: "tool", call: { id: "use-1" }, result: { success: true, metadata: { callId: "use-1" } } },
    ]);
  });

  test("answers every call of a turn, whatever becomes of it", async () => {
    const calls = [
      { id: "a", name: "echo", arguments: { message: "hi" } },
      { id: "b", name: "echo", arguments: { message: "" } },
      { id: "c", name: "echo", arguments: {} },
      { id: "d", name: "calculator", arguments: {} },
      { id: "e", name: "rm_rf", arguments: {} },
      { id: "f", name: "echo", arguments: {}, problem: "the arguments are not a JSON object" },
    ];
    const { requests, last_response } = await run([{ calls }, "done"]);
    const answers = requests[1]?.messages.flatMap((message) => (message.role === "tool" ? [message] : []));
    expect(answers?.map(({ call, result }) => [call.id, result.error?.message ?? result.output])).toEqual([
      ["a", "hi"],
      ["b", "No message provided"],
      ["c", expect.stringContaining("/message is required")],
      ["d", "tool 'calculator' is not one of this workflow's: echo"],
      ["e", "tool 'rm_rf' is not one of this workflow's: echo"],
      ["f", "the arguments are not a JSON object"],
    ]);
    expect(last_response).toBe("done");
  });

  test("answers no more than 32 calls of a turn with their tools", async () => {
    const calls = Array.from({ length: 34 }, (_none, n) => ({ id: `${n}`, name: "echo", arguments: { message: "x" } }));
    const { requests, steps } = await run([{ calls }, "done"]);
    expect(requests[1]?.messages.filter(({ role }) => role === "tool")).toHaveLength(34);
    expect(steps[0]?.calls.filter(({ success }) => success)).toHaveLength(32);
  });

  test("ends where an agent only ever asks for more calls", async () => {
    const running = run(
      Array.from({ length: 5 }, () => echo("again")),
      { maxTurns: 3 },
    );
    await expect(running).rejects.toThrow(TurnLimitError);
    await expect(running).rejects.toThrow("no answer after 3 turns");
    expect(existsSync(folder.at("result.txt"))).toBe(false);
  });

  test("ends where its tools answer more than a model can be told", async () => {
    const large = {
      calls: Array.from({ length: 20 }, () => ({ name: "echo", arguments: { message: "x".repeat(9e5) } })),
    };
    await using whole = await createEngine({ workers: 1, executor: "threads", modelChars: Infinity });
    const uncut = await ToolRegistry.discover({ engine: whole, tools: SAMPLES });
    const running = run([large, large, "never"], { registry: uncut });
    await expect(running).rejects.toThrow(TurnLimitError);
    await expect(running).rejects.toThrow("more than a model can be told");
  });

  test("ends with the model's error where it has one", async () => {
    await expect(run([])).rejects.toThrow(ProviderError);
  });

  test("ends when it is told to", async () => {
    const stop = new AbortController();
    const turn = (): ScriptedTurn => {
      stop.abort(new Error("enough"));
      return echo("x");
    };
    await expect(run([turn, "never"], { signal: stop.signal })).rejects.toThrow("enough");
  });

  test("writes nothing where it is told to end while the model gives its last answer", async () => {
    const stop = new AbortController();
    const turn = (): ScriptedTurn => {
      stop.abort(new Error("enough"));
      return "the answer";
    };
    await expect(run([turn], { signal: stop.signal })).rejects.toThrow("enough");
    expect(existsSync(folder.at("result.txt"))).toBe(false);
  });

  test("refuses a tool outside of the allowlist, though nobody has checked the workflow [D70]", async () => {
    const provider = scriptedProvider(["never"]);
    const running = run([], { changes: [["- echo", "- os.system"]], provider });
    await expect(running).rejects.toThrow(ToolError);
    await expect(running).rejects.toThrow("tool 'os.system' is not in the allowlist");
    expect(provider.requests).toEqual([]);
  });

  test("gives its agents each tool once, by whatever name it is listed [D52]", async () => {
    const list: Change = ["- echo", "- strands_cli.tools.echo\n    - echo\n  javascript:\n    - calculator"];
    const { requests } = await run(["ok"], { changes: [list] });
    expect(requests[0]?.options.tools.map(({ name }) => name)).toEqual(["echo", "calculator"]);
  });

  test("of another pattern is refused", async () => {
    const spec = await load_spec(folder.write("flow.yaml", workflow()));
    const pattern = { type: "graph", config: { nodes: {}, edges: [] } } as const;
    await expect(run_chain({ ...spec, pattern }, {}, { registry })).rejects.toThrow(UnsupportedError);
  });

  test("that was not read by load_spec is refused where it names no agent", async () => {
    const spec = await load_spec(folder.write("flow.yaml", workflow()));
    const broken = { ...spec, agents: {} };
    await expect(run_chain(broken, {}, { registry, provider: scriptedProvider([]) })).rejects.toThrow(SpecError);
  });
});

describe("a template", () => {
  const from = (template: string): Change => ['"{{ last_response }}"', JSON.stringify(template)];

  test("renders the last response into an artifact [D65]", async () => {
    const { artifacts } = await run(["All done."], { changes: [from("Answer: {{ last_response }}\n")] });
    expect(artifacts).toEqual(["result.txt"]);
    expect(written()).toBe("Answer: All done.\n");
  });

  test("takes what the model says for text", async () => {
    await run(["{{ steps }}{% include 'x' %}<b>"]);
    expect(written()).toBe("{{ steps }}{% include 'x' %}<b>");
  });

  test.each([
    ["a name that is not there", "{{ nobody }}", "undefined variable: nobody"],
    ["a property that everything has", "{{ last_response.constructor }}", "undefined variable"],
    ["a file", "{% include '/etc/hostname' %}", "hostname"],
    ["a file in another way", "{% render '/etc/hostname' %}", "hostname"],
    ["a layout of a file", "{% layout '/etc/hostname' %}", "hostname"],
    ["more than there is memory for", "{% for i in (1..1000000000) %}x{% endfor %}", "memory alloc limit"],
  ])("that asks for %s fails, and the place is named", async (_what, template, problem) => {
    const running = run(["ok"], { changes: [from(template)] });
    await expect(running).rejects.toThrow(TemplateError);
    await expect(running).rejects.toThrow(/^\/outputs\/artifacts\/0\/from cannot be filled in: /);
    await expect(run(["ok"], { changes: [from(template)] })).rejects.toThrow(problem);
    expect(existsSync(folder.at("result.txt"))).toBe(false);
  });

  test("cannot use the last response before there is one", async () => {
    await expect(run([], { changes: [['"Test"', '"{{ last_response }}"']] })).rejects.toThrow(
      "/pattern/config/steps/0/input cannot be filled in: undefined variable: last_response",
    );
  });
});

describe("an artifact", () => {
  const at = (path: string): Change => ["path: result.txt", `path: ${JSON.stringify(path)}`];

  test("is written at its path, whose folders are made [D66]", async () => {
    await run(["done"], { changes: [at("./out/deep/result.txt")] });
    expect(written("out/deep/result.txt")).toBe("done");
    expect(readdirSync(folder.at("out/deep"))).toEqual(["result.txt"]);
  });

  test("does not replace a file, and the model is not even asked [D66]", async () => {
    folder.write("result.txt", "mine");
    const provider = scriptedProvider(["done"]);
    const running = run([], { provider });
    await expect(running).rejects.toThrow(ArtifactError);
    await expect(running).rejects.toThrow("artifact result.txt: it exists already; use --force to overwrite it");
    expect(written()).toBe("mine");
    expect(provider.requests).toEqual([]);
  });

  test("does not replace a file that appears while the chain runs", async () => {
    const turn = () => {
      folder.write("result.txt", "mine");
      return "done";
    };
    await expect(run([turn])).rejects.toThrow("it exists already");
    expect(written()).toBe("mine");
    expect(readdirSync(folder.path).sort()).toEqual(["flow.yaml", "result.txt"]);
  });

  test("is written once where several are written there at once", async () => {
    const writing = Array.from({ length: 20 }, (_none, n) => {
      return writeArtifact("result.txt", `${n}`, { folder: folder.path, force: false });
    });
    const ended = await Promise.allSettled(writing);
    expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(written()).toBe(`${ended.findIndex(({ status }) => status === "fulfilled")}`);
    expect(readdirSync(folder.path)).toEqual(["result.txt"]);
  });

  test("replaces a file where that is asked for [D66]", async () => {
    folder.write("result.txt", "a text that is longer than the new one");
    await run(["done"], { force: true });
    expect(written()).toBe("done");
  });

  test.each(["../out.txt", "/tmp/out.txt", "a/../../out.txt", "..", ".", "out/", ""])(
    "at %j is refused",
    async (path) => {
      const error: unknown = await run(["done"], { changes: [at(path)] }).catch((caught: unknown) => caught);
      expect(path === "" ? SpecError : ArtifactError).toBe(error?.constructor);
      expect(readdirSync(folder.path)).toEqual(["flow.yaml"]);
    },
  );

  test("behind a link out of the folder is refused, and one within it is not", async () => {
    using outside = new Folder();
    symlinkSync(outside.path, folder.at("away"));
    await expect(run(["done"], { changes: [at("away/result.txt")] })).rejects.toThrow("leads out");
    await expect(run(["done"], { changes: [at("away/deep/result.txt")] })).rejects.toThrow("leads out");
    expect(readdirSync(outside.path)).toEqual([]);
    folder.write("real/keep.txt", "");
    symlinkSync(folder.at("real"), folder.at("near"));
    await run(["done"], { changes: [at("near/result.txt")] });
    expect(written("real/result.txt")).toBe("done");
  });

  test("replaces a link, and not what it leads to", async () => {
    using outside = new Folder({ "theirs.txt": "theirs" });
    symlinkSync(outside.at("theirs.txt"), folder.at("result.txt"));
    await expect(run(["done"])).rejects.toThrow("it exists already");
    await run(["done"], { force: true });
    expect(written()).toBe("done");
    expect(readFileSync(outside.at("theirs.txt"), "utf8")).toBe("theirs");
  });

  test("does not replace a folder, though that is asked for", async () => {
    folder.write("result.txt/keep.txt", "");
    await expect(run(["done"], { force: true })).rejects.toThrow("there is a folder of that name");
  });

  test("in a folder that is invalid is refused", async () => {
    folder.write("file", "");
    symlinkSync(folder.at("nowhere"), folder.at("link"));
    await expect(run(["done"], { changes: [at("link/result.txt")] })).rejects.toThrow(
      "a folder on its path is not a folder",
    );
    await expect(run(["done"], { changes: [at("file/result.txt")] })).rejects.toThrow(
      "a folder on its path is not a folder",
    );
    expect(readdirSync(folder.path).sort()).toEqual(["file", "flow.yaml", "link"]);
  });
});

test(
  "the document's workflow of several tools runs with the engine's own, whose code runs in the sandbox",
  { timeout: 90_000 },
  async () => {
    const own = await ToolRegistry.discover({ engine });
    const spec = await load_spec(`${SAMPLES}/multi-tool-demo.yaml`);
    expect(await check_capability(spec, own)).toMatchObject({ supported: true, issues: [] });
    const code = "let n = 1; for (let i = 2; i <= 5; i++) n *= i; print(n);";
    const provider = scriptedProvider([
      { calls: [{ name: "echo", arguments: { message: "Starting workflow" } }] },
      { calls: [{ name: "js_exec", arguments: { code } }] },
      (messages) => {
        const outputs = messages.flatMap((message) => (message.role === "tool" ? [String(message.result.output)] : []));
        return outputs.map((output) => output.trim()).join(", ");
      },
    ]);
    const { last_response } = await run_chain(spec, {}, { registry: own, provider, folder: folder.path });
    expect(last_response).toBe("Starting workflow, 120");
  },
);
