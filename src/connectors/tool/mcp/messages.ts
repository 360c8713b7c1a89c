import type { Progress } from "../../../kernel/base/result.ts";
import type { LoginReport } from "../../../kernel/base/connector-report.ts";
import type { FetchOptions } from "../../../kernel/broker/capabilities/fetch/connections.ts";
import type { SecretOptions } from "../../../kernel/broker/capabilities/secrets/secrets.ts";
import type { LoginUse } from "../../login/settings.ts";
import type { McpFailure } from "./failure.ts";
import type { McpLimits } from "./limits.ts";
import type { McpServer } from "./server.ts";

/** Data with which the thread of a session starts: its first message. */
export interface ThreadSettings {
  readonly connector: string;
  readonly server: McpServer;
  readonly trustAnnotations: boolean;
  /** The connector's own, with their values. */
  readonly secrets: { readonly [name: string]: SecretOptions };
  readonly fetch: Omit<FetchOptions, "lookup">;
  /** Whether the embedder resolves host names itself, on its own thread. */
  readonly hasLookup: boolean;
  /** The folder of this process's control groups; `null` for none. */
  readonly groups: string | null;
  readonly limits: McpLimits;
  /** The source of tokens for its requests, and their tenant. */
  readonly login: LoginUse | null;
  readonly tenant: string;
}

/** A list of tools. Each is the JSON of a `RemoteTool`, so that the host can read them one by one. */
export interface ListedTools {
  readonly tools: readonly string[];
  readonly findings: readonly { readonly tool: string | null; readonly reason: string }[];
  /** Time for which the list is fresh, from the server; 0 without one. */
  readonly ttlMs: number;
}

/** A server that has answered. */
export interface McpPeer {
  /** Its own words, unchecked. */
  readonly name: string;
  readonly version: string;
  /** Protocol revision: `2026-07-28`. */
  readonly protocol: string;
}

export type ToThread =
  | { readonly kind: "list"; readonly request: number }
  | {
      readonly kind: "call";
      readonly request: number;
      readonly tool: string;
      /** JSON of an object. */
      readonly args: string;
      readonly timeoutMs: number;
      readonly maxBytes: number;
      /** Whether its progress has a listener. */
      readonly isWatched: boolean;
    }
  | { readonly kind: "cancel"; readonly request: number }
  | { readonly kind: "resolved"; readonly lookup: number; readonly addresses: readonly string[] | null }
  | { readonly kind: "close" };

export type FromThread =
  | { readonly kind: "up"; readonly peer: McpPeer }
  /** The connection was not made, or was lost. The last message. */
  | { readonly kind: "lost"; readonly failure: McpFailure }
  /** The optional package is not installed. The last message. */
  | { readonly kind: "missing" }
  | { readonly kind: "listed"; readonly request: number; readonly list: ListedTools }
  /** JSON of a `CallToolResult`. */
  | { readonly kind: "answered"; readonly request: number; readonly text: string }
  /** Progress of a call; its answer follows. */
  | { readonly kind: "progress"; readonly request: number; readonly progress: Progress }
  | { readonly kind: "failed"; readonly request: number; readonly failure: McpFailure }
  /** The server reports a change of its tools. */
  | { readonly kind: "changed" }
  | { readonly kind: "lookup"; readonly lookup: number; readonly hostname: string }
  | { readonly kind: "login"; readonly report: LoginReport }
  /** Process group that has to be killed with the thread; `null` when it has ended. */
  | { readonly kind: "group"; readonly pid: number | null };
