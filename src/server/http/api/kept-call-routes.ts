import { DURABLE_CALL, DURABLE_CALL_DETAIL } from "./durable-call-routes.ts";
import { DETAIL_PARTS } from "../../../kernel/store/calls/call-record.ts";
import { json, problemJson, type RouteDescription } from "./route-description.ts";
import { exactly, listOf, number, orNull, text } from "./schema-parts.ts";
import { SCHEMAS } from "./schemas.ts";

const SUMMARY = {
  id: text("The call's id: the caller's own, or the engine's."),
  tool: text("The name that the caller gave."),
  version: orNull(text("Version of the tool; `null` where the call was refused before its tool was known.")),
  digest: orNull(text("Digest of the tool.")),
  tenant: text("Empty where the call named none."),
  parentId: orNull(text("Id of the calling call, if a tool made this call.")),
  surface: text("Where it came from: `library`, `http`, `mcp`, `cli`, `tool`, or the embedder's word."),
  key: orNull(text("Name of the key with which it was made.")),
  code: text("`ok`, or the code of its error."),
  error: orNull(text("The message of its error, at most 1,000 characters.")),
  beginMs: number("When it was accepted, in milliseconds since 1970."),
  queueMs: number("Time in the queue, in milliseconds."),
  wallMs: number("Time from its start to its end, in milliseconds."),
  cpuMs: number("Processor time, in milliseconds."),
  bytes: number("Length of its arguments and its output as JSON, in UTF-16 units."),
  attempts: number("Number of starts."),
  sampled: number("Number of calls for which this one was kept, itself included: others came too fast to be kept."),
};

const ASK = exactly({
  step: number("Its number within the call, from 1."),
  capability: text("Name of the capability."),
  method: text("Name of its method."),
  target: orNull(text("What it was about: an address without its query, a path, a key or a name.")),
  httpMethod: orNull(text("Method of a request of HTTP.")),
  outcome: { enum: ["ok", "denied", "failed", "limit"] },
  code: orNull(text("The error code of its answer.")),
  rule: orNull(text("The first rule that grants the capability, as `policy.rules[2]`.")),
  atMs: number("When it was made, in milliseconds since `beginMs`."),
  durationMs: number("Time until its answer, in milliseconds."),
  bytes: number("Length of its arguments and its answer as JSON, in UTF-16 units."),
  attempt: number("The start of the call that made it, from 1."),
  isReplayed: {
    type: "boolean",
    description: "Whether it repeats one of an earlier start, and was answered from the journal.",
  },
});
const TURN = exactly({
  atMs: number("When it began, in milliseconds since `beginMs`."),
  cpuMs: number("Its processor time, in milliseconds."),
  attempt: number("The start of the call, from 1."),
});

const DETAIL = exactly({
  arguments: { description: "What its schema calls `writeOnly` or a password is `[redacted]`." },
  output: {},
  error: orNull({ type: "object" }),
  logs: listOf(exactly({ level: { type: "string" }, message: { type: "string" } })),
  asks: { ...listOf(ASK), description: "The first 200 capability calls." },
  asksOmitted: number("Number of further ones."),
  turns: { ...listOf(TURN), description: "Stays in tool code, at most 200: later ones are part of the last." },
  explanation: orNull({
    type: "object",
    description: "Grants and limits of the tool at that time, as `GET /v1/tools/{name}/explain` has them.",
  }),
  isReplayable: { type: "boolean", description: "Whether it may be run again, as long as its tool is the same." },
  omitted: { ...listOf({ enum: DETAIL_PARTS }), description: "Parts that were too large to be kept." },
});

const STORED = exactly({
  format: { const: "glovebox-call/1" },
  ...SUMMARY,
  detail: { ...orNull(DETAIL), description: "`null` where it was not to be kept, or not for so long." },
});

const UNREADABLE = problemJson("The store cannot be read now: `detail` says why.", SCHEMAS.PlainError);

