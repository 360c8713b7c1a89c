import { type Bounds, type Limits, resolveLimits } from "../../base/limits.ts";
import { NO_CHECKS } from "../../base/protocol/script.ts";
import type { Capability } from "../../broker/capabilities/capability.ts";
import { functionsCapability } from "../../broker/capabilities/functions.ts";
import { programTools } from "../../broker/capabilities/program-tools.ts";
import { OPERATOR } from "../../broker/policy.ts";
import { NO_READERS } from "../contracts/contract.ts";
import { type RegisteredTool, registeredTool } from "../registered-tool.ts";
import { mapStack } from "../bundle/stack.ts";
import { type Program, PROGRAM_NAMES, type ProgramSource } from "./program.ts";
import { FUNCTION_RUNNER, PROGRAM_FILE, TOOL_RUNNER } from "./runner.ts";

const RUNNERS = { functions: FUNCTION_RUNNER, tools: TOOL_RUNNER } as const;

/** Makes the tools that run programs. They are not in the registry: only `runProgram` of the engine calls them. */
export class Programs {
  readonly #bounds: Bounds;
  /** By kind and heap limit, which belongs to a tool's isolates. */
  readonly #runners = new Map<string, RegisteredTool>();

  /** `bounds` are read whenever a program is run, so they may be changed in place. */
  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** The tool for one run of a program. Throws a `RangeError` if a limit is invalid. */
  toolFor(program: Program, source: Pick<ProgramSource, "finish" | "state"> | null = null): RegisteredTool {
    const { kind, limits } = program;
    const tool = { ...this.runnerOf(kind, limits), own: capabilityOf(program) };
    const state = source?.state?.bind(source);
    if (program.kind === "functions" || source === null || state === undefined) return tool;
    const { callees } = program;
    const kept = () => ({ limits, ...(callees === undefined ? {} : { callees }), state: state() });
    return { ...tool, program: { kept, finish: (result) => source.finish(result) } };
  }

  /** The tool of all programs with these limits. Throws a `RangeError` if one is invalid. */
  runnerOf(kind: Program["kind"], asked: Partial<Limits>): RegisteredTool {
    const resolved = resolveLimits(this.#bounds.limits, asked, this.#bounds.maxLimits);
    const limits = Object.freeze({ ...resolved, cpuMs: Math.min(resolved.cpuMs, resolved.wallMs) });
    const key = `${kind}:${limits.memoryMb}`;
    let runner = this.#runners.get(key);
    if (runner === undefined) this.#runners.set(key, (runner = runnerWith(kind, limits)));
    return { ...runner, limits };
  }
}

function capabilityOf(program: Program): Capability {
  return program.kind === "tools"
    ? programTools(program.tools, program.callees)
    : functionsCapability(program.functions);
}

function runnerWith(kind: Program["kind"], limits: Limits): RegisteredTool {
  const name = PROGRAM_NAMES[kind];
  const text = RUNNERS[kind];
  const bundle = { runtime: "javascript", text, bytes: text.length, sourceMap: "", sources: [] } as const;
  const inspection = {
    ok: true,
    contract: "glovebox",
    described: "null",
    spec: "null",
    defaultExport: "function",
    isolation: "isolate",
    evaluationMs: 0,
    key: `${name}:${limits.memoryMb}`,
  } as const;
  const definition = { name, description: "Runs a program.", isolation: "isolate" } as const;
  const engine = { limits, maxLimits: limits, readers: NO_READERS, registrant: OPERATOR };
  const tool = registeredTool(definition, NO_CHECKS, bundle, inspection, engine);
  return kind === "tools" ? { ...tool, mapStack: programStack } : tool;
}

const PLACE = new RegExp(`(${PROGRAM_FILE}:)(\\d+)`, "g");

/** Turns a stack from inside an isolate into one with the lines of the program as its author wrote it. */
export function programStack(stack: string): string {
  const mapped = mapStack(stack, undefined, PROGRAM_FILE, PROGRAM_FILE);
  // `readProgram` puts one line before it.
  return mapped.replaceAll(PLACE, (_found, file: string, line: string) => file + Math.max(1, Number(line) - 1));
}
