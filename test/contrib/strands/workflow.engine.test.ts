import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  check_capability,
  getRegistry,
  load_spec,
  remediationReport,
  SpecError,
  ToolRegistry,
  type Workflow,
} from "../../../src/contrib/strands/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { type Change, Folder, SAMPLES, workflow } from "./folder.ts";

let engine: Engine;
let registry: ToolRegistry;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  registry = await ToolRegistry.discover({ engine, tools: SAMPLES });
});

afterAll(() => engine.close());

async function load(text: string): Promise<Workflow> {
  using folder = new Folder({ "flow.yaml": text });
  return await load_spec(folder.at("flow.yaml"));
}

/** What is wrong with a workflow: its error's message. */
async function problemOf(text: string): Promise<string> {
  const error: unknown = await load(text).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(SpecError);
  return error instanceof SpecError ? error.message : "";
}

async function check(...changes: readonly Change[]) {
  return check_capability(await load(workflow(...changes)), registry);
}

describe("a workflow's file", () => {
  test("is read with its version, its name and its description [D58 D59]", async () => {
    const spec = await load_spec(join(SAMPLES, "echo-demo.yaml"));
    expect(spec).toMatchObject({ version: 0, name: "echo-demo", description: "Test the echo native tool" });
  });

  test("says which model answers, and where it is [D60]", async () => {
    const runtime = { provider: "ollama", model_id: "llama3.2:3b", host: "http://localhost:11434" };
    expect((await load(workflow())).runtime).toEqual(runtime);
    const hosted = await load_spec(join(SAMPLES, "multi-tool-demo.yaml"));
    expect(hosted.runtime).toEqual({ provider: "openai", model_id: "gpt-4o-mini" });
  });

  test("has agents with prompts, by their ids [D61]", async () => {
    const { agents } = await load_spec(join(SAMPLES, "echo-demo.yaml"));
    expect(agents["assistant"]?.prompt).toMatch(/^You are a helpful assistant\./);
  });

  test("has a chain of steps, each for an agent [D62]", async () => {
    const steps = [{ agent: "assistant", input: "Test" }];
    expect((await load(workflow())).pattern).toEqual({ type: "chain", config: { steps } });
  });

  test("has artifacts, each with a path and a template [D64]", async () => {
    const artifacts = [{ path: "result.txt", from: "{{ last_response }}" }];
    expect((await load(workflow())).outputs).toEqual({ artifacts });
  });

  test("lists tools by name, which are callables after that [F7]", async () => {
    expect((await load(workflow())).tools).toEqual({ python: [{ callable: "echo" }] });
    expect((await load(workflow(["- echo", "- callable: echo"]))).tools).toEqual({ python: [{ callable: "echo" }] });
    expect((await load(workflow(["python:", "javascript:"]))).tools).toEqual({ javascript: [{ callable: "echo" }] });
  });

  test.each([
    ["no version", ["version: 0", ""], "/version is required"],
    ["a version that is a list", ["version: 0", "version: [0]"], "/version must be integer or string"],
    ["no name", ["name: echo-validation-test", ""], "/name is required"],
    ["a provider that is no text", ["provider: ollama", "provider: 5"], "/runtime/provider must be string"],
    [
      "a host that is no address",
      ["http://localhost:11434", "over there"],
      "/runtime/host must be string of format uri",
    ],
    ["an agent without a prompt", ['prompt: "Test assistant"', "role: x"], "/agents/assistant/prompt is required"],
    ["a step without an agent", ["agent: assistant", "vars: {}"], "/pattern/config/steps/0/agent is required"],
    ["another pattern", ["type: chain", "type: swarm"], "/pattern/type"],
    ["another pattern's config", ["type: chain", "type: parallel"], "/pattern/config/branches is required"],
    ["an artifact without a template", ['from: "{{ last_response }}"', ""], "/outputs/artifacts/0/from is required"],
    ["a field that there is not", ["name: echo", "colour: red\nname: echo"], "/colour is not allowed"],
    ["a tool that is a number", ["- echo", "- 5"], "/tools/python/0 must be string or object"],
  ] as const)("with %s is refused, and the place is named [D58]", async (_what, change, problem) => {
    const message = await problemOf(workflow(change));
    expect(message).toMatch(/^flow\.yaml: /);
    expect(message).toContain(problem);
  });

  test("that names an agent that there is not is refused [D63]", async () => {
    const message = await problemOf(workflow(["- agent: assistant", "- agent: nobody"]));
    expect(message).toContain('/pattern/config/steps/0/agent names the agent "nobody"; there are assistant');
    expect(await problemOf(workflow(["- agent: assistant", "- agent: toString"]))).toContain('"toString"');
  });

  test("with a template that cannot be read is refused before anything is run", async () => {
    const message = await problemOf(workflow(["{{ last_response }}", "{{ last_response "]));
    expect(message).toContain("/outputs/artifacts/0/from is no template: ");
    expect(await problemOf(workflow(['"Test"', "'{{ a | shout }}'"]))).toContain("undefined filter: shout");
  });

  test("that is no YAML is refused", async () => {
    expect(await problemOf("name: [")).toMatch(/^flow\.yaml: /);
    expect(await problemOf("name: a\nname: b")).toContain("unique");
  });

  test("whose aliases stand for a very large document is refused", async () => {
    const levels = Array.from(
      { length: 9 },
      (_none, n) => `a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`).join(", ")}]`,
    );
    expect(await problemOf(`a0: &a0 [x]\n${levels.join("\n")}`)).toContain("aliases");
  });

  test("that is nested very deeply is refused", async () => {
    expect(await problemOf("[".repeat(50_000))).toMatch(/^flow\.yaml: /);
  });

  test("that is too large, or is not there, is refused", async () => {
    expect(await problemOf(`# ${"x".repeat(300_000)}`)).toContain("more than 262144 bytes");
    await expect(load_spec("/no/such/flow.yaml")).rejects.toThrow("flow.yaml: there is no such file");
    await expect(load_spec(SAMPLES)).rejects.toThrow("there is no such file");
  });

  test("whose agents have names that objects have is read as any other", async () => {
    const spec = await load(workflow(["  assistant:", "  __proto__:"], ["- agent: assistant", "- agent: __proto__"]));
    expect(Object.keys(spec.agents)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(spec.agents)).toBeNull();
  });

  test("of whatever text is read or refused, and nothing else happens", async () => {
    const line = fc.constantFrom(...workflow().split("\n"), "- ", "a: &b", "c: *b", "!!js/function x", "? ", "}", "\t");
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 30 }), async (lines) => {
        await load(lines.join("\n")).catch((error: unknown) => expect(error).toBeInstanceOf(SpecError));
      }),
      { numRuns: 50 },
    );
  });
});

