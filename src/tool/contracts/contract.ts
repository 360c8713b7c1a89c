import type { ErrorCode } from "../../base/errors.ts";
import type { JsonSchema } from "../../base/json.ts";
import type { Limits } from "../../base/limits.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";

/** The contracts that are spoken. The first five are those in which modules may be written. */
export type ContractName =
  | "glovebox"
  | "amplifier"
  | "agentspace"
  | "strands"
  | "xaibo"
  | "openai-chat"
  | "openai-responses"
  | "anthropic"
  | "gemini"
  | "ai-sdk"
  | "mcp";

/** What a tool promises of itself, for those who show it to people; nobody checks it. As in MCP, which see. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  /** Calling it twice with the same arguments does no more than calling it once. */
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
}

/** A tool in our own words: what every contract is read into and written from. A registered tool's info is one. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly tags?: readonly string[];
  /** JSON Schema of its arguments: `{ "type": "object" }` where anything goes. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema | null;
  readonly annotations?: ToolAnnotations;
  readonly limits?: Partial<Limits>;
  readonly retries?: number;
  /** Characters of a text output, beyond which it is cut. */
  readonly outputChars?: number;
}

/** How a call ended, in our own words: what every contract's result is read into. */
export type Outcome =
  | {
      readonly ok: true;
      readonly output: unknown;
      /** What the tool says besides its output. */
      readonly metadata?: { readonly [key: string]: unknown };
    }
  | {
      readonly ok: false;
      readonly error: OutcomeError;
      /** What it had made before it failed. */
      readonly output?: unknown;
      readonly metadata?: { readonly [key: string]: unknown };
    };

export interface OutcomeError {
  /** The class name of what was thrown, or what the tool calls it. */
  readonly type?: string;
  readonly message: string;
  readonly code?: ErrorCode;
  readonly retryable?: boolean;
  /** What else the tool says of it. */
  readonly details?: { readonly [key: string]: unknown };
}

/** What happens to a call, in our own words. */
export type ContractEvent =
  | { readonly name: "tool:pre"; readonly tool: string; readonly call: ToolCall & { readonly id: string } }
  | { readonly name: "tool:post" | "tool:error"; readonly tool: string; readonly result: ToolResult };

/** Something that a contract has no place for. */
export interface Loss {
  readonly of: "tool" | "call" | "result";
  /** The field of ours: `outputSchema`, `error.type`. */
  readonly field: string;
  readonly why: string;
}

/**
 * One contract, as pure functions of data: nothing is run, nothing is awaited, what is given is not changed. Readers take
 * hostile input and throw a `ContractError`; writers take what the engine made, and never throw.
 */
export interface Contract<Definition = unknown, Call = unknown, Result = unknown, Event = unknown> {
  readonly name: ContractName;
  /** What does not survive being written in this contract and read again. */
  readonly losses: readonly Loss[];
  readTool(definition: unknown): ToolDescription;
  writeTool(tool: ToolDescription): Definition;
  readCall(message: unknown): ToolCall;
  writeCall(call: ToolCall): Call;
  readResult(message: unknown): Outcome;
  writeResult(result: ToolResult): Result;
  /** Nothing where the contract knows no such event. */
  writeEvent(event: ContractEvent): Event | null;
}

/** A contract in which modules are written, so that the engine can run them. */
export interface ModuleContract<
  Definition = unknown,
  Call = unknown,
  Result = unknown,
  Event = unknown,
> extends Contract<Definition, Call, Result, Event> {
  /** The tools of a module, from what its isolate says of it. `name` is the file's, for what does not say its own. */
  readModule(described: unknown, name: string): readonly ToolDescription[];
}

/** What is wrong with a definition, a call or a result that was read. */
export class ContractError extends Error {
  override readonly name = "ContractError";
  readonly contract: ContractName;
  /** JSON pointer to what is wrong; empty for the whole. */
  readonly pointer: string;

  constructor(contract: ContractName, pointer: string, problem: string) {
    super(`${contract}${pointer === "" ? "" : ` ${pointer}`}: ${problem}`);
    this.contract = contract;
    this.pointer = pointer;
  }
}
