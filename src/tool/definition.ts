import type { CapabilityRequest } from "../broker/capabilities/capability.ts";
import type { ContractName, ToolAnnotations } from "./contracts/contract.ts";
import type { JsonSchema, JsonValue } from "../base/json.ts";
import type { Limits } from "../base/limits.ts";
import type { Isolation, ModuleContractName, Runtime } from "../base/protocol/script.ts";

/** What somebody who registers a tool says of it. */
export interface ToolDefinition {
  /** 1 to 128 of `A-Z a-z 0-9 _ . -`. */
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly tags?: readonly string[];
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /** The module's text; its default export is `(input, context) => output | Promise<output>`. */
  readonly source?: string;
  /** The module's file, instead of `source`. */
  readonly entry?: string;
  readonly runtime?: Runtime;
  readonly isolation?: Isolation;
  readonly limits?: Partial<Limits>;
  readonly capabilities?: CapabilityRequest;
  readonly config?: JsonValue;
  /** How often a failed call that may be retried is started again. Default 0, at most 5. */
  readonly retries?: number;
  /**
   * Which failures `retries` is about: those that are nobody's fault (`lost`, the default), or the tool's own as well
   * (`failure`), unless the call has had effects and does not say that it may have them twice.
   */
  readonly retryOn?: RetryOn;
  readonly annotations?: ToolAnnotations;
  /**
   * Characters of a text output: a longer one is cut, which its last line and `metadata.truncated.output` tell. Default:
   * no cut; beyond `limits.outputBytes` a call fails.
   */
  readonly outputChars?: number;
  /**
   * The argument that says how many seconds a call may take: its processor time is no more than that, and its wall-clock
   * time just a little, so that the tool can still say what came of it. Default: none does.
   */
  readonly timeoutArgument?: string;
}

export type RetryOn = "lost" | "failure";

/** A module or a package on disk, and what whoever registers it has to say of it, which goes before what it says itself. */
export interface ToolLocation extends Pick<
  ToolDefinition,
  "isolation" | "limits" | "capabilities" | "tags" | "config"
> {
  /** A module, a package, an archive, an address of one, or a folder of any of these. */
  readonly path: string;
  /** The contract in which its modules have to be written; it may be in each of them where this is missing. */
  readonly contract?: ModuleContractName;
  /** The names that its tools may have; a module that has another one is refused. Default: whatever they say. */
  readonly names?: readonly string[];
  /** The registration record of an AgentSpace package, instead of the one that lies in it. */
  readonly record?: unknown;
}

/** What the engine says of a registered tool. */
export interface ToolInfo {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly tags: readonly string[];
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  readonly runtime: Runtime;
  /** The contract in which its module is written. */
  readonly contract: Extract<ContractName, ModuleContractName>;
  readonly annotations: ToolAnnotations;
  readonly retries: number;
  /** The level in force; see `isolationReason` where it is not the one asked for. */
  readonly isolation: Isolation;
  readonly isolationReason?: string;
  readonly limits: Limits;
  readonly capabilities: CapabilityRequest;
  /** Size of the bundled script in bytes, and the time its module takes to evaluate, in milliseconds. */
  readonly script: { readonly bytes: number; readonly evaluationMs: number };
}