export const LIST_CALLS: RouteDescription = {
  id: "listCalls",
  tag: "calls",
  summary: "Lists kept calls, or with `state` or `stale` calls that wait or have waited, newest first.",
  description:
    "With `state` or `stale`: the calls that are kept because they pause, to decide them; a key with the role `approve` may read these, and `tool`, `tenant`, `limit`, `cursor` and `values` go with these. Without both: ended calls, for a key with the role `calls`, only where the server keeps calls. A key with a tenant sees calls of its tenant, a key with `tools` calls of those. A page may have fewer calls than its `limit` although there are more, as one request looks at no more than 20,000. With `Accept: text/event-stream`: a stream with an event for each call that ends from now on and matches; `limit` and `cursor` do not count, and 64 streams may be open.",
  events: { call: exactly(SUMMARY) },
  query: {
    state: "`paused`, `ready`, `running`, `in_doubt` or `ended`, or several: `paused,in_doubt`.",
    stale: "`true`: calls that have not ended and whose tool is gone or another one now; `false`: the others.",
    tool: "Name of the tool.",
    tenant: "Tenant of the calls; a key with a tenant has that one.",
    parent: "Id of the calling call.",
    code: "`ok`, or an error's code.",
    since: "Earliest begin: a time in ISO 8601, or milliseconds since 1970.",
    until: "Latest begin.",
    text: "Text in the message of the error, whatever its case; at most 256 characters.",
    limit: "Maximum number of calls, 1 to 200; default 50.",
    cursor: "The `cursor` of the page before.",
    values: "With `state` or `stale`: `false` leaves out arguments, data and results, which may be long.",
  },
  answers: {
    200: {
      description: "A page of calls, or a stream of those that end from now on.",
      content: {
        "application/json": {
          schema: exactly({
            calls: { anyOf: [listOf(exactly(SUMMARY)), listOf(DURABLE_CALL)] },
            cursor: { ...orNull({ type: "string" }), description: "Continues the list; `null` at its end." },
          }),
        },
        "text/event-stream": { schema: { type: "string" } },
      },
    },
    400: problemJson("A filter is wrong: `detail` says which.", SCHEMAS.PlainError),
    404: problemJson("The server keeps no calls.", SCHEMAS.PlainError),
    503: UNREADABLE,
  },
};

const DIFFERENCES = {
  ...listOf(
    exactly(
      {
        pointer: text("JSON pointer into `{ output, error, logs, asks }`."),
        left: {
          description: "The value; the first 1,000 characters of its JSON if that is longer; absent without a value.",
        },
        right: { description: "The other value." },
      },
      ["left", "right"],
    ),
  ),
  description: "The first 100.",
};
const NOT_KEPT = problemJson(
  "What it takes was not kept, or the tool is another version: `detail` says which.",
  SCHEMAS.PlainError,
);

export const REPLAY_CALL: RouteDescription = {
  id: "replayCall",
  tag: "calls",
  summary:
    "Runs a kept call again with the arguments, clock, randomness and answers that it had, and compares the result.",
  description:
    "In a process of its own, without a request to anybody else: no capability is invoked, and the present policy does not apply. Two replays run at once, and 16 wait. It counts as a call of the key.",
  params: { id: "The call's id. Where callers used it for several calls: the newest." },
  body: { "application/json": { schema: exactly({}) } },
  answers: {
    200: json(
      "The result, and how it differs from the kept one, which is on the left.",
      exactly({ verdict: { enum: ["same", "different"] }, differences: DIFFERENCES, result: SCHEMAS.ToolResult }),
    ),
    404: problemJson("There is no such call that the caller may see, or the server keeps none.", SCHEMAS.PlainError),
    409: NOT_KEPT,
    429: problemJson("The key has used its rate or its quota.", SCHEMAS.PlainError),
    503: UNREADABLE,
  },
};

export const COMPARE_CALLS: RouteDescription = {
  id: "compareCalls",
  tag: "calls",
  summary: "Compares outputs, errors, log lines and capability calls of two kept calls; times do not count.",
  params: { id: "Id of the call on the left." },
  query: { with: "Id of the call on the right." },
  answers: {
    200: json("The differences.", exactly({ isSame: { type: "boolean" }, differences: DIFFERENCES })),
    400: problemJson("`with` is missing.", SCHEMAS.PlainError),
    404: problemJson("One of them is no call that the caller may see, or the server keeps none.", SCHEMAS.PlainError),
    409: NOT_KEPT,
    503: UNREADABLE,
  },
};

export const GET_CALL: RouteDescription = {
  id: "getCall",
  tag: "calls",
  summary: "Shows a kept call, with its values where they were kept, or one that waits or has waited.",
  description:
    "Ids of calls that wait begin with `c_`: a key with the role `calls` or `approve` may read them, and the key that made the call. Others need the role `calls`.",
  params: { id: "The call's id. Where callers used it for several calls: the newest." },
  query: { wait: "Seconds to wait for the end of a call that waits, at most 25. Default 0." },
  answers: {
    200: json("The call.", { anyOf: [STORED, DURABLE_CALL_DETAIL] }),
    400: problemJson("`wait` is wrong.", SCHEMAS.PlainError),
    404: problemJson("There is no such call that the caller may see, or the server keeps none.", SCHEMAS.PlainError),
    503: UNREADABLE,
  },
};
