import type { CapabilityRequest } from "../capabilities/capability.ts";
import type { JsonSchema, JsonValue } from "../json.ts";
import type { Limits } from "../limits.ts";
import type { Isolation } from "../protocol/script.ts";

export type Runtime = "javascript" | "python" | "wasi" | "native";

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
  /** The level in force; see `isolationReason` where it is not the one asked for. */
  readonly isolation: Isolation;
  readonly isolationReason?: string;
  readonly limits: Limits;
  readonly capabilities: CapabilityRequest;
  /** Size of the bundled script in bytes, and the time its module takes to evaluate, in milliseconds. */
  readonly script: { readonly bytes: number; readonly evaluationMs: number };
}
