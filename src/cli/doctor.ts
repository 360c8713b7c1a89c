import { Command } from "commander";
import { findDelegation } from "../kernel/base/os/cgroup.ts";
import { importOptional } from "../kernel/base/optional-package.ts";
import type { CallsAddress, RedisSettings } from "../fleet/kept-calls/redis-kept-calls.ts";
import type { ResolvedCallOptions } from "../kernel/engine/call-options.ts";
import { writeProblemOf } from "../kernel/store/calls/file-probe.ts";
import { builds } from "../kernel/tool/build/builds.ts";
import { ADDRESS_MB, esbuildLimit } from "../kernel/tool/build/limits.ts";
import { buildSandbox } from "../kernel/tool/build/sandbox.ts";
import { print, printJson } from "./output.ts";
import { EXIT } from "./exit.ts";
import { CONFIG, openEmptyEngine, readConfig } from "./open-engine.ts";
import { judgePlatform, readPlatform } from "./platform.ts";

/** Result of one check. */
interface Check {
  readonly name: string;
  /** `warn`: works, but with a weaker setup. */
  readonly state: "ok" | "warn" | "fail";
  readonly message: string;
}

interface Options {
  readonly config?: string;
  readonly json?: true;
}

const NODE_MIN = 24;
const BUILD_MS = 10_000;
const PROBE = { name: "doctor", description: "Says that it runs.", source: "export default () => 'it runs'" };

/** `glovebox doctor`: whether this machine can run tools, and how well it contains them. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("check whether this machine can run tools, and how well they are contained")
    .option(...CONFIG)
    .option("--json", "print JSON")
    .action(doctor);
}

async function doctor({ config, json }: Options): Promise<void> {
  const checks = [
    checkNode(),
    checkPlatform(),
    ...(await checkEngine(config)),
    ...(await checkCalls(config)),
    checkGroups(),
    checkKey(),
  ];
  if (checks.some(({ state }) => state === "fail")) process.exitCode = EXIT.FAILED;
  if (json === true) return printJson(checks);
  for (const { name, state, message } of checks) print(`${state.padEnd(4)}  ${name.padEnd(9)}  ${message}`);
}

function checkNode(): Check {
  const { node } = process.versions;
  const isEnough = Number(node.split(".")[0]) >= NODE_MIN;
  return { name: "node", state: isEnough ? "ok" : "fail", message: isEnough ? node : `${node}; ${NODE_MIN} is needed` };
}

function checkPlatform(): Check {
  const { name, state, isolates, sandbox, missing } = judgePlatform(readPlatform());
  const parts = [`${name}: ${state}`, `isolated-vm: ${isolates}`, `sandbox of the operating system: ${sandbox}`];
  const message = [...parts, ...(missing === null ? [] : [missing])].join("; ");
  return { name: "platform", state: state === "tested" ? "ok" : "warn", message };
}

async function checkEngine(file: string | undefined): Promise<Check[]> {
  try {
    // Its call is no part of the history.
    const options = { workers: 1, calls: { keep: "nothing" } } as const;
    await using engine = await openEmptyEngine(await readConfig(file), options);
    await engine.register(PROBE);
    const { success, error } = await engine.execute({ name: PROBE.name, arguments: {} });
    const { kind, sandbox } = engine.stats().executor;
    const walls: Check =
      sandbox.kind === "off"
        ? { name: "sandbox", state: "warn", message: `executors run without one: ${sandbox.reason}` }
        : { name: "sandbox", state: "ok", message: `executors run inside ${sandbox.kind}` };
    return [
      success
        ? { name: "engine", state: "ok", message: `runs tools, executor ${kind}` }
        : { name: "engine", state: "fail", message: error?.message ?? "a tool failed" },
      walls,
      await checkBundler(),
    ];
  } catch (error) {
    return [{ name: "engine", state: "fail", message: error instanceof Error ? error.message : String(error) }];
  }
}

/** Examines the Redis in which a service keeps calls, or reports why their file cannot be written. */
async function checkCalls(file: string | undefined): Promise<readonly Check[]> {
  const calls = await keptCalls(file);
  if (calls === null) return [];
  if (!("factory" in calls.place)) {
    const problem = await writeProblemOf(calls.place.path);
    return problem === null
      ? []
      : [{ name: "calls", state: "warn", message: `calls cannot be kept: ${problem.message}` }];
  }
  const settings: RedisSettings = { ...(calls.place.own as CallsAddress), ...calls.room };
  const load = () => import("../fleet/kept-calls/inspection.ts");
  try {
    const { inspectRedis } = await importOptional("calls.url", ["ioredis"], load);
    const { failures, warnings, opened } = await inspectRedis(settings);
    const state = failures.length > 0 ? "fail" : warnings.length > 0 ? "warn" : "ok";
    const there = opened === 0 ? "none is there yet" : `the secret opens the newest ${opened} of them`;
    const fine = `kept in Redis, which removes none by itself; ${there}`;
    return [{ name: "calls", state, message: state === "ok" ? fine : [...failures, ...warnings].join("; ") }];
  } catch (error) {
    return [{ name: "calls", state: "fail", message: error instanceof Error ? error.message : String(error) }];
  }
}

