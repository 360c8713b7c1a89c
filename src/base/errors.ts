/**
 * The one table of error codes. Results carry a code; HTTP statuses, retry advice, metrics labels and the
 * README's table are all read from here.
 */

/** Who has to change something for the call to succeed. */
export type Blame = "caller" | "tool" | "operator" | "engine";

/** What the engine knows about an error code. */
export interface ErrorEntry {
  /** The name of the error class that a result's `error.type` shows for the engine's own errors. */
  readonly type: string;
  /** The HTTP status of a call that ends so. 200 where the tool ran: its failure is a result like another. */
  readonly http: number;
  /** Whether the same call may succeed later without anybody changing anything. */
  readonly retryable: boolean;
  readonly blame: Blame;
  /** What to do about it, in one sentence. */
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
    advice: "Mend every violation listed in `details.violations` and call again.",
  },
  input_too_large: {
    type: "InputTooLargeError",
    http: 413,
    retryable: false,
    blame: "caller",
    advice: "Send less, or raise `limits.inputBytes` of the tool.",
  },
  unauthorized: {
    type: "UnauthorizedError",
    http: 401,
    retryable: false,
    blame: "caller",
    advice: "Send a key that the server knows: `Authorization: Bearer KEY`.",
  },
  forbidden: {
    type: "ForbiddenError",
    http: 403,
    retryable: false,
    blame: "caller",
    advice: "Use a key with the role that the message names, or what yours may use.",
  },
  blocked: {
    type: "BlockedError",
    http: 403,
    retryable: false,
    blame: "operator",
    advice: "A `tool:pre` listener refused this call; its reason is in the message.",
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
    advice: "The call waited longer than `limits.queueMs`; call again later or add workers.",
  },
  rate_limited: {
    type: "RateLimitedError",
    http: 429,
    retryable: true,
    blame: "caller",
    advice: "Call again after `details.retryAfterMs`.",
  },
  cancelled: {
    type: "CancelledError",
    http: 499,
    retryable: false,
    blame: "caller",
    advice: "The caller's signal was aborted.",
  },
  tool_error: {
    type: "ToolThrewError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "The tool threw; the message is its own and `details.stack` points at its line.",
  },
  load_error: {
    type: "LoadError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "The tool's module could not be bundled or evaluated; mend what the message names.",
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
    advice: "The tool did not finish in time; await less, or raise `limits.wallMs`.",
  },
  memory_limit: {
    type: "MemoryLimitError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Make the tool hold less at once, or raise `limits.memoryMb`.",
  },
  output_too_large: {
    type: "OutputTooLargeError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Return less, or raise `limits.outputBytes`.",
  },
  invalid_output: {
    type: "InvalidOutputError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Return a JSON value that fits the tool's `outputSchema`.",
  },
  capability_denied: {
    type: "CapabilityDeniedError",
    http: 200,
    retryable: false,
    blame: "operator",
    advice: "`details` says what was asked, what is granted, and what to change for it to be granted.",
  },
  capability_failed: {
    type: "CapabilityFailedError",
    http: 200,
    retryable: true,
    blame: "operator",
    advice: "The capability's handler failed; its message says why.",
  },
  capability_limit: {
    type: "CapabilityLimitError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "Ask the host less often or for less, or raise `limits.capabilityCalls` and `limits.capabilityBytes`.",
  },
  in_progress: {
    type: "InProgressError",
    http: 409,
    retryable: true,
    blame: "caller",
    advice: "Another process runs the call with this key; call again after `details.retryAfterMs`.",
  },
  outcome_unknown: {
    type: "OutcomeUnknownError",
    http: 409,
    retryable: false,
    blame: "engine",
    advice: "What came of the call with this key is not known: look at what it did, then call with a new key.",
  },
  store_failed: {
    type: "StoreFailedError",
    http: 503,
    retryable: true,
    blame: "operator",
    advice: "Mend what `idempotency.path` or `.url` names: the message says what is wrong with it.",
  },
  missing_package: {
    type: "MissingPackageError",
    http: 503,
    retryable: false,
    blame: "operator",
    advice: "Install the optional packages that the message names: `details.command` is the command.",
  },
  executor_crashed: {
    type: "ExecutorCrashedError",
    http: 200,
    retryable: false,
    blame: "tool",
    advice: "This call ended the process that ran it; the tool is on its way into quarantine.",
  },
  executor_lost: {
    type: "ExecutorLostError",
    http: 503,
    retryable: true,
    blame: "engine",
    advice: "The process that ran the call was lost through no fault of the call; call again.",
  },
  tool_quarantined: {
    type: "ToolQuarantinedError",
    http: 503,
    retryable: true,
    blame: "tool",
    advice: "The tool ended several executors; call again after `details.retryAfterMs`.",
  },
  engine_closed: {
    type: "EngineClosedError",
    http: 503,
    retryable: false,
    blame: "engine",
    advice: "The engine is closing or closed; send the call to another one.",
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** Why a call failed, as data: this is what crosses every boundary. */
export interface ToolError {
  readonly code: ErrorCode;
  /** The class name of what the tool threw, or the engine's own error name. */
  readonly type: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: unknown;
}

/** Builds the error of a result from its code, with type and retry advice from the table. */
export function toolError(code: ErrorCode, message: string, details?: unknown, type?: string): ToolError {
  const entry = ERRORS[code];
  const error = { code, type: type ?? entry.type, message, retryable: entry.retryable };
  return details === undefined ? error : { ...error, details };
}

/** Thrown by `createEngine` and `register`: the only public operations that reject. Match on `code`. */
export class GloveboxError extends Error {
  override readonly name = "GloveboxError";
  readonly code: ErrorCode;
  readonly details: unknown;

  constructor(code: ErrorCode, message: string, details?: unknown) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Whether a string is one of the table's codes: for text that comes from outside. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERRORS, value);
}

/** An error as a worker or a capability reports it. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Class name of what the tool threw. */
  readonly type?: string;
  /** V8's stack inside the isolate, not yet mapped to the tool's own lines. */
  readonly stack?: string;
}
