import type { ToolError } from "../errors.ts";

/**
 * The part of a tool's environment that is new for each call.
 *
 * - `instance`: a fresh module instance in a hardened realm (the default).
 * - `context`: a fresh V8 context.
 * - `isolate`: a fresh isolate.
 * - `shared`: the module instance lives on, for caches and models; never across tenants.
 */
export type Isolation = "instance" | "context" | "isolate" | "shared";

/** Name of the tool that runs a program which calls tools. */
export const RUN_CODE = "run_code";

/**
 * Name of a contract in which modules may be written: `glovebox`, or one of a plugin. `tools`: for any number of tools of
 * libraries, before their library is known.
 */
export type ModuleContractName = string;
/** Names that plugins may give to contracts and runtimes. */
export const PLUGGED_NAME = /^[a-z][a-z0-9-]{0,63}$/;

export function isPluggedName(name: unknown): name is string {
  return typeof name === "string" && PLUGGED_NAME.test(name);
}

/** The `config` of a tool without one, as JSON text. */
export const NO_CONFIG = "null";

/** Name of a tool's runtime: `javascript`, or one of a plugin, such as `python`, `wasi` or `native`. */
export type Runtime = string;

/**
 * Code that checks a tool's arguments and output in its isolate: expressions whose values are `CheckCode`s of
 * `kernel/base/schema/check-runtime.ts`. Empty if everything is allowed.
 */
export interface ToolChecks {
  readonly input: string;
  readonly output: string;
  /** Place of the output in the tool's answer; missing if the answer is the output. */
  readonly outputAt?: OutputAt;
  /** An output that differs from its schema is delivered, with a warning in the call's log. */
  readonly isAdvice?: true;
}

/** Places of an output in an answer that wraps it, as JSON pointers. */
export const OUTPUT_PLACES = ["/output", "/result", "/content"] as const;
export type OutputAt = (typeof OUTPUT_PLACES)[number];

export const NO_CHECKS: ToolChecks = Object.freeze({ input: "", output: "" });

/** A tool's code as workers receive it: bundled once, evaluated inside isolates only. */
export interface ToolScript {
  /** Unique for every registration: a replaced tool gets another key, so running calls finish on the old code. */
  readonly key: string;
  readonly name: string;
  readonly version: string;
  readonly runtime: Runtime;
  readonly isolation: Isolation;
  readonly memoryMb: number;
  /** The tool's `config` as JSON text; `NO_CONFIG` if it has none. */
  readonly config: string;
  /** The contract in which the module is written; `null` if not yet determined. */
  readonly contract: ModuleContractName | null;
  /**
   * The code, by runtime.
   *
   * - JavaScript: a bundle, statements that declare the variable `SCRIPT_EXPORTS` with the module's exports. Workers
   *   wrap it in a function, so that evaluating it again makes a fresh instance.
   * - Python: a `PythonScript` as JSON; then, on a line of its own, each of its libraries as Base64.
   * - WASI: the module's bytes as Base64.
   * - native: the hash of the binary. It runs outside of any isolate, at the request of its realm to the host.
   * - remote: an `Operation` of another server, as JSON.
   */
  readonly text: string;
  readonly checks: ToolChecks;
  /** Use of `WebSocket` or `EventSource` by a tool without the capability `fetch`: their constructors report that. */
  readonly lacksFetch?: true;
  /** Variables that `process.env` gets at the start of a call, if the tool uses it and they are granted. */
  readonly env?: readonly string[];
  /** Its config has no keys to hide. Default: they are removed from all that it logs, reports and throws. */
  readonly showsConfig?: true;
  /** Its isolate starts an interpreter, which takes long, has memory of its own, and writes to its realm's globals. */
  readonly isInterpreted?: true;
  /** Registrant of the tool. Default: the operator. */
  readonly registrant?: string;
  /** Digest of this version: strikes of another one do not count against it. */
  readonly digest?: string;
}

/** A version of a tool: another registrant's tool of the same name is another one. */
export type ToolVersion = Pick<ToolScript, "name" | "registrant" | "digest">;

/**
 * Whether the realm is frozen: that of several calls is, that of a single call is not, as it belongs to its tool. An
 * interpreter's is never frozen.
 */
export function isHardened({ isolation, isInterpreted }: Pick<ToolScript, "isolation" | "isInterpreted">): boolean {
  return isInterpreted !== true && (isolation === "instance" || isolation === "shared");
}

/** The name of the isolates in which a tool, by its key, runs for a tenant. */
export function homeOf(key: string, tenant: string): string {
  return `${key} ${tenant}`;
}

/** The variable to which a bundle assigns the module's exports. */
export const SCRIPT_EXPORTS = "__tool";

/** Statement at the end of a bundle of `defineTool` whose own schemas parse the arguments and the output of calls. */
const PARSES = `\n${SCRIPT_EXPORTS}["~parses"] = true;`;

/** Adds the descriptions of schemas of libraries to a bundle, hidden from a walk over its exports. */
export function describing(text: string, describer: string): string {
  return `${text}\nObject.defineProperty(${SCRIPT_EXPORTS}, "~schemas", { value: ${describer} });`;
}

/** The bundle of a tool whose schemas do more than their JSON Schemas. */
export function parsing(text: string): string {
  return text + PARSES;
}

/** Whether a tool's own schemas may refuse the arguments of its calls. */
export function isParsing({ text }: Pick<ToolScript, "text">): boolean {
  return text.endsWith(PARSES);
}

/** The result of evaluating a script in an isolate of its own. */
export type Inspection =
  | {
      readonly ok: true;
      readonly contract: ModuleContractName;
      /** The module's description of itself in the terms of its contract, as JSON text. */
      readonly described: string;
      /** The module's `spec` export as JSON text; `null` if it has none. */
      readonly spec: string;
      /** `function` if the module can be called. */
      readonly defaultExport: string;
      /** The level at which the module loads: `context` if it fails in a hardened realm. */
      readonly isolation: Isolation;
      readonly isolationReason?: string;
      readonly evaluationMs: number;
    }
  | { readonly ok: false; readonly error: ToolError };
