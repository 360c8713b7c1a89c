import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { validateModules } from "../../../src/testing/validation/validate.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { expectPublished, type Published } from "../../conformance/published.ts";

const CHECKOUTS = process.env["GLOVEBOX_UPSTREAM_STRANDS"];
const HOW =
  "of GLOVEBOX_UPSTREAM_STRANDS, a folder with a clone tools of https://github.com/strands-agents/tools and a folder wheels with what they import,";
const VERSION = "bddfd3aac2bf1f43022d54019ca38a19306aa279";
const MODULES_MS = 900_000;

/** The example in a module's own documentation, in a folder `/project`, and what it answers. */
const EXAMPLES: ReadonlyMap<string, readonly [args: Record<string, unknown>, answer: RegExp]> = new Map([
  ["batch", [{ invocations: [{ name: "current_time", arguments: {} }] }, /"status":"success"/]],
  ["current_time", [{}, /\d{4}-\d\d-\d\dT/]],
  ["editor", [{ command: "create", path: "/project/file.txt", file_text: "Hello World" }, /Hello World|created/i]],
  ["environment", [{ action: "list", prefix: "AWS_" }, /^""$/]],
  ["file_read", [{ path: "/project/a.txt", mode: "view" }, /one/]],
  ["file_write", [{ path: "/project/b.txt", content: "Hello World!" }, /success/i]],
  ["journal", [{ action: "write", content: "Today I worked" }, /journal/i]],
  ["python_repl", [{ code: "print(1 + 1)" }, /2/]],
  ["shell", [{ command: "ls -la" }, /a\.txt/]],
  ["sleep", [{ seconds: 0.1 }, /0\.1/]],
  ["stop", [{ reason: "Task completed successfully" }, /Task completed successfully/]],
]);

/** Why the example of a module that loads cannot be tried, or does not run. */
const REASONS: readonly (readonly [names: string, verdict: Exclude<Published["verdict"], "works">, why: string])[] = [
  [
    "agent_graph graph swarm think use_agent use_llm workflow",
    "refused",
    "its example makes agents, which work with a model: they run outside of tools",
  ],
  [
    "bright_data exa generate_image_stability tavily",
    "refused",
    "its example asks a service, for which there is no account",
  ],
  ["cron", "refused", "its example edits the crontab of a host"],
  ["handoff_to_user", "refused", "its example asks a person, and nobody can be asked"],
  ["load_tool", "refused", "its example adds a tool to an agent: tools are registered by their operator"],
  ["shell", "refused", "its example runs a command in a pseudo-terminal, which a sandbox does not have"],
  ["editor file_write python_repl", "refused", "it asks a person before it changes anything, and nobody can be asked"],
  [
    "agent_core_memory elasticsearch_memory generate_image mem0_memory memory mongodb_memory nova_reels retrieve speak use_aws",
    "refused",
    "its example asks a service of a cloud, for which there is no account",
  ],
];

test.skipIf(CHECKOUTS === undefined)(
  `the published modules ${HOW} load, and run their examples or say why not`,
  { timeout: MODULES_MS },
  async () => {
    const folder = join(CHECKOUTS ?? "", "tools/src/strands_tools");
    const project = mkdtempSync(join(tmpdir(), "glovebox-strands-tools-"));
    onTestFinished(() => rmSync(project, { recursive: true }));
    writeFileSync(join(project, "a.txt"), "one\ntwo\n");
    await using engine = await createEngine({
      workers: 1,
      executor: "threads",
      limits: { memoryMb: 256, wallMs: 30_000, cpuMs: 20_000 },
      packages: { wheels: join(CHECKOUTS ?? "", "wheels") },
      policy: {
        rules: [{ tools: ["*"], allow: { fs: { project: { mode: "rw", path: project } }, tools: ["current_time"] } }],
      },
    });
    const names = readdirSync(folder).flatMap((name) => (/^[a-z]\w*\.py$/.test(name) ? [name.slice(0, -3)] : []));
    const published: Published[] = [];
    for (const name of names.toSorted()) published.push(await tried(engine, join(folder, `${name}.py`), name));
    await expectPublished("strands-tools", {
      title: "Strands tools, modules of strands_tools",
      source: "https://github.com/strands-agents/tools",
      version: VERSION,
      given:
        "256 MB for each, a folder, and wheels of what they import, as far as Debian 12 has them in pure Python and they fit: botocore without its models of services",
      published,
    });
    expect(published.filter(({ loads }) => loads === "yes").length).toBeGreaterThanOrEqual(30);
  },
);

async function tried(engine: Engine, path: string, name: string): Promise<Published> {
  const capabilities = { fs: { project: { mode: "rw" } }, tools: ["current_time"] } as const;
  try {
    const { name: tool } = await engine.register({ path, capabilities });
    const [validation] = await validateModules(engine, path);
    const isValid = validation?.checks.every(({ level }) => level !== "error") === true;
    if (EXAMPLES.has(name)) await engine.register({ path, capabilities });
    const found = { name, loads: "yes", validates: isValid ? "yes" : "no" } as const;
    const runs = await ran(engine, tool, name);
    if (runs === "yes") return { ...found, runs, verdict: "works" };
    const [, verdict, why] = REASONS.find(([list]) => list.split(" ").includes(name)) ?? [
      "",
      "open",
      "its example fails",
    ];
    return { ...found, runs, verdict, why };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { name, loads: "no", validates: "no", runs: "-", ...problemOf(message) };
  }
}

async function ran(engine: Engine, tool: string, name: string): Promise<Published["runs"]> {
  const [args, answer] = EXAMPLES.get(name) ?? [];
  if (args === undefined || answer === undefined) return "-";
  const { output, error } = await engine.execute({ name: tool, arguments: args });
  const said = error?.message ?? JSON.stringify(output);
  return error === null && answer.test(said) ? "yes" : "no";
}

/** A package that is missing is the operator's to give; all else is ours. */
function problemOf(message: string): Pick<Published, "verdict" | "why"> {
  const [, missing] = /ask for the package ([\w.-]+) in/.exec(message) ?? [];
  if (missing !== undefined) return { verdict: "refused", why: `needs the package ${missing}` };
  if (message.includes("more than 10485760"))
    return { verdict: "open", why: "what it imports is more than a tool may have, such as sympy" };
  return { verdict: "open", why: message.replace(/^tool "\w+" could not be (?:loaded|read): /, "") };
}
