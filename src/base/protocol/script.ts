import type { ToolError } from "../errors.ts";

/**
 * How much of a tool's world is new for each call.
 *
 * - `instance`: a fresh module instance in a hardened realm (the default).
 * - `context`: a fresh V8 context.
 * - `isolate`: a fresh isolate.
 * - `shared`: the module instance lives on, for caches and models; never across tenants.
 */
export type Isolation = "instance" | "context" | "isolate" | "shared";

/** The contracts in which modules may be written; what a module has to export is in `guest/contracts`. */
export type ModuleContractName = (typeof MODULE_CONTRACT_NAMES)[number];
export const MODULE_CONTRACT_NAMES = ["glovebox", "amplifier", "agentspace", "strands", "xaibo"] as const;

export function isModuleContract(name: unknown): name is ModuleContractName {
  return MODULE_CONTRACT_NAMES.some((one) => one === name);
}

/** The `config` of a tool that has none, as JSON text. */
export const NO_CONFIG = "null";

/** In what a tool is written. */
export type Runtime = "javascript" | "python" | "wasi" | "native";
export const RUNTIMES = ["javascript", "python", "wasi", "native"] as const satisfies readonly Runtime[];

/** A tool's code as workers get it: bundled once, then evaluated inside isolates only. */
export interface ToolScript {
  /** Unique for every registration: a tool that is replaced gets another key, so old calls end on the old code. */
  readonly key: string;
  readonly name: string;
  readonly version: string;
  readonly runtime: Runtime;
  readonly isolation: Isolation;
  readonly memoryMb: number;
  /** The tool's `config` as JSON text: `NO_CONFIG` where it has none. */
  readonly config: string;
  /** The contract the module is written in; `null` where nobody has looked yet. */
  readonly contract: ModuleContractName | null;
  /**
   * JavaScript's: a bundle, statements that declare a variable called `SCRIPT_EXPORTS` holding the module's exports.
   * Workers wrap it in a function, so that evaluating it again makes a fresh instance. Python's: a `PythonScript` as JSON. WASI's: the
   * module's bytes as Base64. What is native runs outside of any isolate, and its realm asks the host for it: the text says only which file
   * it is, by its hash.
   */
  readonly text: string;
}

/**
 * A realm that serves many calls is frozen; one that serves a single call is its tool's to change. Python's is never frozen:
 * its interpreter, which has one for its own, writes to what it finds there.
 */
export function isHardened({ isolation, runtime }: Pick<ToolScript, "isolation" | "runtime">): boolean {
  return runtime !== "python" && (isolation === "instance" || isolation === "shared");
}

/** The variable in which a bundle leaves the module's exports. */
export const SCRIPT_EXPORTS = "__tool";

/** What a worker found when it evaluated a script in an isolate of its own. */
export type Inspection =
  | {
      readonly ok: true;
      readonly contract: ModuleContractName;
      /** What the module says of itself in the terms of its contract, as JSON text. */
      readonly described: string;
      /** The module's `spec` export as JSON text; `null` where there is none. */
      readonly spec: string;
      /** `function` where the module can be called. */
      readonly defaultExport: string;
      /** The level at which the module loads: `context` where it fails in a hardened realm. */
      readonly isolation: Isolation;
      readonly isolationReason?: string;
      readonly evaluationMs: number;
    }
  | { readonly ok: false; readonly error: ToolError };

/** A Python tool's code as its interpreter takes it: `ToolScript.text` is this as JSON. */
export interface PythonScript {
  /** The file among `files` that is the tool: `function.py`, or `name/__init__.py` where it is a package of Python's. */
  readonly entry: string;
  /** The tool's own files, by their paths with `/`; the interpreter has them in `/tool`. */
  readonly files: { readonly [path: string]: PythonFile };
  /** What was installed for it, as its site-packages hold it. */
  readonly packages: { readonly [path: string]: PythonFile };
}

/** A file's text, or its bytes as Base64 where it is none. */
export type PythonFile = string | { readonly base64: string };
