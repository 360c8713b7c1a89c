import type { ErrorCode } from "../../src/kernel/base/errors.ts";

/** What the page of a code says beside the table's entry. */
export interface ErrorText {
  readonly meaning: string;
  readonly causes: readonly string[];
  /** Message and details of a typical error. */
  readonly message: string;
  readonly details?: unknown;
}

const VIOLATION = {
  pointer: "/a",
  keyword: "type",
  expected: "number",
  received: 'string "one"',
  message: '/a must be number, but got string "one"',
};

const GRANTED = "GET, HEAD to https://api.example.com (at most 5242880 bytes and 20 requests in a call)";
const REMEDY =
  'add "https://evil.example" to fetch.origins and "GET" to fetch.methods, in the tool\'s capabilities and in allow of a policy rule';

const NOT_FOUND =
  'imports "left-pad" at greet.js:1, which was not found in any node_modules folder above the tool; install it there';

export const ERROR_TEXTS = {
  tool_not_found: {
    meaning: "The engine has no tool of this name. Nothing ran.",
    causes: [
      "The model or the caller misspelled the name.",
      "The tool was unregistered, or its file is gone.",
      "The caller's key may not see the tool.",
    ],
    message: 'there is no tool "greeet"',
  },
  invalid_arguments: {
    meaning:
      "The call or its arguments do not fit. The tool did not run. The error lists every violation, so that a model can correct its call.",
    causes: [
      "An argument has the wrong type, is missing, or is not in the tool's `inputSchema`.",
      "An option of the call, such as `tenant` or `limits`, has the wrong type.",
      "The same idempotency key came with other arguments.",
    ],
    message: '/a must be number, but got string "one"',
    details: { violations: [VIOLATION] },
  },
  input_too_large: {
    meaning: "The arguments or the request's body exceed their limit. Nothing ran.",
    causes: [
      "The arguments as JSON exceed `limits.inputBytes`.",
      "The body exceeds `bodyBytes`.",
      "A binary gets its arguments on the command line, where the system allows 128 KiB.",
    ],
    message: "the arguments have more than 1048576 bytes of JSON, which is the limit (limits.inputBytes)",
  },
  unauthorized: {
    meaning: "The request has no key, or one that the server does not know.",
    causes: ["The header `Authorization: Bearer KEY` is missing.", "The key was removed or replaced at a reload."],
    message: "a key is needed: Authorization: Bearer KEY",
  },
  forbidden: {
    meaning: "The key is known, but it may not do this.",
    causes: [
      "The key does not have the role of the route.",
      "The key may not call this tool, or not for this tenant.",
      "The request came from a page whose origin is not in `origins`.",
    ],
    message: 'the key does not have the role "admin", which this needs',
  },
  blocked: {
    meaning: "A listener of `tool:pre` refused the call. Nothing ran.",
    causes: ["The host program called `block(reason)`: its own rule applies, an approval is missing, for example."],
    message: "outside business hours",
  },
  queue_full: {
    meaning: "The queue is full: the maximum number of calls waits already. The engine refuses this call at once.",
    causes: [
      "Calls arrive faster than the workers run them.",
      "One slow tool occupies all slots: `queue.perTool` bounds its share.",
    ],
    message: "10000 calls wait already",
    details: { retryAfterMs: 120 },
  },
  queue_timeout: {
    meaning: "The call waited for its start longer than its limit. Nothing ran.",
    causes: [
      "The engine is overloaded.",
      "`limits.queueMs` is shorter than the usual wait.",
      "A fleet has no machine with a free slot.",
    ],
    message: "the call waited 30000 ms for a slot, longer than its limits.queueMs",
  },
  rate_limited: {
    meaning: "The caller exceeds its rate, or has used its quota.",
    causes: ["The key's `rate` or `quota` is used up.", "Too many wrong keys came from one address."],
    message: "the key calls faster than it may; there is more in 400 ms",
    details: { retryAfterMs: 400 },
  },
  cancelled: {
    meaning: "The caller cancelled the call. The tool was stopped; its earlier effects are not undone.",
    causes: [
      "The call's `AbortSignal` was aborted.",
      "The HTTP client closed its connection.",
      "An MCP client sent a cancellation.",
    ],
    message: "the call was cancelled while it ran",
  },
  tool_error: {
    meaning: "The tool threw an exception or returned its contract's error.",
    causes: ["A bug in the tool.", "The tool refuses its input in its own words."],
    message: "No message provided",
    details: { stack: "Error: No message provided\n    at default (greet.ts:4:31)" },
  },
  load_error: {
    meaning: "The tool's module cannot be bundled or evaluated, so the tool cannot be registered or run.",
    causes: [
      "A syntax error, or an import that does not resolve.",
      "A package lacks a file that its contract demands.",
      "The runtime is missing: Python needs the package `pyodide`.",
    ],
    message: `tool "greet" ${NOT_FOUND}`,
    details: { errors: [NOT_FOUND] },
  },
  cpu_limit: {
    meaning: "The call exceeded its limit of processor time. It was stopped.",
    causes: [
      "An endless loop.",
      "More work than `limits.cpuMs` allows.",
      "A pattern that backtracks for a long time.",
      "A schema whose check takes too long: then the message ends with `while checking the arguments` or `while checking the output`.",
    ],
    message: "the call used more than 2000 ms of processor time (limits.cpuMs)",
  },
  wall_limit: {
    meaning: "The call did not end within its time. It was stopped.",
    causes: ["The tool waits for something slow.", "A promise that never settles."],
    message: "the call took longer than 30000 ms (limits.wallMs)",
  },
  memory_limit: {
    meaning: "The tool's isolate reached its heap limit, or V8 ran out of memory. The call was stopped.",
    causes: ["The tool holds too much at once.", "`limits.memoryMb` is too small for the tool's packages."],
    message: "the call needed more memory than its isolate may have (limits.memoryMb)",
  },
  output_too_large: {
    meaning: "The tool's output as JSON exceeds `limits.outputBytes`. The output is dropped.",
    causes: ["The tool returns whole files or tables. `outputChars` cuts long texts instead."],
    message: "the output has 2097154 characters of JSON, the limit is 1048576 bytes (limits.outputBytes)",
  },
  invalid_output: {
    meaning: "The tool's output is not JSON, or does not fit its `outputSchema`. The output is dropped.",
    causes: [
      "The output has a value that JSON cannot hold, such as `NaN`, a promise or a stream: [values](../values.md).",
      "The tool's `outputSchema` and its code disagree.",
    ],
    message: "the output does not match the tool's outputSchema",
    details: { violations: [VIOLATION] },
  },
  capability_denied: {
    meaning: "The tool used a capability that it was not granted, and did not catch the exception.",
    causes: [
      "The tool did not ask for the capability.",
      "No rule of the policy allows it to this tool and tenant.",
      "A request went to an origin outside the grant, or to a private address.",
    ],
    message: `GET https://evil.example/ was not granted; asked for: GET https://evil.example/; granted: ${GRANTED}; to grant it, ${REMEDY}`,
    details: { capability: "fetch", asked: "GET https://evil.example/", granted: GRANTED, remedy: REMEDY },
  },
  capability_failed: {
    meaning: "A granted capability failed, and the tool did not catch the exception.",
    causes: [
      "The handler of a custom capability threw.",
      "The store behind a capability does not answer.",
      "Not this: a failed request and a missing file are exceptions of `fetch` and `host.fs`. Uncaught, they end the call with `tool_error`.",
    ],
    message: "inventory.count failed: the warehouse does not answer",
  },
  login_required: {
    meaning:
      "The tool's connector has no access token, and gets none until a person logs in or its options are corrected.",
    causes: [
      "The connector was never logged in, or not for this tenant: the message has the command.",
      "The authorization server refuses to renew the login (`invalid_grant`): log in again.",
      "It refuses the client (`invalid_client`): correct the `auth` of the connector, or its secrets.",
      "Not this: if the authorization server is down, the code is `capability_failed`, and the request is retried.",
    ],
    message:
      'connector.request failed: the connector "crm" needs a login: nobody has logged in; run: glovebox connectors login crm',
  },
  capability_limit: {
    meaning: "The call made too many capability calls, or transferred too much data.",
    causes: [
      "More calls than `limits.capabilityCalls`, or more data than `limits.capabilityBytes`.",
      "A bound of the capability itself: its `rateLimit`, or `maxRequests` and `maxBytes` of a grant.",
    ],
    message:
      "a call may make 100 capability calls; asked for: kv.get; granted: make 100 capability calls; to grant it, raise limits.capabilityCalls of the tool",
    details: {
      capability: "kv",
      asked: "kv.get",
      granted: "make 100 capability calls",
      remedy: "raise limits.capabilityCalls of the tool",
    },
  },
  in_progress: {
    meaning: "Another process runs the call with this idempotency key, and this process cannot wait for it.",
    causes: ["A client repeated a request that still runs."],
    message: "the call with this idempotencyKey is still running in another process",
    details: { retryAfterMs: 1000 },
  },
  outcome_unknown: {
    meaning: "A call with this idempotency key began, and its result is not known. Effects may have happened.",
    causes: [
      "The process that ran the call was killed before the call ended.",
      "The result was too large to be stored.",
    ],
    message:
      "the process that ran the call with this idempotencyKey ended before the call; the call may have had effects",
  },
  store_failed: {
    meaning:
      "The store of idempotency keys, or of calls that wait, does not work, so the engine cannot promise to run the call once, or to keep it.",
    causes: ["The disk is full or the file is not writable.", "Redis does not answer."],
    message: "the idempotency store cannot be used: Redis does not answer",
  },
  executor_crashed: {
    meaning: "The call ended the process that ran it. Other calls of that process start again by themselves.",
    causes: ["The tool aborted V8.", "A binary or a native bug killed the process during the call's turn."],
    message: "its executor process ended",
  },
  executor_lost: {
    meaning:
      "The process or machine that ran the call is lost, through no fault of the call, and the call could not start again.",
    causes: [
      "A worker machine or Redis was lost for longer than `executor.lostMs`.",
      "The call had effects, and its second run made a different request.",
      "No executor process starts: `sandbox: require` without bubblewrap, for example.",
    ],
    message: "its executor process ended; 2 of its capability calls had been carried out",
    details: { effects: 2 },
  },
  tool_quarantined: {
    meaning:
      "The tool ended several executor processes, so the engine refuses this tenant's calls of it for a while. Nothing ran.",
    causes: ["The tool crashes or exhausts its executor again and again."],
    message: 'tool "greet" has ended too many executors',
    details: { retryAfterMs: 30000 },
  },
  missing_package: {
    meaning: "The configuration needs an optional package that is not installed. Nothing ran.",
    causes: [
      '`executor: { kind: "queue" }` or a Redis store, without `bullmq` or `ioredis`.',
      "A Python tool, without `pyodide`.",
    ],
    message: 'executor "queue" needs the packages bullmq and ioredis, which are not installed',
    details: { command: "npm install bullmq@^6.7 ioredis@^6" },
  },
  paused: {
    meaning:
      "The call waits for a person, a signal, a time or another call. It is stored, and uses no worker meanwhile. The caller only has to fetch the result later.",
    causes: [
      "The tool's `approval`, or a rule of `policy.approvals`, requires the approval of a person.",
      "A listener of `tool:pre` called `requireApproval`.",
      "The tool or the program called `approval`, `signal` or `sleepUntil`.",
    ],
    message: "the call waits for the approval of refund: the tool asks for it; it is kept as c_q1Ktxs3M8bJ0sYwZ",
    details: { id: "c_q1Ktxs3M8bJ0sYwZ" },
  },
  approval_refused: {
    meaning:
      "A person refused the call, or the time for the decision ran out, so the part that needs the approval did not run; or an expected signal did not arrive in time.",
    causes: [
      "A person decided `refuse`.",
      "The time of the rule, `expiresMs`, ran out.",
      "The call waited for a signal, which did not arrive within its `expiresMs`.",
    ],
    message: "it was refused by ada@example.com: the order was delivered",
  },
  cannot_pause: {
    meaning: "The call has to wait, but cannot be stored meanwhile. No approval was requested.",
    causes: [
      'The caller said `pause: "refuse"`.',
      "The tenant has reached its maximum of paused calls, or the call its maximum of waits or bytes.",
    ],
    message: "the call has to wait: the tool asks for it, and its caller has said that it must not",
  },
  diverged: {
    meaning:
      "The call could not continue after its pause. To continue, it runs again with its earlier answers, and this time it made a different request. Effects before the pause are not undone; nothing after it ran.",
    causes: [
      "Another version of Node or of Glovebox, under which the tool behaves differently.",
      "The `config` of the tool has changed since the call began, or its earlier code is not available any more. In both cases nothing ran again.",
    ],
    message: "after its pause the call asked for something else than before",
  },
  engine_closed: {
    meaning: "The engine closes or is closed. Calls that had not ended were stopped.",
    causes: ["The server got SIGTERM.", "The host program called `engine.close()`."],
    message: "the engine takes no more calls",
  },
} as const satisfies Record<ErrorCode, ErrorText>;
