import { execFile, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

/** A Node on the `PATH` that is too old for the package; `undefined` where it is missing. */
const oldNode = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .find((file) => existsSync(file) && Number.parseInt(versionOf(file), 10) < 24);

function versionOf(file: string): string {
  return spawnSync(file, ["--version"], { encoding: "utf8" }).stdout.replace("v", "");
}

/** What this run adds to each process, an older Node does not know. */
const OLD = { env: { ...process.env, NODE_OPTIONS: "" } };

/** A program that counts the files which its imports load, by package, and finds none of the packages in `missing`. */
const OBSERVED = (missing: readonly string[]) => `
  import { registerHooks } from "node:module";
  const files = {};
  registerHooks({
    resolve(specifier, context, next) {
      const name = ${JSON.stringify(missing)}.find((one) => specifier === one || specifier.startsWith(one + "/"));
      if (name === undefined) return next(specifier, context);
      throw Object.assign(new Error("Cannot find package '" + name + "'"), { code: "ERR_MODULE_NOT_FOUND" });
    },
    load(url, context, next) {
      const [, name = ""] = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\/(?!.*\\/node_modules\\/)/.exec(url) ?? [];
      if (url.startsWith("file:")) files[name] = (files[name] ?? 0) + 1;
      return next(url, context);
    },
  });`;

const PEERS = Object.keys(manifest.peerDependencies);

const EXPORTS = {
  ".": "ConfigError DEFAULT_LIMITS DecisionConflict ERRORS GloveboxError MAX_LIMITS ToolCallError createEngine defineCapability loadConfig readRecording replayCall sharedEngine unwrap",
  "./code-mode": "CODE_LIMITS codeMode",
  "./connectors": "checkConnectors",
  "./adapters":
    "approvalsForAISDK approvalsForOpenAIAgents createCodemodeExecutor createIsolateDriver toolsForAISDK toolsForLangChain toolsForOpenAIAgents",
  "./client": "createClient unwrap",
  "./fastify": "gloveboxFastify",
  "./handlers": "toFetchHandler toMcpHandler toNodeHandler",
  "./tool": "defineTool toolFactory",
  "./contracts":
    "AiToolFailure CONTRACTS ContractError agentspace aiSdk aiTools amplifier anthropic callTools gemini glovebox mcp openaiChat openaiResponses strands xaibo",
  "./server": "createServer",
  "./testing": "EventRecorder MockTool MockToolProvider TestCoordinator conformance faults",
  "./amplifier":
    "AMPLIFIER_CONTRACT Hooks ModuleSourceError MountPlanError ToolResult amplifier getInputSchema isTool mountPlan parseMountPlan referenceTool serializedOutput toolResult validateMountPlan",
  "./agentspace": "RegistryError agentspace createRegistry fieldsOf writeSchema",
  "./strands":
    "ArtifactError BudgetError InputError PatternError ProviderError SUPPORTED SpecError TemplateError ToolError ToolRegistry TurnLimitError UnsupportedError WorkflowError chatProvider check_capability createProvider getRegistry load_spec partsOf referenceTool remediationReport run_chain run_workflow scriptedProvider strands toolFunction",
  "./xaibo":
    "AgentError ConversationError LLMMessage ToolError ToolExecutionError ToolNameClashError ToolNotFoundError ToolParameterError combineProviders guardedProvider isToolProvider lintTools loadAgent modelLLM oneShotTools providerTools runConversation toolProvider",
  "./mcp": "createMcpServer",
};

describe("the package", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(ROOT, ".package-test-"));
    // What the run's build has published, in a folder for programs beside it.
    cpSync(join(ROOT, "dist"), folder, { recursive: true });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("works from what is published, with a tool in its executor process", async () => {
    const program = `
      import { createEngine } from ${JSON.stringify(join(folder, "glovebox/index.js"))};
      await using engine = await createEngine({ workers: 1 });
      await engine.register({ name: "add", description: "adds", source: "export default ({ a, b }) => a + b;" });
      console.log((await engine.execute({ name: "add", arguments: { a: 1, b: 2 } })).output);
      const inputSchema = { type: "object", properties: { a: { type: "integer", default: 4 } } };
      for (const dialect of ["draft/2019-09", "draft/2020-12"]) {
        const schema = JSON.stringify({ $schema: "https://json-schema.org/" + dialect + "/schema", ...inputSchema });
        const source = 'import { defineTool } from "glovebox/tool"; export default defineTool({ name: "own", description: "own", inputSchema: ' + schema + ", run: ({ a }) => a });";
        await engine.register({ name: "defined", description: "is defined", source });
        console.log((await engine.execute({ name: "defined", arguments: {} })).output);
      }`;
    const file = join(folder, "program.mjs");
    writeFileSync(file, program);
    const { stdout } = await run(process.execPath, ["--no-warnings", file], { timeout: 120_000 });
    expect(stdout).toBe("3\n4\n4\n");
  });

  test.each(Object.entries(EXPORTS))("exports of %s what it promises, and no more", async (path, values) => {
    const { default: file } = manifest.exports[path as keyof typeof EXPORTS];
    const module = (await import(join(folder, file.replace("./dist/", "")))) as object;
    expect(Object.keys(module).toSorted()).toEqual(values.split(" "));
    expect(existsSync(join(folder, file.replace("./dist/", "").replace(".js", ".d.ts")))).toBe(true);
  });

  async function runProgram(text: string): Promise<string> {
    const file = join(folder, "observed.mjs");
    writeFileSync(file, text);
    const { stdout } = await run(process.execPath, ["--no-warnings", file], { timeout: 120_000 });
    return stdout;
  }
  const entry = (path: keyof typeof EXPORTS) => join(folder, manifest.exports[path].default.replace("./dist/", ""));

  test("loads few files, and nothing that only some need", async () => {
    const program = `${OBSERVED([])}
      await import(${JSON.stringify(entry("."))});
      console.log(JSON.stringify(files));`;
    const files = JSON.parse(await runProgram(program)) as { readonly [name: string]: number };
    const unwanted = [
      ...PEERS,
      "acorn",
      "fastify",
      "@modelcontextprotocol/server",
      "@opentelemetry/api",
      "esbuild",
      "undici",
    ];
    expect(unwanted.filter((name) => name in files)).toEqual([]);
    expect(Object.values(files).reduce((all, count) => all + count, 0)).toBeLessThan(156);
  });

  test("has maps by which stack traces name the sources", async () => {
    const program = `
      const { createEngine } = await import(${JSON.stringify(entry("."))});
      await createEngine({ workers: -1 }).catch(({ stack }) => console.log(stack));`;
    const file = join(folder, "traced.mjs");
    writeFileSync(file, program);
    const { stdout } = await run(process.execPath, ["--enable-source-maps", "--no-warnings", file]);
    expect(stdout).toMatch(/src\/kernel\/engine\/options\.ts:\d+:\d+/);
  });

  test("loads without its optional peers, and says which one is missing and how to install it", async () => {
    const entries = (Object.keys(EXPORTS) as (keyof typeof EXPORTS)[]).map(entry);
    const program = `${OBSERVED(PEERS)}
      for (const entry of ${JSON.stringify(entries)}) await import(entry);
      const { createEngine } = await import(${JSON.stringify(entry("."))});
      const { load_spec } = await import(${JSON.stringify(entry("./strands"))});
      const { createServer } = await import(${JSON.stringify(entry("./server"))});
      const url = "redis://127.0.0.1:1";
      const secret = "s".repeat(64);
      await using engine = await createEngine({ workers: 1, executor: "threads" });
      const tries = [
        createEngine({ executor: { kind: "queue", url, secret } }),
        createEngine({ kv: { url } }),
        createEngine({ idempotency: { url, secret } }),
        engine.register({ name: "py", description: "py", runtime: "python", source: "def execute(input): pass" }),
        load_spec(${JSON.stringify(join(ROOT, "fixtures/contracts/strands/echo-demo.yaml"))}),
        createServer(engine, {
          port: 0,
          publicUrl: "https://tools.example.com",
          oauth: {
            issuer: "https://login.example.com",
            jwksUri: "https://login.example.com/keys",
            tenant: "acme",
            scopes: { use: ["execute"] },
          },
        }),
      ];
      for (const one of await Promise.allSettled(tries)) console.log(one.reason?.code, one.reason?.message);`;
    const command = (...names: (keyof typeof manifest.peerDependencies)[]) =>
      `run: npm install ${names.map((name) => `${name}@${manifest.peerDependencies[name]}`).join(" ")}`;
    const missing = (feature: string, name: keyof typeof manifest.peerDependencies) =>
      `missing_package ${feature} needs the package ${name}, which is not installed; ${command(name)}`;
    expect((await runProgram(program)).trim().split("\n")).toEqual([
      `missing_package executor "queue" needs the packages bullmq and ioredis, which are not installed; ${command("bullmq", "ioredis")}`,
      missing("kv.url", "ioredis"),
      missing("idempotency.url", "ioredis"),
      missing("Python", "pyodide"),
      missing("a Strands workflow", "liquidjs"),
      missing("oauth.jwksUri", "jose"),
    ]);
  });

  test.skipIf(oldNode === undefined)("says on an older Node which one it needs, and has no stack", async () => {
    const sentence = /^glovebox needs Node\.js 24 or later, and this is Node\.js [\d.]+; install it from .*\n?$/;
    const paths = Object.keys(EXPORTS) as (keyof typeof EXPORTS)[];
    const program = `Promise.all(${JSON.stringify(paths.map(entry))}.map((entry) => import(entry).then(() => "", ({ stack }) => stack)))
      .then((said) => console.log(JSON.stringify(said)))`;
    const { stdout } = await run(oldNode ?? "", ["--eval", program], OLD);
    for (const [at, said] of (JSON.parse(stdout) as readonly string[]).entries()) {
      // The entries of tools and of clients are modules without imports, which any Node loads.
      if (paths[at] === "./tool" || paths[at] === "./client") expect(said).toBe("");
      else expect(said).toMatch(sentence);
    }
    const command = readFileSync(join(ROOT, "bin/glovebox.js"), "utf8").replaceAll("../dist/", `${folder}/`);
    const file = join(folder, "glovebox.mjs");
    writeFileSync(file, command);
    const failed = run(oldNode ?? "", [file, "--help"], OLD);
    await expect(failed).rejects.toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(sentence) });
  });

  test.each([
    ["keeps the command's compiled code in a folder of the user's own", 0o700, true],
    ["keeps no compiled code where others may write", 0o777, false],
  ])("%s", async (_title, mode, isKept) => {
    const cache = join(folder, `cache-${mode}`);
    mkdirSync(join(cache, "glovebox-code"), { recursive: true });
    chmodSync(join(cache, "glovebox-code"), mode);
    const file = join(folder, "command.mjs");
    writeFileSync(file, readFileSync(join(ROOT, "bin/glovebox.js"), "utf8").replaceAll("../dist/", `${folder}/`));
    const { NODE_COMPILE_CACHE: _own, ...inherited } = process.env;
    const env = { ...inherited, XDG_CACHE_HOME: cache };
    await run(process.execPath, ["--no-warnings", file, "--version"], { env });
    expect(readdirSync(join(cache, "glovebox-code")).length > 0).toBe(isKept);
  });

  test("exports nothing else", () => {
    expect(Object.keys(manifest.exports).toSorted()).toEqual([...Object.keys(EXPORTS), "./package.json"].toSorted());
  });
});