/** `null` if no calls are kept, or options are invalid, which the check of the engine reports. */
async function keptCalls(file: string | undefined): Promise<ResolvedCallOptions | null> {
  try {
    const { keptCallsOf } = await import("../server/config/effective.ts");
    return keptCallsOf(await readConfig(file));
  } catch {
    return null;
  }
}

/** Has a key's text built, which shows whether the sandbox works. */
async function checkBundler(): Promise<Check> {
  const limit = esbuildLimit();
  const job = { head: { kind: "checks" }, texts: ["true"] } as const;
  const outcome = await builds.run(job, { registrant: "local", deadlineMs: BUILD_MS });
  if (outcome.kind !== "done") {
    const reason = "reason" in outcome ? outcome.reason : outcome.kind;
    return { name: "bundler", state: "fail", message: `tools of keys cannot be built: ${reason}` };
  }
  const sandbox = buildSandbox();
  const problems = [
    ...(limit.kind === "off" ? [`esbuild has no limit on its memory: ${limit.reason}`] : []),
    ...(sandbox.kind === "off" ? [`tools of keys are built without a sandbox: ${sandbox.reason}`] : []),
  ];
  return problems.length > 0
    ? { name: "bundler", state: "warn", message: problems.join("; ") }
    : {
        name: "bundler",
        state: "ok",
        message: `esbuild may use ${ADDRESS_MB} MB of addresses, and tools of keys are built inside bubblewrap`,
      };
}

/** Reads only: this command is in another group than a service, unless it is started like one. */
function checkGroups(): Check {
  const groups = findDelegation();
  return groups.kind === "delegated"
    ? { name: "cgroup", state: "ok", message: "a service run like this command limits the memory of its processes" }
    : { name: "cgroup", state: "warn", message: groups.reason };
}

function checkKey(): Check {
  const isSet = (process.env["OPENAI_API_KEY"] ?? "") !== "";
  const message = isSet ? "OPENAI_API_KEY is set" : "OPENAI_API_KEY is not set; workflows can use ollama only";
  return { name: "model key", state: isSet ? "ok" : "warn", message };
}

/** `glovebox version`: the same as `--version`; with `--json` also the versions of Node and V8. */
export function versionCommand(): Command {
  return new Command("version")
    .description("show the version")
    .option("--json", "print the versions of Glovebox, Node and V8 as JSON")
    .action(({ json }: { readonly json?: true }, command: Command) => {
      const version = command.parent?.version() ?? "0.0.0";
      if (json === true) printJson({ glovebox: version, node: process.versions.node, v8: process.versions.v8 });
      else print(version);
    });
}
