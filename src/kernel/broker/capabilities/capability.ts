import type { ErrorCode } from "../../base/errors.ts";
import type { JsonSchema } from "../../base/json.ts";
import type { Limits } from "../../base/limits.ts";
import type { ChildReply } from "../../base/protocol/capability-call.ts";
import type { EditedCall } from "../../base/result.ts";

/** Capabilities that a tool requests, a policy allows, or a call is granted: one shape for all three. */
export interface CapabilityRequest {
  readonly fetch?: {
    /** `https://api.example.com`, optionally with a path prefix; `https://*.example.com`; or `*`. */
    readonly origins: readonly string[];
    /** Policy only: exact origins on private or loopback addresses. All other private addresses are refused. */
    readonly privateOrigins?: readonly string[];
    readonly methods?: readonly string[];
    readonly maxBytes?: number;
    readonly maxRequests?: number;
  };
  /** `path` is allowed in a policy only: tools use the names of mounts. */
  readonly fs?: { readonly [mount: string]: { readonly path?: string; readonly mode: "ro" | "rw" } };
  /**
   * Shell commands. `mounts` are allowed in a policy only: folders of the host that commands see, by their paths
   * inside.
   */
  readonly exec?:
    | true
    | {
        readonly wallMs?: number;
        readonly outputBytes?: number;
        readonly mounts?: { readonly [path: string]: { readonly path: string; readonly mode: "ro" | "rw" } };
        readonly network?: false;
      };
  /** Permission of a tool with the runtime `native` to run its binary, within the tool's limits. */
  readonly native?: true;
  /** Permission of a connector's tool to use it: the connector's name. */
  readonly connector?: readonly string[];
  readonly kv?: true | { readonly maxBytes?: number };
  readonly secrets?: readonly string[];
  readonly tools?: readonly string[];
  readonly env?: readonly string[];
  /** Permission to wait, however long, for a person, a signal or a time: the call is kept meanwhile. */
  readonly pause?: true;
  readonly [custom: string]: unknown;
}

/** The call that uses a capability. Handlers receive it, so that they can decide and account by tool and tenant. */
export interface CapabilityCaller {
  readonly callId: string;
  readonly tool: string;
  /** Registrant of the tool; see `ToolInfo`. Default: `operator`. */
  readonly registrant?: string;
  readonly tenant?: string;
  /** Aborted when the call ends before the handler does. */
  readonly signal: AbortSignal;
}

/** Author of a value: a tool requests, a policy rule allows, a call narrows. A narrowing keeps the fields it omits. */
export type GrantSource = "request" | "policy" | "narrowing";

/** A part of a tool's request that no grant covers. */
export interface UncoveredPart {
  /** JSON pointer into the request of the capability; empty for the whole. */
  readonly pointer: string;
  /** The uncovered part in words: `POST to https://api.example.com`. */
  readonly asked: string;
}

/** Reading and combining of the values of a tool, a policy rule and a call. */
export interface GrantKind<Value> {
  /** Reads a value, which may be hostile. Throws a `TypeError` that names the pointer and the expected value. */
  read(value: unknown, side: GrantSource): Value;
  /** The intersection of both, or `null` if it is empty. Values that only a policy may have come from `allowed`. */
  meet(asked: Value, allowed: Value): Value | null;
  /** The parts of the request that no grant covers. */
  uncovered(asked: Value, granted: readonly Value[]): readonly UncoveredPart[];
  /** Describes a value in words, for refusals and explanations: without secrets and paths of the host. */
  describe(value: Value): string;
}

/** Schemas of a method's arguments and result. Without a schema, any value is accepted. */
export interface MethodShape {
  readonly input?: JsonSchema;
  readonly output?: JsonSchema;
  /**
   * Whether the method has no effects, so that the call may be retried after it. `args` match the schema. Default:
   * false.
   */
  readonly isRead?: boolean | ((args: unknown) => boolean);
  /** Whether its handler announces the effect of a stored call: only the handler knows whether there is one. */
  readonly isAnnounced?: true;
  /** Maximum length of the arguments' JSON, in UTF-16 units: then `capability_limit`. Default 1 MiB. */
  readonly inputBytes?: number;
}

/** Runs another tool on behalf of a call: within the call's remaining time, and cancelled with it. */
export type CallTool = (name: string, args: Record<string, unknown>, step: number) => Promise<ChildCallEnd>;

export type AdoptChild = (name: string, args: Record<string, unknown>, reply: ChildReply) => void;

/** A wait that a call asks for. Times in milliseconds since the epoch. */
export type AskedPause =
  | {
      readonly kind: "approval";
      readonly message: string;
      /** Schema of the decision's data; `null` allows any. */
      readonly data: unknown;
      /** Schema of the data in the decision; `null` allows any. */
      readonly schema: JsonSchema | null;
      readonly expiresMs: number | null;
    }
  | { readonly kind: "signal"; readonly name: string; readonly expiresMs: number | null }
  | { readonly kind: "time"; readonly untilMs: number };

/** Waits, without a time limit of its own, and resolves with the answer. Throws a `CallFailure`. */
export type PauseCall = (step: number, asked: AskedPause) => Promise<unknown>;

/** The end of a child call. */
export interface ChildCallEnd {
  readonly result: CalledToolResult;
  /** Its id, for people: the calling tool does not see it. */
  readonly callId?: string;
  /** Only if the person who approved it has edited its arguments. */
  readonly edited?: EditedCall;
}

