import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BudgetError,
  check_capability,
  InputError,
  load_spec,
  type ModelMessage,
  PatternError,
  run_workflow,
  type ScriptedTurn,
  scriptedProvider,
  SpecError,
  ToolRegistry,
  type Workflow,
} from "../../../src/contrib/strands/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { Folder, SAMPLES } from "./folder.ts";

let engine: Engine;
let registry: ToolRegistry;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  registry = await ToolRegistry.discover({ engine, tools: SAMPLES });
});

afterAll(() => engine.close());

const sample = (name: string) => load_spec(`${SAMPLES}/patterns/${name}.yaml`);

async function load(text: string): Promise<Workflow> {
  using folder = new Folder({ "flow.yaml": text });
  return await load_spec(folder.at("flow.yaml"));
}

/** A workflow of two agents, with a pattern and more sections. */
const flow = (pattern: string, more = "") => `
version: 0
name: flow
runtime: { provider: ollama, model_id: small }
agents: { a: { prompt: A }, b: { prompt: B } }
pattern: ${pattern}
${more}`;

/** Runs a workflow against a model that answers with these turns. */
async function run(spec: Workflow, turns: readonly ScriptedTurn[], variables: Record<string, unknown> = {}) {
  using folder = new Folder();
  const provider = scriptedProvider(turns);
  const result = await run_workflow(spec, variables, { registry, provider, folder: folder.path });
  const files = Object.fromEntries(result.artifacts.map((path) => [path, readFileSync(folder.at(path), "utf8")]));
  return {
    ...result,
    files,
    asked: provider.requests.map(({ messages }) => inputOf(messages)),
    requests: provider.requests,
  };
}

function inputOf(messages: readonly ModelMessage[]): string {
  const message = messages.find(({ role }) => role === "user");
  return message?.role === "user" ? message.text : "";
}

/** An agent that answers by what it is asked: branches and workers have no order. */
const byInput = (count: number, answer: (input: string) => string): ScriptedTurn[] =>
  Array.from({ length: count }, () => (messages: readonly ModelMessage[]) => answer(inputOf(messages)));

test.each(["routing", "parallel", "workflow", "evaluator-optimizer", "orchestrator-workers", "graph"])(
  "the sample of %s can run",
  async (name) => {
    const { issues } = await check_capability(await sample(name), registry);
    expect(issues).toEqual([]);
  },
);

describe("routing", () => {
  test("runs the chain that the router names, and its templates see the choice", async () => {
    const { asked, last_response, files } = await run(
      await sample("routing"),
      ['Sure: ```json\n{"route": "faq"}\n```', "Press the button."],
      { question: "How?" },
    );
    expect(asked[0]).toMatch(/^Question: How\?\n\nAnswer with JSON/);
    expect(asked[1]).toBe("How? (faq)");
    expect(last_response).toBe("Press the button.");
    expect(files).toEqual({ "answer-faq.md": "faq: Press the button." });
  });

  test("asks again where the answer is no choice, as often as it may", async () => {
    const spec = await sample("routing");
    const { asked } = await run(spec, ["faq", '{"route": "faq"}', "Done."], { question: "?" });
    expect(asked[1]).toContain("named no route");
    await expect(run(spec, ["a", "b", "c"], { question: "?" })).rejects.toThrow(/gave no route in 2 answers/);
  });

  test("refuses a route that there is not, also one that objects have", async () => {
    const spec = await sample("routing");
    await expect(run(spec, ['{"route": "toString"}'], { question: "?" })).rejects.toThrow(PatternError);
  });
});

