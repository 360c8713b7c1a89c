import { type Bounds, type Limits, resolveLimits } from "../../base/limits.ts";
import { NO_CHECKS } from "../../base/protocol/script.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";
import type { Capability } from "../../broker/capabilities/capability.ts";
import { functionsCapability, type HostFunction } from "../../broker/capabilities/functions.ts";
import { type ProgramTools, programTools } from "../../broker/capabilities/program-tools.ts";
import { OPERATOR } from "../../broker/policy.ts";
import { type RegisteredTool, registeredTool } from "../registered-tool.ts";
import { mapStack } from "../bundle/stack.ts";
import { FUNCTION_RUNNER, PROGRAM_FILE, TOOL_RUNNER } from "./runner.ts";

/** Code that is run once, such as a model's, with what its caller gave it and without any other capability. */
export type Program = FunctionProgram | ToolProgram;

interface ProgramBase {
  /** Limits of this run, up to the engine's `maxLimits`. */
  readonly limits: Partial<Limits>;
}

/** A program with functions of its caller. */
export interface FunctionProgram extends ProgramBase {
  readonly kind: "functions";
  /** The body of an async function, in JavaScript. */
  readonly code: string;
  /** Async functions in the program's global scope, by name. */
  readonly functions: ReadonlyMap<string, HostFunction>;
}

/** A program with tools of the engine. Their calls are children of its call. */
export interface ToolProgram extends ProgramBase {
  readonly kind: "tools";
  /** As `buildProgram` makes it. */
  readonly code: string;
  /** `input` in the program's scope, as JSON allows it. */
  readonly input: unknown;
  /** Length of a result's JSON, in UTF-16 units, beyond which a preview stands for it. */
  readonly resultChars: number;
  readonly tools: ProgramTools;
}

/** The program of a call, and what its caller gets of it. */
export interface ProgramSource {
  /** Makes the program. Rejects with a `GloveboxError`, which is the call's result, where it is not to run. */
  prepare(preparation: Preparation): Promise<Program>;
  finish(result: ToolResult): ToolResult;
}

/** The call for which a program is prepared. */
export interface Preparation {
  readonly callId: string;
  readonly tenant: string;
  /** Does a part of the work, with a span of its own where calls are traced. */
  step<Value>(name: string, work: () => Promise<Value>): Promise<Value>;
}

/** A program that is ready, and whose result needs nothing. */
export function readySource(program: Program): ProgramSource {
  return { prepare: () => Promise.resolve(program), finish: (result) => result };
}

/** Names of the tools that run programs. No registered tool has the first. */
export const PROGRAM_NAMES = { functions: "(program)", tools: "run_code" } as const satisfies {
  readonly [Kind in Program["kind"]]: string;
};

/** Finds tools for programs and for those who write them. */
export const SEARCH_TOOLS = "search_tools";

/** Names of calls that the host answers, or runs without a registered tool. */
export const HOST_TOOLS: ReadonlySet<string> = new Set([...Object.values(PROGRAM_NAMES), SEARCH_TOOLS]);

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

  /** The tool for one run of a program. Throws a `RangeError` where a limit is invalid. */
  toolFor(program: Program): RegisteredTool {
    const { kind, limits } = program;
    return { ...this.runnerOf(kind, limits), own: capabilityOf(program) };
  }

  /** The tool of all programs with these limits. Throws a `RangeError` where one is invalid. */
  runnerOf(kind: Program["kind"], asked: Partial<Limits>): RegisteredTool {
    const resolved = resolveLimits(this.#bounds.limits, asked, this.#bounds.maxLimits);
    const limits = Object.freeze({ ...resolved, cpuMs: Math.min(resolved.cpuMs, resolved.wallMs) });
    const key = `${kind}:${limits.memoryMb}`;
    let runner = this.#runners.get(key);
    if (runner === undefined) this.#runners.set(key, (runner = runnerWith(kind, limits)));
    return { ...runner, limits };
  }
}

/** The call of a program's tool. */
export function callOf(program: Program): ToolCall {
  const { kind, code } = program;
  const name = PROGRAM_NAMES[kind];
  if (kind === "functions") return { name, arguments: { code, names: [...program.functions.keys()] } };
  const { input, resultChars } = program;
  return { name, arguments: { code, input, resultChars } };
}

function capabilityOf(program: Program): Capability {
  return program.kind === "tools" ? programTools(program.tools) : functionsCapability(program.functions);
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
  const engine = { limits, maxLimits: limits, registrant: OPERATOR };
  const tool = registeredTool(definition, NO_CHECKS, bundle, inspection, engine);
  return kind === "tools" ? { ...tool, mapStack: programStack } : tool;
}

const PLACE = new RegExp(`(${PROGRAM_FILE}:)(\\d+)`, "g");

/** Turns a stack from inside an isolate into one with the lines of the program as its author wrote it. */
function programStack(stack: string): string {
  const mapped = mapStack(stack, undefined, PROGRAM_FILE, PROGRAM_FILE);
  // `readProgram` puts one line before it.
  return mapped.replaceAll(PLACE, (_found, file: string, line: string) => file + Math.max(1, Number(line) - 1));
}