describe("the capability checker", () => {
  test("supports the document's workflow with its tool [D55]", async () => {
    const report = await check();
    expect(report.supported).toBe(true);
    expect(report.issues).toEqual([]);
  });

  test("takes a tool by its id [D50]", async () => {
    expect((await check(["- echo", "- calculator"])).normalized?.tools).toEqual(["calculator"]);
  });

  test("takes a tool by its full path [D51]", async () => {
    expect((await check(["- echo", "- strands_cli.tools.echo"])).normalized?.tools).toEqual(["echo"]);
  });

  test("takes both forms at once, and the same tool once [D52]", async () => {
    const { normalized } = await check([
      "- echo",
      "- echo\n    - strands_cli.tools.echo\n    - calculator\n    - echo",
    ]);
    expect(normalized?.tools).toEqual(["echo", "calculator"]);
  });

  test("tells a tool that is not in the allowlist, its place and what to do [D54]", async () => {
    const report = await check(["- echo", "- my_module.my_tool"]);
    expect(report.supported).toBe(false);
    expect(report.issues).toEqual([
      {
        pointer: "/tools/python/0/callable",
        reason: "Python callable 'my_module.my_tool' not in allowlist",
        remediation: "Use an existing native tool or add one under strands",
      },
    ]);
  });

  test("tells each tool that is not in the allowlist by its own index [D56]", async () => {
    const report = await check(["- echo", "- first\n    - echo\n    - third"]);
    expect(report.issues.map(({ pointer }) => pointer)).toEqual([
      "/tools/python/0/callable",
      "/tools/python/2/callable",
    ]);
    expect(report.issues.map(({ reason }) => reason)).toEqual([
      "Python callable 'first' not in allowlist",
      "Python callable 'third' not in allowlist",
    ]);
  });

  test("calls a JavaScript tool by its name", async () => {
    const { issues } = await check(["python:\n    - echo", "javascript:\n    - nobody"]);
    expect(issues).toMatchObject([
      { pointer: "/tools/javascript/0/callable", reason: "JavaScript callable 'nobody' not in allowlist" },
    ]);
  });

  test.each([
    ["no model", ["model_id: llama3.2:3b", ""], "/runtime/model_id", "No model is named"],
    [
      "a person's step",
      ['agent: assistant\n        input: "Test"', "type: hitl\n        prompt: Go on?"],
      "/pattern/config/steps/0",
      "Steps that",
    ],
    ["another provider", ["provider: ollama", "provider: bedrock"], "/runtime/provider", "Provider 'bedrock' is not"],
    ["tools of another kind", ["python:", "mcp:"], "/tools/mcp", "Tools of the kind 'mcp' are not supported"],
  ] as const)("does not support %s", async (_what, change, pointer, reason) => {
    const { issues, normalized } = await check(change);
    expect(issues).toMatchObject([{ pointer, reason: expect.stringContaining(reason) }]);
    expect(issues[0]?.remediation).not.toBe("");
    expect(normalized).toBeNull();
  });

  test.each([
    ["skills: [{ id: a, path: b }]", "/skills/0/path"],
    ["env: { secrets: [{ key: A, source: ssm }] }", "/env/secrets"],
    ["env: { mounts: { data: ./data } }", "/env/mounts"],
    ["context_policy: { retrieval: { jit_tools: [grep] } }", "/context_policy/retrieval/jit_tools/0"],
    ["security: { guardrails: { deny_network: true } }", "/security/guardrails/deny_network"],
    ["security: { guardrails: { allow_tools: [calculator] } }", "/security/guardrails/allow_tools"],
  ])("refuses %s", async (section, pointer) => {
    const { issues } = await check(["version: 0", `version: 0\n${section}`]);
    expect(issues.map((issue) => issue.pointer)).toEqual([pointer]);
  });

  test.each([
    "tags: [a, b]",
    "telemetry: { otel: { service_name: x } }",
    "env: { secrets: [{ key: A, source: env }] }",
    "context_policy: { compaction: { enabled: true }, retrieval: { jit_tools: [calculator] } }",
    "security: { guardrails: { deny_network: false, allow_tools: [echo] } }",
  ])("accepts %s", async (section) => {
    expect((await check(["version: 0", `version: 0\n${section}`])).issues).toEqual([]);
  });

  test("gives what will be run, and a fingerprint of what is written [D57]", async () => {
    const report = await check();
    expect(report.normalized).toMatchObject({ name: "echo-validation-test", tools: ["echo"] });
    expect(report.spec_fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect((await check()).spec_fingerprint).toBe(report.spec_fingerprint);
    expect((await check(["Test assistant", "Best assistant"])).spec_fingerprint).not.toBe(report.spec_fingerprint);
    const moved = workflow(
      ["version: 0\n", ""],
      ["  provider: ollama\n", ""],
      ["  host:", "  provider: ollama\n  host:"],
    );
    expect((await check_capability(await load(`${moved}\nversion: 0\n`), registry)).spec_fingerprint).toBe(
      report.spec_fingerprint,
    );
  });

  test("asks the process's registry where it is given none", async () => {
    await using own = await getRegistry({ engine, tools: join(SAMPLES, "calculator.js") });
    const { issues } = await check_capability(await load(workflow()));
    expect(issues).toMatchObject([{ pointer: "/tools/python/0/callable" }]);
    expect(own.get("echo")).toBeNull();
  });
});

describe("the remediation report", () => {
  test("is Markdown with each place, its problem and what to do [D74]", async () => {
    const report = await check(["- echo", "- nobody"], ["provider: ollama", "provider: bedrock"]);
    const text = remediationReport("flow", report);
    expect(text).toMatch(/^# Workflow flow\n\n2 features are not supported\.\n/);
    expect(text).toContain("## 1. `/runtime/provider`\n\n- **Problem:** Provider 'bedrock' is not supported\n");
    expect(text).toContain("- **What to do:** Use an existing native tool or add one under strands\n");
    expect(text).toContain(report.spec_fingerprint);
  });

  test("shows what a workflow says as text", () => {
    const issues = [{ pointer: "/a`b", reason: "**bold**\n# Title <script>", remediation: "[link](x)" }];
    const report = { supported: false, issues, normalized: null, spec_fingerprint: "0" };
    const text = remediationReport("a\n# b", report);
    expect(text).toContain(String.raw`\*\*bold\*\* \# Title \<script\>`);
    expect(text).toContain(String.raw`\[link\](x)`);
    expect(text).not.toMatch(/^# b/m);
  });
});