describe("parallel", () => {
  test("runs branches, whose steps see only their own, and reduces their responses", async () => {
    const { last_response, asked, values } = await run(
      await sample("parallel"),
      byInput(4, (input) => `<${input}>`),
      { topic: "tea" },
    );
    expect(last_response).toBe("<facts: <check <find tea>> risks: <risk of tea>>");
    expect(asked.toSorted()).toEqual([
      "check <find tea>",
      "facts: <check <find tea>> risks: <risk of tea>",
      "find tea",
      "risk of tea",
    ]);
    expect(values["branches"]).toMatchObject({ facts: { response: "<check <find tea>>" } });
  });

  test("runs no more agents at once than max_parallel", async () => {
    const branches = [1, 2, 3].map((id) => `{ id: b${id}, steps: [{ agent: a, input: "${id}" }] }`).join(", ");
    const text = flow(`{ type: parallel, config: { branches: [${branches}] } }`).replace(
      "small }",
      "small, max_parallel: 1 }",
    );
    let running = 0;
    let most = 0;
    const generate = async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      return { text: "ok", calls: [] };
    };
    const { steps } = await run_workflow(await load(text), {}, { registry, provider: { generate } });
    expect(steps).toHaveLength(3);
    expect(most).toBe(1);
  });

  test("fails with the first branch that fails, and starts no other step", async () => {
    const steps = "[{ agent: a, input: x }, { agent: b, input: y }]";
    const spec = await load(
      flow(`{ type: parallel, config: { branches: [{ id: b1, steps: ${steps} }, { id: b2, steps: ${steps} }] } }`),
    );
    let asked = 0;
    const generate = async () => {
      if (++asked === 1) throw new PatternError("broken");
      await new Promise(setImmediate);
      return { text: "ok", calls: [] };
    };
    await expect(run_workflow(spec, {}, { registry, provider: { generate } })).rejects.toThrow("broken");
    expect(asked).toBe(2);
  });
});

describe("a workflow of tasks", () => {
  test("runs each task after those that it depends on", async () => {
    const { asked, last_response } = await run(
      await sample("workflow"),
      byInput(3, (input) => `<${input}>`),
      { topic: "tea" },
    );
    expect(asked[2]).toBe("join <history of tea> and <price of tea>");
    expect(last_response).toBe(`<${asked[2]}>`);
  });

  test("that waits for itself is refused with the path", async () => {
    const task = (id: string, dep: string) => `{ id: ${id}, agent: a, deps: [${dep}] }`;
    const text = flow(
      `{ type: workflow, config: { tasks: [${task("x", "y")}, ${task("y", "z")}, ${task("z", "x")}] } }`,
    );
    await expect(load(text)).rejects.toThrow("waits for itself: x → y → z → x");
    await expect(load(text)).rejects.toThrow(SpecError);
  });

  test("with a dependency that there is not, or an id given twice, is refused", async () => {
    const text = flow("{ type: workflow, config: { tasks: [{ id: x, agent: a, deps: [q] }, { id: x, agent: a }] } }");
    await expect(load(text)).rejects.toThrow(/tasks\/1\/id is given twice: "x"; .*names the task "q"/);
  });
});

describe("evaluator-optimizer", () => {
  test("revises the draft until the score suffices", async () => {
    const { asked, last_response, files, requests } = await run(
      await sample("evaluator-optimizer"),
      ["one", '{"score": 40, "issues": ["dull"]}', "two", 'So: {"score": 90}'],
      { topic: "tea" },
    );
    expect(asked).toEqual(["Write about tea.", "Draft 1: one", "40 dull: one", "Draft 2: two"]);
    expect(requests[0]?.messages[0]).toMatchObject({ role: "system", text: "Write about {{ topic }}." });
    expect(last_response).toBe("two");
    expect(files).toEqual({ "draft.md": "two (90 in 2)" });
  });

  test("fails where no draft suffices, or the evaluator gives no score", async () => {
    const spec = await sample("evaluator-optimizer");
    const low = '{"score": 1}';
    await expect(run(spec, ["a", low, "b", low], { topic: "x" })).rejects.toThrow("no draft had 80 points after 2");
    const odd = ["good", '{"score": "90"}', '{"score": 101}'];
    await expect(run(spec, ["a", ...odd], { topic: "x" })).rejects.toThrow("gave no score in 3 answers");
  });
});

