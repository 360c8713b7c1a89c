import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

/** Compiles as `npm run build` does, but into a folder of its own. */
async function compile(folder: string): Promise<void> {
  const tsc = join(dirname(fileURLToPath(import.meta.resolve("typescript/package.json"))), "bin/tsc");
  for (const [project, out] of [
    [".", folder],
    ["src/guest", join(folder, "guest")],
    ["src/ecosystems/tools", join(folder, "tools")],
  ] as const) {
    await run(process.execPath, [tsc, "-p", project, "--outDir", out], { cwd: ROOT, timeout: 60_000 });
  }
}

const EXPORTS = {
  ".": "ConfigError DEFAULT_LIMITS ERRORS GloveboxError MAX_LIMITS createEngine defineCapability loadConfig readRecording replayCall",
  "./contracts":
    "AiToolFailure CONTRACTS ContractError agentspace aiSdk aiTools amplifier anthropic callTools gemini glovebox mcp openaiChat openaiResponses strands xaibo",
  "./server": "createServer",
  "./testing": "EventRecorder MockTool MockToolProvider TestCoordinator conformance faults",
  "./amplifier":
    "AMPLIFIER_CONTRACT Hooks ModuleSourceError MountPlanError ToolResult amplifier getInputSchema isTool mountPlan parseMountPlan referenceTool serializedOutput toolResult validateMountPlan",
  "./agentspace": "RegistryError agentspace createRegistry fieldsOf writeSchema",
  "./strands":
    "ArtifactError ProviderError SUPPORTED SpecError TemplateError ToolError ToolRegistry TurnLimitError UnsupportedError WorkflowError chatProvider check_capability createProvider getRegistry load_spec referenceTool remediationReport run_chain scriptedProvider strands toolFunction",
  "./xaibo":
    "ConversationError LLMMessage ToolError ToolExecutionError ToolNameClashError ToolNotFoundError ToolParameterError combineProviders guardedProvider isToolProvider lintTools modelLLM providerTools runConversation toolProvider",
  "./mcp": "createMcpServer",
};

describe("the package", () => {
  let folder = "";
  beforeAll(async () => {
    folder = mkdtempSync(join(ROOT, ".package-test-"));
    await compile(folder);
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("works from what is published, with a tool in its executor process", async () => {
    const program = `
      import { createEngine } from ${JSON.stringify(join(folder, "index.js"))};
      await using engine = await createEngine({ workers: 1 });
      await engine.register({ name: "add", description: "adds", source: "export default ({ a, b }) => a + b;" });
      console.log((await engine.execute({ name: "add", arguments: { a: 1, b: 2 } })).output);`;
    const file = join(folder, "program.mjs");
    writeFileSync(file, program);
    const { stdout } = await run(process.execPath, ["--no-warnings", file], { timeout: 30_000 });
    expect(stdout).toBe("3\n");
  });

  test.each(Object.entries(EXPORTS))("exports of %s what it promises, and no more", async (path, values) => {
    const { default: file } = manifest.exports[path as keyof typeof EXPORTS];
    const module = (await import(join(folder, file.replace("./dist/", "")))) as object;
    expect(Object.keys(module).toSorted()).toEqual(values.split(" "));
    expect(existsSync(join(folder, file.replace("./dist/", "").replace(".js", ".d.ts")))).toBe(true);
  });

  test("exports nothing else", () => {
    expect(Object.keys(manifest.exports).toSorted()).toEqual([...Object.keys(EXPORTS), "./package.json"].toSorted());
  });
});
