import { type ApiAnswer, json, refusals, type RouteDescription } from "./route-description.ts";
import { SCHEMAS } from "./schemas.ts";

const STREAM = "text/event-stream";
const LINES = "application/x-ndjson";
const CALL = { id: "c1", name: "add", arguments: { a: 1, b: 2 } };
const METADATA = {
  callId: "c1",
  tool: "add",
  queueMs: 0,
  wallMs: 0.4,
  cpuMs: 0.1,
  heapBytes: 2_400_000,
  attempts: 1,
  logs: [],
};
const RESULT = { success: true, output: { sum: 3 }, error: null, metadata: METADATA };

const LINE = JSON.stringify({ index: 0, result: RESULT });

const RETRY_AFTER = { "Retry-After": "Seconds to wait before the next attempt." };

const REFUSALS = {
  ...refusals({
    400: "The request is not a call, or its arguments violate the tool's schema: see `error.details.violations`.",
    406: "No media type in Accept is supported.",
    413: "The body or the arguments are too large.",
  }),
  429: { ...refusals({ 429: "Too many calls." })[429], headers: RETRY_AFTER } as ApiAnswer,
};

/** A response as one JSON body or as a stream, by the `Accept` header. `streams`: examples by media type. */
function inEither(description: string, inOne: ApiAnswer, streams: Readonly<Record<string, string>>): ApiAnswer {
  const examples = Object.entries(streams).map(([type, example]) => [type, { schema: { type: "string" }, example }]);
  return { description, content: { ...inOne.content, ...Object.fromEntries(examples) } };
}

const EVENTS = {
  log: SCHEMAS.LogEvent,
  progress: SCHEMAS.ProgressEvent,
  capability: SCHEMAS.CapabilityEvent,
  paused: SCHEMAS.PausedEvent,
  dropped: SCHEMAS.DroppedEvent,
};

export const EXECUTE: RouteDescription = {
  id: "execute",
  tag: "calls",
  summary: "Runs a call.",
  description: [
    "Answers 200 whenever the tool ran, whether it succeeded or not: look at `success` and `error.code`.",
    "With `Accept: text/event-stream` the answer is a stream of the events `log`, `progress` and `capability` as they",
    "come, and one `result` in the end. Where the client does not make room for some, an event `dropped` before the",
    "result says how many; an event's id is its place among all. A call that is refused at once is no stream.",
    "A client that closes its connection cancels its call, but not one that has paused.",
    "A call that has to wait for a person, a signal or a time answers 202, `paused`: it is kept, and `Location` is where",
    "its result will be. With `Prefer: wait=25`, or `options.pause`, the answer waits for its end.",
  ].join("\n"),
  headers: {
    Prefer:
      "`wait=25`: seconds to wait for the end of a call that pauses, at most 25. `options.pause` stands before it.",
  },
  body: { "application/json": { schema: SCHEMAS.ToolCall, example: CALL } },
  answers: {
    200: inEither("The tool ran; this is what came of it.", json("", SCHEMAS.ToolResult, RESULT), {
      [STREAM]: [
        "event: log",
        "id: 1",
        'data: {"level":"log","message":"adding"}',
        "",
        "event: result",
        "id: 2",
        `data: ${JSON.stringify(RESULT)}`,
        "",
        "",
      ].join("\n"),
    }),
    202: {
      ...json("The call waits, and is kept: `error.details.id`.", SCHEMAS.ToolResult),
      headers: { Location: "Where the call is shown, with its result when it has ended." },
    },
    ...REFUSALS,
    ...refusals({
      403: "The key lacks the role or the tool, or the operator's listener refused the call.",
      404: "There is no such tool.",
      499: "The call was cancelled.",
    }),
    503: {
      ...json("The call waited too long, lost its executor, or came to a server that stops.", SCHEMAS.ToolResult),
      headers: RETRY_AFTER,
    },
  },
  events: { ...EVENTS, result: SCHEMAS.ToolResult },
};

export const EXECUTE_BATCH: RouteDescription = {
  id: "executeBatch",
  tag: "calls",
  summary: "Runs many calls.",
  description: [
    "Each call is one by itself, with limits, quotas and a result of its own: a bad one does not spoil the others.",
    "Answers 200 with all results, in the order of the calls; with `Accept: text/event-stream` with events as those of",
    "a single call, each with the `index` of its call, and the results as they come. With `Accept:",
    "application/x-ndjson` the answer is a line of JSON for each result, as its call ends: `index` and `result`. Neither",
    "drops a result: a client that leaves too much unread loses its connection.",
  ].join("\n"),
  body: { "application/json": { schema: SCHEMAS.Batch, example: { calls: [CALL] } } },
  answers: {
    200: inEither("All calls have ended.", json("", SCHEMAS.BatchResults, { results: [RESULT] }), {
      [STREAM]: ["event: result", "id: 1", `data: ${LINE}`, "", ""].join("\n"),
      [LINES]: `${LINE}\n`,
    }),
    ...REFUSALS,
  },
  events: { ...EVENTS, result: SCHEMAS.BatchResultEvent },
};
