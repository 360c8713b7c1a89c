import type { Operation } from "../../guest/host.ts";
import type { JsonSchema } from "../../base/json.ts";
import type { ToolAnnotations } from "../contracts/contract.ts";

/** A tool of another server, as that server describes it. */
export interface RemoteTool {
  /** Without the connector's name, and as the server writes it: `cleanTools` makes it a name here. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: ToolAnnotations;
  readonly operation: Operation;
}

/** A tool that was left out, or a part of a document; `tool` is `null` for what concerns all. */
export interface ConnectorFinding {
  readonly tool: string | null;
  readonly reason: string;
}

/** The tools of a connector, and what could not be made a tool. */
export interface RemoteTools {
  readonly tools: readonly RemoteTool[];
  readonly findings: readonly ConnectorFinding[];
}