export type CalledToolResult =
  | { readonly ok: true; readonly output: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly details?: object | undefined };

/** Runs work of the host's thread in a tenant's turn: now, or as a promise. */
export type OnHost = <Value>(task: () => Value) => Value | Promise<Awaited<Value>>;

/** The call for which a capability is opened. */
export interface OpenCall extends CapabilityCaller {
  /** See `BrokeredCall`. */
  readonly callNumber?: number;
  readonly callTool: CallTool;
  /** Adds to the call a child call that its worker has run. Throws a `CapabilityRefusal`. */
  readonly adoptChild?: AdoptChild;
  /** Waits for a person, a signal or a time. Default: the call cannot wait. */
  readonly pause?: PauseCall | undefined;
  /** See `BrokeredCall` and `effectName`. */
  readonly effectsId?: string;
  /** Grants of the call for any capability: alternatives; empty if it has none. */
  readonly grantsOf: (capability: string) => readonly unknown[];
  /** Runs work on the bytes of the call in its tenant's turn, and charges it. Default: at once. */
  readonly onHost?: OnHost;
  /** End of the call's time, by `performance.now()`. Default: unknown. */
  readonly endsMs?: number;
  /** Counts a request that waits for a store which cannot be reached. */
  readonly onWait?: () => void;
  /** The binary of a tool that runs outside of isolates. */
  readonly binary?: CallBinary;
  /** The operation of a connector's tool. */
  readonly remote?: CallOperation;
}

/** Name of the effect of a capability call, by its step. */
export function effectName(effectsId: string, step: number): string {
  return `${effectsId}/${step}`;
}

/** The operation of a call's tool at another server. */
export interface CallOperation {
  /** An `Operation` as JSON. */
  readonly operation: string;
  /** Time of the call, which waiting for the server must not exceed. */
  readonly wallMs: number;
}

/** The binary of a call's tool, and the limits of the call. */
export interface CallBinary {
  /** Its file: the hash of the content or, on the broker thread, the path. */
  readonly file: string;
  readonly limits: Pick<Limits, "wallMs" | "cpuMs" | "memoryMb" | "outputBytes">;
}

/** A capability as it serves one call. */
export interface OpenCapability {
  /**
   * Carries out a method of the capability's `methods`, with arguments that match its schema, as the call's `step`-th
   * capability call. Returns a JSON value, or
   * a promise of one. Throws a `CapabilityRefusal`, or any other error if it fails.
   */
  invoke(method: string, args: unknown, step: number): unknown;
  /** Whether a later run of the call may carry out a method again, as its effect has the same name. Default: never. */
  isRepeatable?(method: string): boolean;
  /** Takes the end of a child call that the call's worker has run. Throws as `invoke` does. */
  adopt?(args: unknown, reply: ChildReply): void;
  /** State of the call that a later run would not find, such as files; `null` for none. Default: none. */
  readonly held?: string | null;
  /** Releases all resources when the call has ended. Never throws. */
  close?(): void | Promise<void>;
}

/** A capability as the broker uses it. */
export interface Capability<Value = unknown> {
  /** Only a capability of another thread has a kind. */
  readonly kind?: undefined;
  readonly name: string;
  /** Whether functions of the embedder get the arguments: long integers as strings of digits. Others pass them on. */
  readonly isOfEmbedder?: true;
  readonly grants: GrantKind<Value>;
  readonly methods: { readonly [method: string]: MethodShape };
  /** Names of tools that its call is likely to call through it. */
  readonly callees?: readonly string[];
  /**
   * Opens the capability at the call's first use of it. `grants` are alternatives, at least one: a request that any of
   * them covers is granted.
   */
  open(call: OpenCall, grants: readonly Value[]): OpenCapability;
  /** Releases all resources when the engine closes. */
  close?(): void | Promise<void>;
}

/** A refusal and its remedy, without secrets and paths of the host. */
export interface Refused {
  /** `GET https://example.com/` */
  readonly asked: string;
  /** `GET, HEAD to https://api.example.com` */
  readonly granted: string;
  /** The change, and its place, that grants the request. */
  readonly remedy: string;
}

/** Thrown by a capability that denies a capability call, or if the call exceeds a limit. */
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

/** Thrown if work that a capability does for the call itself reaches one of the call's limits. */
export class LimitReached extends Error {
  override readonly name = "LimitReached";
  readonly code: Extract<ErrorCode, "cpu_limit" | "memory_limit" | "input_too_large" | "output_too_large">;

  constructor(code: LimitReached["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Thrown if a capability call fails with the code of another failure, such as a refused approval. */
export class CallFailure extends Error {
  override readonly name = "CallFailure";
  readonly code: ErrorCode;
  /** See `ErrorDetails`; the tool gets them, too. */
  readonly details: object | undefined;

  constructor(code: ErrorCode, message: string, details?: object) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Thrown if a connector has no token: a person has to log in, or the operator has to correct its options. */
export class LoginRequired extends Error {
  override readonly name = "LoginRequired";
}

/** The fault of a part of a grant or of a policy. `form`: the form that it must have, such as `is a list of names`. */
export function faultOf(value: unknown, form: string): string {
  return value === undefined ? `is missing; it ${form}` : form;
}