describe("orchestrator-workers", () => {
  test("gives each task to a worker, and reduces and writes up what they answer", async () => {
    const { asked, last_response, files } = await run(
      await sample("orchestrator-workers"),
      ['[{"task": "find"}, "check"]', ...byInput(2, (input) => `<${input}>`), "reduced", "written"],
      { topic: "tea" },
    );
    expect(asked[0]).toContain('"topic":"tea"');
    expect(asked[3]).toBe("1. find: <find> 2. check: <check> ");
    expect(asked[4]).toBe("Write up: reduced");
    expect(last_response).toBe("written");
    expect(files).toEqual({ "report.md": "2 workers: written" });
  });

  test("without workers has no more to do, and another answer than a list is asked for again", async () => {
    const spec = await load(
      flow("{ type: orchestrator_workers, config: { orchestrator: { agent: a }, worker_template: { agent: b } } }"),
    );
    expect(await run(spec, ["Nothing.", "[]"])).toMatchObject({ last_response: "", values: { num_workers: 0 } });
    await expect(run(spec, ["x", "y", "z"])).rejects.toThrow("gave no list of tasks in 3 answers");
    const many = JSON.stringify(Array(101).fill("x"));
    await expect(run(spec, [many])).rejects.toThrow("more than 100 tasks");
  });
});

describe("a graph", () => {
  test("goes where the conditions lead, and back", async () => {
    const { values, last_response, files } = await run(
      await sample("graph"),
      ["draft", "Revise it.", "draft 2", "I APPROVE.", "final"],
      { topic: "tea" },
    );
    expect(values["execution_path"]).toEqual(["write", "review", "write", "review", "finish"]);
    expect(last_response).toBe("final");
    expect(files).toEqual({ "path.md": "write 2, review 2, finish 1, at finish" });
  });

  test("that comes back too often ends", async () => {
    const turns = Array.from({ length: 7 }, () => "no");
    await expect(run(await sample("graph"), turns, { topic: "x" })).rejects.toThrow(
      "more than max_iterations, 3 times",
    );
  });

  test("with a node that there is not, or a condition that cannot be read, is refused", async () => {
    const graph = (when: string, to: string) =>
      flow(
        `{ type: graph, config: { nodes: { n: { agent: a } }, edges: [{ from: n, choose: [{ when: "${when}", to: ${to} }] }] } }`,
      );
    await expect(load(graph("else", "q"))).rejects.toThrow('/pattern/config/edges/0/choose/0/to names the node "q"');
    await expect(load(graph("process.exit(1)", "n"))).rejects.toThrow("is no condition: undefined method: exit");
    await expect(load(graph("a ==", "n"))).rejects.toThrow("is no condition: unexpected its end");
  });

  test("has nodes of any name, also of those that objects have", async () => {
    const spec = await load(
      flow(
        "{ type: graph, config: { max_iterations: 2, nodes: { __proto__: { agent: a } }, edges: [{ from: __proto__, to: [__proto__] }] } }",
      ),
    );
    await expect(run(spec, ["1", "2", "3"])).rejects.toThrow("more than max_iterations, 2 times");
  });
});

