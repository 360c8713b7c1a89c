import type { Throttling } from "../../base/host-work-queue.ts";
import type { CallBinary, CallOperation } from "../capabilities/capability.ts";
import type { ConnectorRoute, SessionToolCall } from "../capabilities/connector/route.ts";
import type { FetchOptions } from "../capabilities/fetch/connections.ts";
import type { LoginReport } from "../login/settings.ts";
import type { SecretViolation } from "../capabilities/secrets/placeholders.ts";
import type { SecretOptions } from "../capabilities/secrets/secrets.ts";
import type { EndedMethod } from "../method-call.ts";

/** Data with which a broker thread starts: its first message. */
export interface ThreadSettings {
  readonly fetch: Omit<FetchOptions, "lookup">;
  /** Whether the embedder resolves host names itself, on its own thread. */
  readonly hasLookup: boolean;
  /** With their values. */
  readonly secrets: { readonly [name: string]: SecretOptions };
  readonly routes: readonly ConnectorRoute[];
  /** The folder of this process's control groups; `null` for none. */
  readonly groups: string | null;
}

/** The use of one capability by one call. */
export interface SessionOpening {
  readonly kind: "open";
  readonly session: number;
  readonly capability: string;
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  /** Values that the call is granted, as plain data. */
  readonly grants: readonly unknown[];
  /** Binary of the call's tool, by its path. */
  readonly binary: CallBinary | null;
  readonly remote: CallOperation | null;
  /** Patterns of the secrets that the call is granted. */
  readonly secrets: readonly unknown[];
}

/** One method, with its arguments as JSON. `label`: its name in messages. */
export interface MethodRequest {
  readonly kind: "request";
  readonly session: number;
  readonly request: number;
  readonly method: string;
  readonly label: string;
  readonly args: string;
}

/** Messages to the thread. They travel in lists, one for each turn of the event loop. */
export type ToThread =
  | SessionOpening
  | MethodRequest
  /** The call has ended: its methods are aborted, and its resources released. */
  | { readonly kind: "end"; readonly session: number }
  | { readonly kind: "resolved"; readonly lookup: number; readonly addresses: readonly string[] | null }
  /** Connectors as they are from now on. */
  | { readonly kind: "routes"; readonly routes: readonly ConnectorRoute[] }
  /** The end of a `tool` that the thread has asked for. */
  | { readonly kind: "told"; readonly request: number; readonly end: SessionToolEnd }
  | { readonly kind: "close" };

/** The answer of a session's server, as JSON; or the reason for none. */
export type SessionToolEnd =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "failed"; readonly message: string; readonly needsLogin: boolean };

/** Messages of the thread. */
export type FromThread =
  | { readonly kind: "response"; readonly request: number; readonly end: EndedMethod }
  /** Time of the thread that a session used, in milliseconds. */
  | { readonly kind: "spent"; readonly session: number; readonly ms: number }
  /** Estimated time until a further request of the tenant would run, in milliseconds. Told while it is above 0, and then 0. */
  | { readonly kind: "backlog"; readonly tenant: string; readonly ms: number }
  /** A session has released its resources. Its last message. */
  | { readonly kind: "released"; readonly session: number }
  | { readonly kind: "lookup"; readonly lookup: number; readonly hostname: string }
  /** A tool of a session's server is called: the embedder's thread holds the sessions. */
  | ({ readonly kind: "tool"; readonly request: number } & SessionToolCall)
  /** Nobody waits for the answer of a `tool` any more. */
  | { readonly kind: "untell"; readonly request: number }
  | { readonly kind: "violation"; readonly violation: SecretViolation }
  | { readonly kind: "login"; readonly report: LoginReport }
  | { readonly kind: "throttled"; readonly throttling: Throttling };
