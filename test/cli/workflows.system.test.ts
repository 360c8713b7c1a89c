import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Change, Folder, SAMPLES, workflow } from "../contrib/strands/folder.ts";
import { type Ended, glovebox as run } from "./command.ts";

const TOOLS = ["--tools", SAMPLES];

type Body = { readonly messages: readonly { readonly role: string; readonly content: string }[] };

let server: Server;
let host: string;
let folder: Folder;

/** A model that calls echo with what it is asked, and says what it was answered. */
beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((sent) => {
      const last = (JSON.parse(sent) as Body).messages.at(-1);
      const use = { name: "echo", arguments: JSON.stringify({ message: last?.content }) };
      const message =
        last?.role === "tool"
          ? { content: `It said: ${last.content}` }
          : { tool_calls: [{ id: "c1", type: "function", function: use }] };
      response.end(JSON.stringify({ choices: [{ message }] }));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

beforeEach(() => {
  folder = new Folder();
});

afterEach(() => folder[Symbol.dispose]());

/** Runs the command in the test's folder. */
const glovebox = (...args: readonly string[]): Promise<Ended> =>
  run(folder.path, args, { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined });

/** Writes the document's workflow, whose model is the test's. */
function write(...changes: readonly Change[]): void {
  folder.write("flow.yaml", workflow(["http://localhost:11434", host], ...changes));
}

describe("glovebox run FILE.yaml", () => {
  test("runs a workflow, prints its last response and writes its artifacts [D73]", async () => {
    write();
    const { code, stdout, stderr } = await glovebox("run", "flow.yaml", ...TOOLS);
    expect([code, stdout]).toEqual([0, "It said: Test\n"]);
    expect(stderr).toBe("glovebox: wrote result.txt\n");
    expect(readFileSync(folder.at("result.txt"), "utf8")).toBe("It said: Test");
  });

  test("overwrites a file with --force, and without it does not, and ends with 12 [D67 D73]", async () => {
    write();
    folder.write("result.txt", "mine");
    const refused = await glovebox("run", "flow.yaml", ...TOOLS);
    expect([refused.code, refused.stdout]).toEqual([12, ""]);
    expect(refused.stderr).toContain("artifact result.txt: it exists already; use --force to overwrite it");
    expect(readFileSync(folder.at("result.txt"), "utf8")).toBe("mine");
    expect((await glovebox("run", "flow.yaml", "--force", ...TOOLS)).code).toBe(0);
    expect(readFileSync(folder.at("result.txt"), "utf8")).toBe("It said: Test");
  });

  test("fills in the variables that it is given", async () => {
    write(['"Test"', '"{{ greeting }}, {{ name }}"']);
    const { stdout } = await glovebox("run", "flow.yaml", "--var", "greeting=Hello", "--var", "name=a=b", ...TOOLS);
    expect(stdout).toBe("It said: Hello, a=b\n");
  });

  test("prints the whole result where that is asked for", async () => {
    write();
    const { stdout } = await glovebox("run", "flow.yaml", "--result", ...TOOLS);
    expect(JSON.parse(stdout)).toMatchObject({
      last_response: "It said: Test",
      steps: [{ agent: "assistant", turns: 2, calls: [{ name: "echo", success: true }] }],
      artifacts: ["result.txt"],
    });
  });

  test("ends with 3 where the file does not fit the schema, and names the place [D73]", async () => {
    write(["model_id: llama3.2:3b", "model: llama3.2:3b"]);
    const { code, stderr } = await glovebox("run", "flow.yaml", ...TOOLS);
    expect(code).toBe(3);
    expect(stderr).toContain("glovebox: flow.yaml: /runtime/model is not allowed");
  });

  test("ends with 10 where the model cannot be reached [D72 D73]", async () => {
    write([host, "http://127.0.0.1:9"]);
    const { code, stderr } = await glovebox("run", "flow.yaml", ...TOOLS);
    expect(code).toBe(10);
    expect(stderr).toContain("the model's server at 127.0.0.1:9 cannot be reached");
    expect(existsSync(folder.at("result.txt"))).toBe(false);
  });

  test("ends with 18 and a report where something is not supported [D73 D74]", async () => {
    write(["- echo", "- os.system"]);
    const { code, stdout, stderr } = await glovebox("run", "flow.yaml", ...TOOLS);
    expect([code, stdout]).toEqual([18, ""]);
    expect(stderr).toContain("# Workflow echo-validation-test\n\n1 feature is not supported.\n");
    expect(stderr).toContain("- **Problem:** Python callable 'os.system' not in allowlist\n");
  });

  test.each([
    ["a tool's input", ["run", "flow.yaml", "--input", "{}"], "arguments and --record are for tools"],
    ["a workflow's option for a tool", ["run", "echo", "--input", "{}", "--force"], "are for workflows"],
    ["a variable that is invalid", ["run", "flow.yaml", "--var", "1=2"], "--var takes a name and its value"],
    ["no folder of tools", ["run", "flow.yaml", "--tools", "nowhere"], "there is no tools folder nowhere"],
  ])("with %s ends with 2 [D73]", async (_what, args, problem) => {
    write();
    const { code, stderr } = await glovebox(...args);
    expect(stderr).toContain(problem);
    expect(code).toBe(2);
  });

  test("says on stderr which modules are no tools", async () => {
    write();
    folder.write("tools/echo.js", readFileSync(`${SAMPLES}/echo.js`, "utf8"));
    folder.write("tools/other.js", "export const x = 1;");
    const { code, stderr } = await glovebox("run", "flow.yaml", "--tools", "tools");
    expect(stderr).toContain('[warn] Tool module missing TOOL_SPEC, skipping module_name="other"\n');
    expect(code).toBe(0);
  });
});

describe("the commands about workflows", () => {
  test("list-tools prints the ids of the tools, one a line [D76]", async () => {
    expect(await glovebox("list-tools", ...TOOLS)).toEqual({
      code: 0,
      stdout: "calculator\necho\nmy_tool\n",
      stderr: "",
    });
  });

  test("list-tools --json prints all that is known of them [D75]", async () => {
    const { stdout } = await glovebox("list-tools", "--json", ...TOOLS);
    expect(JSON.parse(stdout)).toContainEqual({
      id: "echo",
      module_path: "strands_cli.tools.echo",
      description: "Returns the input message unchanged",
      import_path: "strands_cli.tools.echo",
    });
  });

  test("list-tools takes the folder that a configuration names, and its limits [D75]", async () => {
    folder.write("tools/echo.js", readFileSync(`${SAMPLES}/echo.js`, "utf8"));
    folder.write("glovebox.config.yaml", "tools:\n  - path: tools\n    limits: { wallMs: 500 }\n");
    expect((await glovebox("list-tools")).stdout).toBe("echo\n");
  });

  test("list-tools prints the engine's own tools where nobody names others [D76]", async () => {
    expect((await glovebox("list-tools")).stdout).toBe("calculator\necho\njs_exec\npython_exec\n");
  });

  test("list-supported prints what workflows may ask for [D75]", async () => {
    const { stdout } = await glovebox("list-supported");
    expect(stdout).toContain("pattern.type: chain, routing, parallel, workflow,");
    expect(JSON.parse((await glovebox("list-supported", "--json")).stdout)).toMatchObject({
      "runtime.provider": ["ollama", "openai"],
    });
  });

  test("plan prints what a workflow will do, and does nothing of it [D75]", async () => {
    write();
    const { code, stdout } = await glovebox("plan", "flow.yaml", ...TOOLS);
    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual([
      `echo-validation-test: llama3.2:3b of ollama at ${host}`,
      "chain:",
      "  1. assistant: Test",
      "tools: echo",
      "artifacts:",
      "  result.txt: {{ last_response }}",
      "",
    ]);
    expect(JSON.parse((await glovebox("plan", "flow.yaml", "--json", ...TOOLS)).stdout)).toMatchObject({
      tools: ["echo"],
    });
    expect(existsSync(folder.at("result.txt"))).toBe(false);
  });

  test("plan ends with 18 where there is nothing to plan [D75]", async () => {
    write(["provider: ollama", "provider: bedrock"]);
    const { code, stderr } = await glovebox("plan", "flow.yaml", ...TOOLS);
    expect(code).toBe(18);
    expect(stderr).toContain("Provider 'bedrock' is not supported");
  });

  test("plan shows the agents of every pattern, and where each is", async () => {
    const { stdout } = await glovebox("plan", join(SAMPLES, "patterns", "graph.yaml"), ...TOOLS);
    expect(stdout).toContain("graph:\n  /pattern/config/nodes/write/agent: writer\n");
  });

  test("explain FILE.yaml prints the report, and ends with 18 where something is not supported [D74 D75]", async () => {
    write();
    const fine = await glovebox("explain", "flow.yaml", ...TOOLS);
    expect([fine.code, fine.stdout]).toEqual([0, expect.stringContaining("Everything in it is supported.")]);
    write(["- echo", "- nobody"]);
    const wrong = await glovebox("explain", "flow.yaml", ...TOOLS);
    expect([wrong.code, wrong.stdout]).toEqual([18, expect.stringContaining("1 feature is not supported.")]);
    const { stdout } = await glovebox("explain", "flow.yaml", "--json", ...TOOLS);
    expect(JSON.parse(stdout)).toMatchObject({ supported: false, issues: [{ pointer: "/tools/python/0/callable" }] });
  });

  test("validate FILE.yaml tells each place where a workflow does not fit its schema [D75]", async () => {
    write();
    expect(await glovebox("validate", "flow.yaml")).toEqual({ code: 0, stdout: "flow.yaml is valid\n", stderr: "" });
    write(["version: 0", "version: [0]"], ['agent: assistant\n        input: "Test"', "question: Test"]);
    const { code, stdout } = await glovebox("validate", "flow.yaml");
    expect(code).toBe(3);
    expect(stdout.split("\n")).toEqual([
      expect.stringContaining("error: /version must be integer or string"),
      expect.stringContaining("error: /pattern/config/steps/0/agent is required"),
      expect.stringContaining("error: /pattern/config/steps/0/question is not allowed"),
      "",
    ]);
    expect((await glovebox("validate", "nowhere.yaml")).code).toBe(2);
  });

  test("version prints the version, as --version does [D75]", async () => {
    const { stdout } = await glovebox("version");
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await glovebox("--version")).stdout).toBe(stdout);
    expect(JSON.parse((await glovebox("version", "--json")).stdout)).toMatchObject({ node: process.versions.node });
  });

  test("doctor runs a tool and says how well it is contained [D75]", async () => {
    const { code, stdout } = await glovebox("doctor", "--json");
    const states = JSON.parse(stdout) as { name: string; state: string; message: string }[];
    expect(states.map(({ name }) => name)).toEqual([
      "node",
      "platform",
      "engine",
      "sandbox",
      "bundler",
      "cgroup",
      "model key",
    ]);
    expect([states[0], states[2]].map((check) => check?.state)).toEqual(["ok", "ok"]);
    // On Linux with musl, macOS and others it warns.
    expect(states[1]?.message).toContain("tested");
    expect(code).toBe(0);
    folder.write("glovebox.config.yaml", "limits: { wallMs: -1 }");
    const broken = await glovebox("doctor");
    expect(broken.stdout).toMatch(/^fail +engine +glovebox\.config\.yaml:1:19: \/limits\/wallMs must be > 0/m);
    expect(broken.code).toBe(1);
  });
});