describe("a run", () => {
  const chain = '{ type: chain, config: { steps: [{ agent: a, input: "{{ n }} {{ t }}" }, { agent: b }] } }';

  test("takes inputs of the declared types, and defaults", async () => {
    const inputs = "inputs: { required: { n: integer }, optional: { t: { type: array, default: [1, 2] } } }";
    const { asked } = await run(await load(flow(chain, inputs)), ["x", "y"], { n: "7" });
    expect(asked[0]).toBe("7 12");
    const long = "1915883588174806058";
    const exact = await run(await load(flow(chain, inputs)), ["x", "y"], { n: long, t: `[${long}]` });
    expect(exact.asked[0]).toBe(`${long} ${long}`);
  });

  test("does not start without its inputs, or with others", async () => {
    const spec = await load(flow(chain, "inputs: { required: { n: integer, t: { type: string, enum: [x] } } }"));
    await expect(run(spec, [], { n: "7.5" })).rejects.toThrow(InputError);
    await expect(run(spec, [], { n: "7.5" })).rejects.toThrow(
      'the input "n" must be of the type integer; the input "t" is required: --var t=…',
    );
    await expect(run(spec, [], { n: 1, t: "z" })).rejects.toThrow('must be one of ["x"]');
  });

  test("asks each agent's model with its parameters", async () => {
    const text = flow(chain, "inputs: { values: { n: 1, t: 2 } }")
      .replace("small }", "small, temperature: 0.5, top_p: 0.9 }")
      .replace("b: { prompt: B }", "b: { prompt: B, model_id: large, inference: { temperature: 0, max_tokens: 9 } }");
    const { requests } = await run(await load(text), ["x", "y"]);
    expect(requests.map(({ options: { model, inference } }) => ({ model, inference }))).toEqual([
      { model: "small", inference: { temperature: 0.5, top_p: 0.9 } },
      { model: "large", inference: { temperature: 0, top_p: 0.9, max_tokens: 9 } },
    ]);
  });

  test("shows an agent only the tools that it names", async () => {
    const tools = "tools: { python: [echo, calculator] }\ninputs: { values: { n: 1, t: 2 } }";
    const text = flow(chain, tools).replace("b: { prompt: B }", "b: { prompt: B, tools: [echo] }");
    const { requests } = await run(await load(text), ["x", "y"]);
    const names = requests.map(({ options }) => options.tools.map(({ name }) => name));
    expect(names).toEqual([["echo", "calculator"], ["echo"]]);
  });

  test.each([
    ["max_steps: 1", ["x", "y"]],
    ["max_tokens: 10", [{ text: "x", calls: [], tokens: 10 }, "y"]],
  ])("ends when it has used its budget, %s", async (budget, turns) => {
    const text = flow(chain, "inputs: { values: { n: 1, t: 2 } }").replace(
      "small }",
      `small, budgets: { ${budget} } }`,
    );
    await expect(run(await load(text), turns)).rejects.toThrow(BudgetError);
  });

  test("ends when its time is over", async () => {
    const text = flow(chain, "inputs: { values: { n: 1, t: 2 } }").replace(
      "small }",
      "small, budgets: { max_duration_s: 1 } }",
    );
    const provider = {
      generate: async (_messages: unknown, { signal }: { readonly signal?: AbortSignal | undefined }) => {
        await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
        return { text: "", calls: [] };
      },
    };
    await expect(run_workflow(await load(text), {}, { registry, provider })).rejects.toThrow(
      "longer than max_duration_s, 1",
    );
  });
});

