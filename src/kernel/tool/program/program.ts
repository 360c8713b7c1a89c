import type { Limits } from "../../base/limits.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";
import type { HostFunction } from "../../broker/capabilities/functions.ts";
import { RUN_CODE } from "../../base/protocol/script.ts";
import type { ProgramTools } from "../../broker/capabilities/program-tools.ts";
import type { ProgramProblem } from "./problem.ts";

/** Code that runs once, such as a model's, with its caller's grants and no other capability. */
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
  /** Length of a result's JSON, in UTF-16 units, beyond which it is replaced by a preview. */
  readonly resultChars: number;
  readonly tools: ProgramTools;
  /** Names of tools in the program's text. Default: none. */
  readonly callees?: readonly string[];
}

/** The program of a call, and its result for the caller. */
export interface ProgramSource {
  /** Makes the program. Rejects with a `GloveboxError`, which is the call's result, if it must not run. */
  prepare(preparation: Preparation): Promise<Program>;
  finish(result: ToolResult): ToolResult;
  /** The kept state of the run while it waits, as text. Default: it cannot wait. */
  state?(): string;
}

/** A program of a call that has waited, in its stored form. */
export interface StoredProgram extends Pick<ToolProgram, "code" | "input" | "resultChars" | "limits" | "callees"> {
  /** As its source gave it. */
  readonly state: string;
  /** Tenant whose own tools it may call, in addition to those of all tenants. */
  readonly tenant?: string;
}

/** A program that continues. */
export interface RestoredProgram extends Required<Pick<ProgramSource, "finish" | "state">> {
  readonly program: ToolProgram;
}

/** Makes a stored program ready to continue. */
export type RestoreProgram = (stored: StoredProgram) => Promise<RestoredProgram>;

/** The service that runs programs over the tools of an engine. */
export interface ProgramHost {
  readonly restore: RestoreProgram;
  /** The mistakes of a program that calls a tenant's tools, if they can be found without running it. */
  check(code: string, tenant: string): Promise<readonly ProgramProblem[]>;
}

/** The call for which a program is prepared. */
export interface Preparation {
  readonly callId: string;
  readonly tenant: string;
  /** Does a part of the work, with its own span if calls are traced. */
  step<Value>(name: string, work: () => Promise<Value>): Promise<Value>;
}

/** A program that is ready, and whose result stays unchanged. */
export function readySource(program: Program): ProgramSource {
  return { prepare: () => Promise.resolve(program), finish: (result) => result };
}

/** Names of the tools that run programs. No registered tool has the first. */
export const PROGRAM_NAMES = { functions: "(program)", tools: RUN_CODE } as const satisfies {
  readonly [Kind in Program["kind"]]: string;
};

/** Finds tools for programs and for their authors. */
export const SEARCH_TOOLS = "search_tools";

/** Reads on in a long output, for a model that calls tools directly. */
export const READ_OUTPUT = "read_output";

/** Name of the tool with which a model waits for a call that was kept. */
export const WAIT_CALL = "wait_call";

/** Names of calls that the host answers, or runs without a registered tool. */
export const HOST_TOOLS: ReadonlySet<string> = new Set([...Object.values(PROGRAM_NAMES), SEARCH_TOOLS]);

/** These, and the names that the host answers if the operator has no tool of that name. */
export const ANSWERED_NAMES: ReadonlySet<string> = new Set([...HOST_TOOLS, READ_OUTPUT, WAIT_CALL]);

/** The call of a program's tool. */
export function callOf(program: Program): ToolCall {
  const { kind, code } = program;
  const name = PROGRAM_NAMES[kind];
  if (kind === "functions") return { name, arguments: { code, names: [...program.functions.keys()] } };
  const { input, resultChars } = program;
  return { name, arguments: { code, input, resultChars } };
}
