import type { ErrorCode } from "../../base/errors.ts";
import type { JsonSchema } from "../../base/json.ts";
import type { Limits } from "../../base/limits.ts";

/** What a tool asks for, what a policy allows, and what a call is given: one shape for all three. */
export interface CapabilityRequest {
  readonly fetch?: {
    /** `https://api.example.com`, with a path prefix where only that is meant, `https://*.example.com`, `*`. */
    readonly origins: readonly string[];
    /** Policy only: exact origins on private or loopback addresses; all others of those are refused. */
    readonly privateOrigins?: readonly string[];
    readonly methods?: readonly string[];
    readonly maxBytes?: number;
    readonly maxRequests?: number;
  };
  /** `path` is the policy's alone: tools know mounts by their names. */
  readonly fs?: { readonly [mount: string]: { readonly path?: string; readonly mode: "ro" | "rw" } };
  /** Commands of a shell. `mounts` are the policy's alone: the host's folders that commands see, by their paths inside. */
  readonly exec?:
    | true
    | {
        readonly wallMs?: number;
        readonly outputBytes?: number;
        readonly mounts?: { readonly [path: string]: { readonly path: string; readonly mode: "ro" | "rw" } };
        readonly network?: false;
      };
  /** That a tool whose runtime is `native` runs its binary: what that may use, the tool's limits say. */
  readonly native?: true;
  readonly kv?: true | { readonly maxBytes?: number };
  readonly secrets?: readonly string[];
  readonly tools?: readonly string[];
  readonly env?: readonly string[];
  readonly [custom: string]: unknown;
}

/** The call that uses a capability: every handler gets it, so that it can decide and account by tool and tenant. */
export interface CapabilityCaller {
  readonly callId: string;
  readonly tool: string;
  readonly tenant?: string;
  /** Aborted when the call ends before the handler does. */
  readonly signal: AbortSignal;
}

/** Who wrote a value: a tool asks, a policy rule allows, a call narrows; a narrowing keeps what it does not name. */
export type GrantSource = "request" | "policy" | "narrowing";

/** A part of what a tool asks for that nothing allows. */
export interface UncoveredPart {
  /** JSON pointer into the request of the capability; empty for the whole. */
  readonly pointer: string;
  /** What is asked for there, in words: `POST to https://api.example.com`. */
  readonly asked: string;
}

/** How the values of a tool, a policy rule and a call are read and combined. */
export interface GrantKind<Value> {
  /** Reads a value, which may be hostile. Throws a `TypeError` that names the pointer and what belongs there. */
  read(value: unknown, side: GrantSource): Value;
  /** The intersection of both, or `null` where it is empty. Values that only a policy may have come from `allowed`. */
  meet(asked: Value, allowed: Value): Value | null;
  /** The parts of what is asked for that none of the grants gives. */
  uncovered(asked: Value, granted: readonly Value[]): readonly UncoveredPart[];
  /** In words, for refusals and explanations: without secrets, and without paths of the host. */
  describe(value: Value): string;
}

/** What a method takes and answers with; anything where there is no schema. */
export interface MethodShape {
  readonly input?: JsonSchema;
  readonly output?: JsonSchema;
  /** Whether it changes nothing, so that a call may be tried again after it. `args`: as its schema lets them through. Default: false. */
  readonly isRead?: boolean | ((args: unknown) => boolean);
}

/** Runs another tool on a call's behalf: within what is left of its time, cancelled with it. */
export type CallTool = (name: string, args: Record<string, unknown>) => Promise<CalledToolResult>;

/** The result of a called tool. */
export type CalledToolResult =
  | { readonly ok: true; readonly output: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** The call that a capability is opened for. */
export interface OpenCall extends CapabilityCaller {
  readonly callTool: CallTool;
  /** What the call is granted of a capability, also of another one: alternatives, none where it is not. */
  readonly grantsOf: (capability: string) => readonly unknown[];
  /** What the call's tool is instead of a module, where that runs outside of isolates. */
  readonly binary?: CallBinary;
}

/** The binary of a call's tool, by the hash of its file, and what the call may use. */
export interface CallBinary {
  readonly hash: string;
  readonly limits: Pick<Limits, "wallMs" | "cpuMs" | "memoryMb" | "outputBytes">;
}

/** A capability as it serves one call. */
export interface OpenCapability {
  /**
   * Carries out a method of the capability's `methods`, with arguments that its schema lets through. Answers with a
   * JSON value, or a promise of one. Throws a `CapabilityRefusal`, or anything else where it fails.
   */
  invoke(method: string, args: unknown): unknown;
  /** The call has ended: releases what it holds. Never throws. */
  close?(): void | Promise<void>;
}

/** A capability as the broker knows it. */
export interface Capability<Value = unknown> {
  readonly name: string;
  readonly grants: GrantKind<Value>;
  readonly methods: { readonly [method: string]: MethodShape };
  /** Opens it for a call, with the call's first use. `grants` are alternatives, at least one: what any of them gives is granted. */
  open(call: OpenCall, grants: readonly Value[]): OpenCapability;
  /** The engine closes. */
  close?(): void | Promise<void>;
}

/** A refusal and how to change it: without secrets, and without paths of the host. */
export interface Refused {
  /** `GET https://example.com/` */
  readonly asked: string;
  /** `GET, HEAD to https://api.example.com` */
  readonly granted: string;
  /** What to change, where, for it to be granted. */
  readonly remedy: string;
}

/** Thrown by a capability that denies a call, or where the call is beyond a limit. */
export class CapabilityRefusal extends Error {
  override readonly name = "CapabilityRefusal";
  readonly outcome: "denied" | "limit";
  readonly refused: Refused;

  constructor(outcome: "denied" | "limit", message: string, refused: Refused) {
    super(message);
    this.outcome = outcome;
    this.refused = refused;
  }
}

/** Thrown where a capability does the call's own work, and reaches one of the call's limits. */
export class LimitReached extends Error {
  override readonly name = "LimitReached";
  readonly code: Extract<ErrorCode, "cpu_limit" | "memory_limit" | "input_too_large" | "output_too_large">;

  constructor(code: LimitReached["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Whether a pattern names it. Patterns may end in `*`. */
export function matchesName(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}