test("a workflow of tasks runs its tools for a model behind HTTP", async () => {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      bodies.push(Buffer.concat(parts).toString());
      const called = { id: "c1", type: "function", function: { name: "echo", arguments: '{"message":"tea"}' } };
      const message =
        bodies.length === 1 ? { content: null, tool_calls: [called] } : { content: `answer ${bodies.length}` };
      if (bodies.length === 2) response.statusCode = 503;
      response.end(JSON.stringify({ choices: [{ message }], usage: { total_tokens: 5 } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const tasks =
      '[{ id: x, agent: a, input: echo }, { id: y, agent: b, deps: [x], input: "after {{ tasks.x.response }}" }]';
    const text = flow(`{ type: workflow, config: { tasks: ${tasks} } }`, "tools: { python: [echo] }").replace(
      "small }",
      `small, host: "http://127.0.0.1:${port}", temperature: 0, failure_policy: { retries: 1, wait_min: 0, wait_max: 0 } }`,
    );
    const { last_response, steps } = await run_workflow(await load(text), {}, { registry });
    expect(last_response).toBe("answer 4");
    expect(steps[0]?.calls).toEqual([{ name: "echo", success: true }]);
    expect(JSON.parse(bodies[2] ?? "")).toMatchObject({
      temperature: 0,
      messages: [{}, {}, {}, { role: "tool", content: "tea" }],
    });
    expect(JSON.parse(bodies[3] ?? "")).toMatchObject({ messages: [{ content: "B" }, { content: "after answer 3" }] });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

describe("notes", () => {
  const spec = (more = "") =>
    load(
      flow(
        '{ type: chain, config: { steps: [{ agent: a, input: "one\\n## two" }, { agent: b }, { agent: a }] } }',
        `context_policy: { notes: { file: notes/run.md, include_last: 2${more} } }`,
      ),
    );
  const promptsOf = (provider: ReturnType<typeof scriptedProvider>) =>
    provider.requests.map(({ messages: [first] }) => (first?.role === "system" ? first.text : ""));

  test("are what agents are told of the last steps, in a file that later runs go on with", async () => {
    using folder = new Folder();
    const workflow = await spec();
    expect((await check_capability(workflow, registry)).issues).toEqual([]);
    const provider = scriptedProvider(["first", "second", "third"]);
    await run_workflow(workflow, {}, { registry, provider, folder: folder.path });
    const [none = "", one = "", two = ""] = promptsOf(provider);
    expect(none).toBe("A");
    expect(one).toMatch(
      /^B\n\n# Previous Workflow Steps\n## \[[\dTZ:-]+\] — Agent: a \(Step 1\)\n- \*\*Input\*\*: one ## two\n- \*\*Tools used\*\*: None\n- \*\*Outcome\*\*: first$/,
    );
    expect(two).toContain("**Outcome**: second");
    const later = scriptedProvider(["fourth"]);
    await expect(run_workflow(workflow, {}, { registry, provider: later, folder: folder.path })).rejects.toThrow();
    expect(promptsOf(later)[0]).toContain("third");
    expect(promptsOf(later)[0]).not.toContain("first");
    const written = readFileSync(folder.at("notes/run.md"), "utf8");
    expect(written.match(/Outcome.*/g)).toEqual(
      ["first", "second", "third", "fourth"].map((one) => `Outcome**: ${one}`),
    );
  });

  test("may be lines of JSON", async () => {
    using folder = new Folder();
    const provider = scriptedProvider(["first", "second", "third"]);
    await run_workflow(await spec(", format: json"), {}, { registry, provider, folder: folder.path });
    const lines = readFileSync(folder.at("notes/run.md"), "utf8")
      .split("\n")
      .filter((line) => line !== "");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { agent: "a", step: 1, input: "one\n## two", tools_used: [], outcome: "first" },
      { agent: "b", step: 2 },
      { agent: "a", step: 3 },
    ]);
  });

  test("outside of the folder are refused before a model is asked", async () => {
    using folder = new Folder();
    const provider = scriptedProvider(["first"]);
    const workflow = await load(
      flow("{ type: chain, config: { steps: [{ agent: a }] } }", "context_policy: { notes: { file: ../notes.md } }"),
    );
    const running = run_workflow(workflow, {}, { registry, provider, folder: folder.path });
    await expect(running).rejects.toThrow("its path leads out of the folder");
    expect(provider.requests).toEqual([]);
  });
});

describe("skills", () => {
  const listed = "skills: [{ id: cooking, path: ./skills/cooking, description: Cooks }, { id: out, path: ../out }]";

  test("are told to agents by their names, and loaded by a tool when they are asked for", async () => {
    using folder = new Folder({
      "flow.yaml": flow(
        "{ type: chain, config: { steps: [{ agent: a }] } }",
        listed.replace(", { id: out, path: ../out }", ""),
      ),
      "skills/cooking/SKILL.md": "Heat it.",
      "skills/cooking/soups.md": "Add water.",
    });
    const spec = await load_spec(folder.at("flow.yaml"));
    expect((await check_capability(spec, registry)).issues).toEqual([]);
    const load = (skill_id: string) => ({ name: "Skill", arguments: { skill_id } });
    const calls = ["cooking", "cooking/soups", "cooking/../secret", "other"].map(load);
    const provider = scriptedProvider([{ calls }, "done"]);
    const { last_response } = await run_workflow(spec, {}, { registry, provider, folder: folder.path });
    expect(last_response).toBe("done");
    const [first, second] = provider.requests;
    expect(first?.messages[0]).toMatchObject({ text: expect.stringContaining("- **cooking**: Cooks") as string });
    const results = second?.messages.flatMap((message) => (message.role === "tool" ? [message.result] : []));
    expect(results?.map(({ output, error }) => output ?? error?.message)).toEqual([
      "Heat it.",
      "Add water.",
      "the skill cooking has no such part; it has soups",
      "there is no such skill; there are cooking",
    ]);
  });

  test("outside of the workflow's folder, or without instructions, are refused", async () => {
    using outer = new Folder({
      "inner/flow.yaml": flow("{ type: chain, config: { steps: [{ agent: a }] } }", listed),
      "out/SKILL.md": "Secret.",
    });
    const { issues } = await check_capability(await load_spec(outer.at("inner/flow.yaml")), registry);
    expect(issues.map(({ pointer }) => pointer)).toEqual(["/skills/0/path", "/skills/1/path"]);
  });
});
