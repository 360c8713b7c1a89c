/** What a tool asks for, what a policy allows, and what a call is given: one shape for all three. */
export interface CapabilityRequest {
  readonly fetch?: {
    readonly origins: readonly string[];
    readonly privateOrigins?: readonly string[];
    readonly methods?: readonly string[];
    readonly maxBytes?: number;
    readonly maxRequests?: number;
  };
  readonly fs?: { readonly [mount: string]: { readonly path?: string; readonly mode: "ro" | "rw" } };
  readonly kv?: true | { readonly maxBytes?: number };
  readonly secrets?: readonly string[];
  readonly tools?: readonly string[];
  readonly env?: readonly string[];
  readonly [custom: string]: unknown;
}

/** Who asks: every handler gets it, so that it can decide and account by tool and tenant. */
export interface CapabilityCall {
  readonly callId: string;
  readonly tool: string;
  readonly tenant?: string;
  /** Aborted when the call ends before the handler does. */
  readonly signal: AbortSignal;
}
