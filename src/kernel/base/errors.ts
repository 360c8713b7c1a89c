import type { Remedy } from "./remedy.ts";
import type { Violation } from "./schema/violation.ts";

/**
 * The one table of error codes: source of result types, HTTP statuses, retry advice, metrics labels and the README's
 * table.
 */

/** The party that has to change something for the call to succeed. */
export type Blame = "caller" | "tool" | "operator" | "engine";

export interface ErrorEntry {
  /** `error.type` of a result that failed with this code. */
  readonly type: string;
  /** HTTP status of a call with this error. 200 if the tool ran, because its failure is an ordinary result. */
  readonly http: number;
  /** Whether the same call may succeed later without any change. */
  readonly retryable: boolean;
  readonly blame: Blame;
  /** The remedy, in one sentence. */
  readonly advice: string;
}

export const ERRORS = {
  tool_not_found: {
    type: "ToolNotFoundError",
    http: 404,
    retryable: false,
    blame: "caller",
    advice: "Call a tool that is registered; `list()` and `GET /v1/tools` name them.",
  },
  invalid_arguments: {
    type: "InvalidArgumentsError",
    http: 400,
    retryable: false,
    blame: "caller",
    advice: "Fix the violations in `details.violations`: the tool's `inputSchema` says what fits.",
  },
  input_too_large: {
    type: "InputTooLargeError",
    http: 413,
    retryable: false,
    blame: "caller",
    advice:
      "Send smaller arguments, or raise `limits.inputBytes` of the engine; a tool asks for more only where `maxLimits.inputBytes` is set.",
  },
  unauthorized: {
    type: "UnauthorizedError",
    http: 401,
    retryable: false,
    blame: "caller",
    advice: "Send a key as `Authorization: Bearer KEY`; `glovebox keys new` makes one.",
  },
  forbidden: {
    type: "ForbiddenError",
    http: 403,
    retryable: false,
    blame: "caller",
    advice: "Use a key with the role that the message names, or widen the key's entry in `keys`.",
  },
  blocked: {
    type: "BlockedError",
    http: 403,
    retryable: false,
    blame: "operator",
    advice: "Read the reason in the message: a listener of `tool:pre` refused the call.",
  },
  queue_full: {
    type: "QueueFullError",
    http: 429,
    retryable: true,
    blame: "operator",
    advice: "Call again after `details.retryAfterMs`, or raise `queue.maxQueued`.",
  },
  queue_timeout: {
    type: "QueueTimeoutError",
    http: 503,
    retryable: true,
    blame: "operator",
    advice: "Call again later, add workers, or raise `limits.queueMs`.",
  },
  rate_limited: {
    type: "RateLimitedError",
    http: 429,
    retryable: true,
    blame: "caller",
    advice: "Call again after `details.retryAfterMs`, or raise the key's `rate` or `quota` in `keys`.",
  },
  cancelled: {
    type: "CancelledError",
    http: 499,
    retryable: false,
    blame: "caller",
    advice: "None needed: the caller aborted the call's `signal`, or ended its request.",
  },
  tool_error: {
    type: "ToolThrewError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Fix the tool or its input, and try it with `glovebox run`: `details.stack` points at the line that threw.",
  },
  load_error: {
    type: "LoadError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Fix what the message names, and check the module with `glovebox validate`.",
  },
  cpu_limit: {
    type: "CpuLimitError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Make the tool do less per call, or raise `limits.cpuMs`.",
  },
  wall_limit: {
    type: "WallLimitError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Make the tool wait less, or raise `limits.wallMs`.",
  },
  memory_limit: {
    type: "MemoryLimitError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Make the tool keep less in memory, or raise `limits.memoryMb`.",
  },
  output_too_large: {
    type: "OutputTooLargeError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Return a smaller output, or raise `limits.outputBytes`.",
  },
  invalid_output: {
    type: "InvalidOutputError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Return a JSON value that matches the tool's `outputSchema`.",
  },
  capability_denied: {
    type: "CapabilityDeniedError",
    http: 200,
    retryable: false,
    blame: "operator",
    advice: "Apply `remedies` or `details.remedy`; `glovebox explain` shows what is granted.",
  },
  capability_failed: {
    type: "CapabilityFailedError",
    http: 200,
    retryable: true,
    blame: "operator",
    advice: "Fix the cause in the message, or call again, as `retries` does: the capability's handler failed.",
  },
  login_required: {
    type: "LoginRequiredError",
    http: 200,
    retryable: false,
    blame: "operator",
    advice: "Run `glovebox connectors login`, or mend the options that the message names.",
  },
  capability_limit: {
    type: "CapabilityLimitError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Make fewer or smaller capability calls, or raise `limits.capabilityCalls` and `limits.capabilityBytes`.",
  },
  in_progress: {
    type: "InProgressError",
    http: 409,
    retryable: true,
    blame: "caller",
    advice: "Call again after `details.retryAfterMs`: another process runs the call with this `idempotencyKey`.",
  },
  outcome_unknown: {
    type: "OutcomeUnknownError",
    http: 409,
    retryable: false,
    blame: "engine",
    advice: "Check which effects the call had, then call with a new `idempotencyKey`.",
  },
  store_failed: {
    type: "StoreFailedError",
    http: 503,
    retryable: true,
    blame: "operator",
    advice: "Repair the store, of `calls` or of `idempotency`; the message names the problem.",
  },
  missing_package: {
    type: "MissingPackageError",
    http: 503,
    retryable: false,
    blame: "operator",
    advice: "Install the packages with `npm install`, as in `details.command`.",
  },
  executor_crashed: {
    type: "ExecutorCrashedError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Fix the tool, which crashed its executor, and try it with `glovebox run`.",
  },
  executor_lost: {
    type: "ExecutorLostError",
    http: 503,
    retryable: true,
    blame: "engine",
    advice: "Call again, as `retries` does: the executor was lost for another reason than this call.",
  },
  tool_quarantined: {
    type: "ToolQuarantinedError",
    http: 503,
    retryable: true,
    blame: "tool",
    advice: "Call again after `details.retryAfterMs`; `glovebox calls list` shows the calls that crashed executors.",
  },
  paused: {
    type: "PausedError",
    http: 202,
    retryable: false,
    blame: "operator",
    advice:
      "Decide the call with `glovebox calls approve`, then get it with `glovebox calls result`: its id is `details.id`.",
  },
  approval_refused: {
    type: "ApprovalRefusedError",
    http: 200,
    retryable: false,
    blame: "operator",
    advice: "Read the reason in the message: a person refused, or the time of `policy.approvals` was over.",
  },
  cannot_pause: {
    type: "CannotPauseError",
    http: 200,
    retryable: false,
    blame: "operator",
    advice: "Remove the cause in the message, such as the option `pause`, or the rule of `policy.approvals`.",
  },
  diverged: {
    type: "DivergedError",
    http: 409,
    retryable: false,
    blame: "engine",
    advice:
      "Undo the call's effects with `glovebox calls undo`, or leave them: it asked for something else than before.",
  },
  engine_closed: {
    type: "EngineClosedError",
    http: 503,
    retryable: false,
    blame: "engine",
    advice: "Send the call to an engine whose `GET /readyz` answers 200: this one is closing.",
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** A refusal that passes: the same call may be sent again after this time, in milliseconds. */
export interface Retry {
  readonly retryAfterMs: number;
}

/** A capability call that a grant or a limit refused. */
export interface RefusedCapability {
  readonly capability: string;
  readonly asked: string;
  readonly granted: string;
  /** The remedy in words. `remedies` has texts to paste. */
  readonly remedy: string;
}

/** A JavaScript or Python stack with the lines of the tool's own source. */
interface WithStack {
  readonly stack?: string;
}

/** Number of completed capability calls of a lost call, if it had any. */
interface WithEffects {
  readonly effects?: number;
}

/** `details` of an error by its code. Other codes have none. */
export interface ErrorDetails {
  invalid_arguments: { readonly violations: readonly Violation[] };
  invalid_output: WithStack & { readonly violations?: readonly Violation[] };
  queue_full: Retry;
  queue_timeout: WithEffects;
  rate_limited: Retry;
  in_progress: Retry;
  cancelled: WithEffects;
  tool_error: WithStack & { readonly [key: string]: unknown };
  load_error: WithStack & { readonly [key: string]: unknown };
  capability_denied: RefusedCapability & WithStack;
  capability_limit: RefusedCapability & WithStack;
  capability_failed: WithStack;
  login_required: WithStack;
  missing_package: { readonly packages: readonly string[]; readonly command: string };
  executor_lost: WithEffects;
  paused: { readonly id: string };
  /** `by`: the name from the deciding application, or else that of the key. */
  approval_refused: { readonly expired?: true; readonly reason?: string; readonly by?: string };
  /** `bound`: the limit beyond which the call would be, in words. */
  cannot_pause: { readonly bound?: string };
  tool_quarantined: Retry & WithEffects;
}

/** An error as data, the same at every boundary: a union by `code`, each with the `details` of its code. */
export type ToolError<Code extends ErrorCode = ErrorCode> = {
  [C in Code]: {
    readonly code: C;
    /** The class name of the exception that the tool threw, or the engine's own error name. */
    readonly type: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly details?: C extends keyof ErrorDetails ? ErrorDetails[C] : undefined;
    /** Texts to paste, so that the call succeeds, least privilege first. */
    readonly remedies?: readonly Remedy[];
  };
}[Code];

/** Builds the error of a result from its code, with type and retry advice from the table. */
export function toolError(code: ErrorCode, message: string, details?: unknown, type?: string): ToolError {
  const entry = ERRORS[code];
  const error = { code, type: type ?? entry.type, message, retryable: entry.retryable };
  // Details come from many sources, and from tools; `ErrorDetails` defines those of each code.
  return (details === undefined ? error : { ...error, details }) as ToolError;
}

/** Thrown by `createEngine` and `register`: the only public operations that reject. Match on `code`. */
export class GloveboxError extends Error {
  override readonly name = "GloveboxError";
  readonly code: ErrorCode;
  readonly details: unknown;
  /** Texts to paste as a remedy. */
  readonly remedies: readonly Remedy[];

  constructor(code: ErrorCode, message: string, details?: unknown, remedies: readonly Remedy[] = []) {
    super(message);
    this.code = code;
    this.details = details;
    this.remedies = remedies;
  }
}

/** The error of a tool that cannot be registered; `problem` follows its name. */
export function loadError(tool: string, problem: string, details?: unknown): GloveboxError {
  return new GloveboxError("load_error", `tool "${tool}" ${problem}`, details);
}

/** Whether a value from outside is one of the table's codes. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERRORS, value);
}

/** An error as a worker or a capability reports it. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Class name of the exception that the tool threw. */
  readonly type?: string;
  /** V8's stack inside the isolate, not yet mapped to lines of the tool's source. */
  readonly stack?: string;
  /** Violations of a schema, if the value does not match it. */
  readonly violations?: readonly Violation[];
  /** Details of a failed capability call, for the tool: see `ErrorDetails`. Workers give none. */
  readonly details?: object;
}

/** A store failure, worded for a tool or a caller: it contains no path of the host and no address. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** Whether the store may have executed the request all the same, or may still do so. */
  readonly isUnanswered: boolean;
  /** Whether the stored record was changed, or sealed with another secret: a retry does not help. */
  readonly isDamaged: boolean;

  constructor(message: string, { isUnanswered, isDamaged, ...options }: ErrorOptions & Partial<StoreFlags> = {}) {
    super(message, options);
    this.isUnanswered = isUnanswered === true;
    this.isDamaged = isDamaged === true;
  }
}

/** Properties of a store failure besides its message. */
export type StoreFlags = Pick<StoreError, "isUnanswered" | "isDamaged">;

const LINE_MAX = 300;

/** A line of an error for others to read: without the folders of the host's paths, and cut. */
export function withoutPaths(line: string): string {
  return line.replaceAll(/(?:file:\/\/)?\/[^\s'"]*\//g, "").slice(0, LINE_MAX);
}
