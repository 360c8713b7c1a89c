import { DEFAULT_LIMITS, type Limits, MAX_LIMITS, resolveLimits } from "../../../kernel/base/limits.ts";
import type { LogLine, ToolResult } from "../../../kernel/base/result.ts";
import type { HostFunction } from "../../../kernel/broker/capabilities/functions.ts";
import type { ExecuteOptions } from "../../../kernel/engine/execute-options.ts";
import type { Engine } from "../../../kernel/engine/engine.ts";
import { callOf, readySource } from "../../../kernel/tool/program/program.ts";

/** A driver in the form for `@tanstack/ai-code-mode`. */
export interface IsolateDriver {
  /** Rejects with a `TypeError` or a `RangeError` if the config is invalid. */
  createContext(config: IsolateConfig): Promise<IsolateContext>;
}

export interface IsolateConfig {
  /** Async functions in the program's global scope, by name. */
  bindings: Record<string, IsolateBinding>;
  /** Time of a run in milliseconds, and the most processor time that it may use. Default: the engine's limits. */
  timeout?: number;
  /** Heap of a run in MiB. Default: the engine's limit. */
  memoryLimit?: number;
}

/** A function of the host. Arguments from a program are untrusted. */
export interface IsolateBinding {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  execute: (args: unknown) => Promise<unknown>;
}

export interface IsolateContext {
  /**
   * Runs the body of an async function in a separate isolate: the globals of an earlier run are gone. Never rejects.
   */
  execute<T = unknown>(code: string): Promise<IsolateResult<T>>;
  /** Cancels runs in flight; later ones end with a `DisposedError`. */
  dispose(): Promise<void>;
}

export interface IsolateResult<T = unknown> {
  success: boolean;
  value?: T;
  /** `code`: the engine's error code. */
  error?: { name: string; message: string; code?: string };
  /** Console lines. Those of `console.error`, `warn` and `info` begin with `ERROR: `, `WARN: ` and `INFO: `. */
  logs?: string[];
}

export interface IsolateDriverOptions extends Pick<ExecuteOptions, "tenant" | "priority" | "signal" | "record"> {
  /** Limits of a run, for those that the context does not set. Default: the engine's. */
  readonly limits?: Partial<Limits>;
}

const BINDINGS_MAX = 1_000;
const NAME = /^[A-Za-z_]\w{0,79}$/;

/** Words that cannot name a function, and names that no face has. */
const RESERVED: ReadonlySet<string> = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends " +
    "false finally for function if implements import in instanceof interface let new null package private protected " +
    "public return static super switch this throw true try typeof var void while with yield then toJSON"
  ).split(" "),
);

const PREFIXES: ReadonlyMap<string, string> = new Map([
  ["error", "ERROR: "],
  ["warn", "WARN: "],
  ["info", "INFO: "],
]);

/**
 * An engine as the isolate driver of TanStack AI's code mode: `createCodeMode({ driver: createIsolateDriver(engine),
 * tools })`. Each run is a call of the engine in a separate isolate, with the bindings as its only capability.
 */
export function createIsolateDriver(engine: Engine, options: IsolateDriverOptions = {}): IsolateDriver {
  const { limits: usual, signal: given, ...call } = options;
  return {
    createContext: async ({ bindings, timeout, memoryLimit }) => {
      const functions = functionsOf(bindings);
      const limits = limitsOf(usual, timeout, memoryLimit);
      const disposal = new AbortController();
      const signal = given === undefined ? disposal.signal : AbortSignal.any([given, disposal.signal]);
      return {
        execute: async <T>(code: string): Promise<IsolateResult<T>> => {
          if (disposal.signal.aborted) return failed("DisposedError", DISPOSED);
          if (typeof code !== "string") return failed("TypeError", "the code of a program must be a string");
          const program = { kind: "functions", code, functions, limits } as const;
          const result = await engine.runProgram(callOf(program), readySource(program), { ...call, signal });
          return resultOf<T>(result, disposal.signal.aborted);
        },
        dispose: async () => disposal.abort(),
      };
    },
  };
}

const DISPOSED = "Context has been disposed";

function functionsOf(bindings: IsolateConfig["bindings"]): ReadonlyMap<string, HostFunction> {
  const entries = Object.entries(bindings);
  if (entries.length > BINDINGS_MAX) throw new RangeError(`a context may have ${BINDINGS_MAX} bindings`);
  return new Map(
    entries.map(([name, binding]) => {
      if (!NAME.test(name) || RESERVED.has(name)) {
        const shown = name.slice(0, 100);
        throw new TypeError(
          `"${shown}" cannot be the name of a binding: use letters, digits and _, and no reserved word`,
        );
      }
      if (typeof binding?.execute !== "function") throw new TypeError(`the binding "${name}" has no function execute`);
      return [name, (args) => binding.execute(args)];
    }),
  );
}

function limitsOf(usual: Partial<Limits> = {}, timeout: number | undefined, memoryLimit: number | undefined) {
  const wallMs = positive("timeout", timeout);
  const memoryMb = positive("memoryLimit", memoryLimit);
  const limits: Partial<Limits> = {
    ...usual,
    ...(wallMs === undefined ? {} : { wallMs }),
    ...(memoryMb === undefined ? {} : { memoryMb }),
  };
  // Throws if one of them is invalid; the engine resolves them again, with its own.
  resolveLimits(DEFAULT_LIMITS, limits, MAX_LIMITS);
  return limits;
}

function positive(name: string, value: number | undefined): number | undefined {
  if (value === undefined || value > 0) return value;
  throw new RangeError(`${name} must be a number above 0`);
}

function resultOf<T>(result: ToolResult, isDisposed: boolean): IsolateResult<T> {
  const { logs: lines, truncated } = result.metadata;
  const logs = lines.map(({ level, message }: LogLine) => `${PREFIXES.get(level) ?? ""}${message}`);
  const dropped = truncated?.logs ?? 0;
  if (dropped > 0) logs.push(`WARN: ${dropped} more lines were dropped: limits.logBytes`);
  if (result.success) return { success: true, value: valueIn(result.output) as T, logs };
  const { code, message, type } = result.error;
  if (code === "cancelled" && isDisposed) return { ...failed<T>("DisposedError", DISPOSED, code), logs };
  return { ...failed<T>(nameOf(code, type), message, code), logs };
}

/** A program that changed its realm may have written any output. */
function valueIn(output: unknown): unknown {
  return typeof output === "object" && output !== null && Object.hasOwn(output, "value")
    ? Reflect.get(output, "value")
    : undefined;
}

function nameOf(code: string, type: string | undefined): string {
  switch (code) {
    case "tool_error":
      return type === undefined || PRIMITIVES.has(type) ? "Error" : type;
    case "wall_limit":
    case "cpu_limit":
      return "TimeoutError";
    case "memory_limit":
      return "MemoryLimitError";
    case "cancelled":
      return "AbortError";
    default:
      return code.startsWith("capability_") ? "CapabilityError" : "GloveboxError";
  }
}

/** Types of thrown values that are no errors. */
const PRIMITIVES: ReadonlySet<string> = new Set([
  "string",
  "number",
  "bigint",
  "boolean",
  "symbol",
  "undefined",
  "object",
]);

function failed<T>(name: string, message: string, code?: string): IsolateResult<T> {
  return { success: false, error: { name, message, ...(code === undefined ? {} : { code }) }, logs: [] };
}
