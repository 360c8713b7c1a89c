import type { ErrorCode } from "../../base/errors.ts";
import type { JsonSchema } from "../../base/json.ts";
import type { Limits } from "../../base/limits.ts";
import type { OutputAt } from "../../base/protocol/script.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";

/** Hints about a tool's behaviour, for display only and unchecked. Defined as in MCP. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  /** A repeated call with the same arguments has no further effect. */
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
}

/** The engine's description of a tool, common to all contracts. A registered tool's info is one. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly tags?: readonly string[];
  /** JSON Schema of the arguments; `{ "type": "object" }` for any. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema | null;
  readonly annotations?: ToolAnnotations;
  readonly limits?: Partial<Limits>;
  readonly retries?: number;
  /** Maximum characters of a text output; a longer one is cut. */
  readonly outputChars?: number;
}

/** The engine's form of a call's result, common to all contracts. */
export type Outcome =
  | {
      readonly ok: true;
      readonly output: unknown;
      /** The tool's metadata in addition to its output. */
      readonly metadata?: { readonly [key: string]: unknown };
    }
  | {
      readonly ok: false;
      readonly error: OutcomeError;
      /** Partial output before the failure. */
      readonly output?: unknown;
      readonly metadata?: { readonly [key: string]: unknown };
    };

export interface OutcomeError {
  /** The class name of the exception, or the tool's own name for the error. */
  readonly type?: string;
  readonly message: string;
  readonly code?: ErrorCode;
  readonly retryable?: boolean;
  /** Further details from the tool. */
  readonly details?: { readonly [key: string]: unknown };
}

/** The events of a call. */
export type ContractEvent =
  | { readonly name: "tool:pre"; readonly tool: string; readonly call: ToolCall & { readonly id: string } }
  | { readonly name: "tool:post" | "tool:error"; readonly tool: string; readonly result: ToolResult };

/** A field that a contract cannot represent. */
export interface Loss {
  readonly of: "tool" | "call" | "result";
  /** The engine's name of the field: `outputSchema`, `error.type`. */
  readonly field: string;
  readonly why: string;
}

/**
 * One contract, as pure functions of data: synchronous, without side effects, and without changes of arguments. Readers
 * take hostile input and throw a `ContractError`; writers take the engine's data and never throw.
 */
export interface Contract<Definition = unknown, Call = unknown, Result = unknown, Event = unknown> {
  /** Lower-case letters, digits and hyphens. */
  readonly name: string;
  /** Fields that are lost when a value is written in this contract and read again. */
  readonly losses: readonly Loss[];
  readTool(definition: unknown): ToolDescription;
  writeTool(tool: ToolDescription): Definition;
  readCall(message: unknown): ToolCall;
  writeCall(call: ToolCall): Call;
  readResult(message: unknown): Outcome;
  writeResult(result: ToolResult): Result;
  /** `null` if the contract has no such event. */
  writeEvent(event: ContractEvent): Event | null;
}

/** Reads the modules that are written in a contract, for an engine that runs them. Its functions take hostile input. */
export interface ModuleReader {
  /** Lower-case letters, digits and hyphens. */
  readonly name: string;
  /**
   * The tools of a module, from the description by its isolate. `name` is the file's, for modules that declare no name.
   * Throws a `ContractError`.
   */
  readModule(described: unknown, name: string): readonly ToolDescription[];
  /** Reads a tool's return value. Absent: that value is its output. Throws a `ContractError`. */
  readResult?(answer: unknown): Outcome;
  /** Place of the output in a tool's answer, if the answer wraps it. */
  readonly outputAt?: OutputAt;
  /** A module may have no tools, as it detects itself whether it can work here. */
  readonly mayBeEmpty?: true;
  /** Failures after which its tools are called again. Default: a lost executor. */
  readonly retryOn?: "lost" | "failure";
  /** A library, whose tools are objects that a module exports, any number of them. */
  readonly isLibrary?: true;
  /** Its tools get keys in their config: they are removed from all that these log, report and throw. */
  readonly hidesConfig?: true;
  /** Definitions by which a Python module belongs to the contract, for an error: `a TOOL_SPEC with its function`. */
  readonly pythonForms?: readonly string[];
  /**
   * Operations of a module's tool in addition to its main one, from the module's description; `undefined` if it has
   * none.
   */
  readCommands?(described: unknown): readonly string[] | undefined;
  readonly records?: RecordReader;
}

/** Reads registration records: each describes one tool, in place of its module. Throws a `ContractError`. */
export interface RecordReader {
  /** Name of the contract as its users write it. */
  readonly title: string;
  /** Definition that a module needs, for an error: `the class X with a method y(input)`. */
  readonly form: string;
  /** The config of the tool. */
  configOf(record: unknown): object;
  /** Also throws if the record is for another kind of code. */
  readTool(record: unknown, isBinary: boolean): ToolDescription;
}

/** A contract for modules, which the engine can run. */
export interface ModuleContract<Definition = unknown, Call = unknown, Result = unknown, Event = unknown>
  extends Contract<Definition, Call, Result, Event>, Omit<ModuleReader, "readResult"> {}

/** Readers of the contracts in which modules of an engine may be written, by name. */
export type ModuleReaders = ReadonlyMap<string, ModuleReader>;

export const NO_READERS: ModuleReaders = new Map();

/** The reader of a library: `kernel/tool/tool-set.ts` reads the module's descriptions of its tools. */
export function libraryReader(name: string): ModuleReader {
  return { name, isLibrary: true, mayBeEmpty: true, readModule: () => [] };
}

/** The reader of registration records, if an engine has one. */
export function recordReader(readers: ModuleReaders): (RecordReader & Pick<ModuleReader, "name">) | undefined {
  for (const { name, records } of readers.values()) if (records !== undefined) return { ...records, name };
  return undefined;
}

/** An error in a definition, a call or a result. */
export class ContractError extends Error {
  override readonly name = "ContractError";
  readonly contract: string;
  /** JSON pointer to the error; empty for the whole value. */
  readonly pointer: string;

  constructor(contract: string, pointer: string, problem: string) {
    super(`${contract}${pointer === "" ? "" : ` ${pointer}`}: ${problem}`);
    this.contract = contract;
    this.pointer = pointer;
  }
}
