import { ROLES } from "../../access/caller.ts";
import { CALL_STATES } from "../../../kernel/store/calls/durable/durable-call.ts";
import { json, problemJson, refusals, type RouteDescription } from "./route-description.ts";
import { type ApiSchema, exactly, listOf, number, orNull, text } from "./schema-parts.ts";
import { SCHEMAS } from "./schemas.ts";

const STATE = {
  enum: CALL_STATES,
  description: "One that is `paused` or `ready` holds no worker: it waits, or goes on soon.",
};

const SETTLEMENT = exactly({
  at: text("When, in ISO 8601."),
  by: orNull(text("Name of the key that decided, or sent the signal.")),
  actor: orNull(text("Who decided, as the deciding application calls them.")),
  reason: orNull(text("Why.")),
  arguments: { description: "Arguments in place of those that were shown." },
  data: { description: "Data of an approval, payload of a signal, result of a child call, or answer of an effect." },
});

const WAIT = {
  type: "object",
  description: "What it waits for. Members beside these depend on `kind`.",
  properties: {
    step: number("Names the wait in decisions. 0: the call itself, before its start."),
    state: {
      enum: ["open", "approved", "refused", "expired", "arrived", "due", "done", "happened", "did_not_happen", "void"],
    },
    openedAt: text("In ISO 8601."),
    expiresAt: orNull(text("In ISO 8601.")),
    settled: orNull(SETTLEMENT),
    kind: { enum: ["approval", "signal", "time", "call", "outcome"] },
    tool: orNull(text("An approval: the tool that is to run.")),
    version: orNull(text("An approval: digest of the tool's version.")),
    arguments: {
      description: "An approval: what is to run, or what the call shows. An outcome: JSON of the effect's arguments.",
    },
    digest: text("An approval: identifies what is shown. Whoever approves sends it back."),
    message: text("An approval: why it is asked for."),
    from: text("An approval: what asks for it: `policy.approvals[0]`, `tool`, `listener` or `call`."),
    self: { type: "boolean", description: "An approval: whether the key that made the call may decide." },
    by: listOf(text("An approval: a key that may decide.")),
    name: text("A signal: its name."),
    until: text("A time: in ISO 8601."),
    id: text("A call: its id."),
    asked: text("An outcome: capability and method of an effect that may have happened: `fetch.request`."),
  },
  required: ["step", "state", "openedAt", "expiresAt", "settled", "kind"],
};

const CALL = {
  id: text("Begins with `c_`."),
  callId: text("The id of the call in its result's metadata."),
  tool: text("The tool."),
  tenant: text("Empty where the call named none."),
  parentId: orNull(text("Id of the calling call, if a tool made this call and has paused, too.")),
  key: orNull(text("Name of the key with which it was made.")),
  state: STATE,
  legs: number("Number of its runs so far."),
  createdAt: text("In ISO 8601."),
  updatedAt: text("In ISO 8601."),
  expiresAt: text("When it ends as `cancelled` if it has not ended before."),
  isStale: {
    type: "boolean",
    description:
      "Whether it has not ended and its tool is not registered any more, or as another version or with another config; or it waits for the approval of such a tool.",
  },
  waits: listOf(WAIT),
  result: { ...orNull(SCHEMAS.ToolResult), description: "`null` before its end, and in a list." },
};

export const DURABLE_CALL = exactly(CALL);

const RUN = exactly({
  number: number("From 1."),
  holder: text("Identifies the engine that ran it."),
  begunAt: text("In ISO 8601."),
  endedAt: orNull(text("In ISO 8601; `null` while it runs.")),
  outcome: {
    enum: ["paused", "ended", "lost", null],
    description: "`lost`: it was cut off, as by the death of its process. `null` while it runs.",
  },
});

const DONE = exactly({
  step: number("Number of the capability call within the call, from 1."),
  asked: text("Capability and method, as `tools.call`."),
  tool: orNull(text("The tool that was called; `null` for another effect.")),
  arguments: orNull(
    text(
      "Of the call of a tool: the beginning of its arguments as JSON. What their schema calls a password is `[redacted]`.",
    ),
  ),
  target: orNull(text("What it was about: an address without its query, a path, a key or a name.")),
  httpMethod: orNull(text("Method of a request of HTTP.")),
  state: {
    enum: ["announced", "done", "failed", "in_doubt"],
    description:
      "`announced`: it is about to happen, or under way; `in_doubt`: nobody knows whether it happened. The others were answered.",
  },
  answeredAt: orNull(text("In ISO 8601; `null` without an answer.")),
});

/** A single call, with its effects. */
export const DURABLE_CALL_DETAIL = exactly({
  ...CALL,
  runs: { ...listOf(RUN), description: "The last 20 of its runs." },
  effects: { ...listOf(DONE), description: "The last 200 of its effects, without reads." },
  effectsOmitted: number("Number of further ones."),
  program: orNull(text("The program as it runs, in JavaScript, where its tool runs one and it is still kept.")),
});

const ID = { id: "Id of the call, which begins with `c_`." };
const CONFLICT = exactly({
  ...(SCHEMAS.PlainError["properties"] as ApiSchema),
  call: { type: "object", description: "The call as it is now." },
});
const MISSING = problemJson("There is no such call of the key's tenant and tools.", SCHEMAS.PlainError);
const UNREADABLE = problemJson("The store cannot be used now: `detail` says why.", SCHEMAS.PlainError);
const ITS_STATE = json("Done.", exactly({ id: text("The call."), state: STATE }));

const DECISION = {
  type: "object",
  properties: {
    wait: { type: "integer", description: "The `step` of the wait. Default: the only open approval." },
    decision: { enum: ["approve", "refuse", "happened", "did_not_happen"] },
    digest: { type: "string", description: "Required to approve: the `digest` that the wait shows." },
    arguments: { type: "object", description: "Arguments in place of those that are shown." },
    data: { description: "Data for the call that asks." },
    answer: {
      description:
        'The answer of an effect that happened: of a tool, its output; of `fetch.request`, a response such as `{"status":201,"headers":{},"body":""}`. Default: `null`.',
    },
    reason: { type: "string", maxLength: 1_000 },
    actor: { type: "string", maxLength: 256, description: "Who has decided, as your application calls them." },
  },
  required: ["decision"],
  additionalProperties: false,
};

export const DECIDE_CALL: RouteDescription = {
  id: "decideCall",
  tag: "calls",
  summary: "Decides what a call waits for.",
  description:
    "One decision or a list of at most 32, of which all hold or none. `approve` names the `digest` that was shown: what runs is what was shown. The same decision again answers the same. `happened` and `did_not_happen` are about an effect that was under way when the call's process was lost. The key that made a call decides it only where the rule says `self`.",
  params: ID,
  body: {
    "application/json": {
      schema: { anyOf: [DECISION, { ...listOf(DECISION), minItems: 1, maxItems: 32 }] },
      example: { decision: "approve", digest: "5f0c…", actor: "ada@example.com" },
    },
  },
  answers: {
    200: json("The call as it is now.", DURABLE_CALL),
    ...refusals({
      400: "The decision is malformed, or its arguments do not match their schema.",
      403: "The key lacks the role, or is not one that may decide this.",
    }),
    404: MISSING,
    409: problemJson(
      "It was decided otherwise, or is no longer what was shown: `call` is what there is now.",
      CONFLICT,
    ),
    503: UNREADABLE,
  },
};

export const SIGNAL_CALL: RouteDescription = {
  id: "signalCall",
  tag: "calls",
  summary: "Sends a call a signal, which is kept until the call waits for it.",
  params: { ...ID, name: "Name of the signal: 1 to 128 letters, digits, or `_ . : -`." },
  body: { "application/json": { schema: { description: "The payload, as JSON." }, example: { sum: 12 } } },
  answers: {
    200: ITS_STATE,
    ...refusals({ 400: "The name or the payload cannot be used." }),
    404: MISSING,
    409: problemJson("It has ended, or has too many unread signals.", CONFLICT),
    503: UNREADABLE,
  },
};

export const CANCEL_CALL: RouteDescription = {
  id: "cancelCall",
  tag: "calls",
  summary: "Ends a call that waits, with `cancelled`.",
  params: ID,
  body: {
    "application/json": {
      schema: {
        type: "object",
        properties: { reason: { type: "string", maxLength: 1_000 } },
        additionalProperties: false,
      },
      example: { reason: "the order was withdrawn" },
    },
  },
  answers: {
    200: ITS_STATE,
    ...refusals({ 400: "The body is malformed." }),
    404: MISSING,
    409: problemJson("It has ended already, or runs just now.", CONFLICT),
    503: UNREADABLE,
  },
};

const EFFECT = exactly(
  {
    step: number("Number of the capability call within the call, from 1."),
    asked: text("Capability and method, as `tools.call`."),
    tool: orNull(text("The tool that was called.")),
    outcome: {
      enum: ["undone", "failed", "no_undo", "irreversible", "in_doubt"],
      description:
        "`no_undo`: the tool has no `undo`. `irreversible`: the call did it by itself. `in_doubt`: nobody knows whether it happened, or was undone.",
    },
    message: text("Why not."),
  },
  ["message"],
);

const UNDO_REPORT = exactly({
  id: text("The id of the call that undoes: it may wait, and be decided, too."),
  state: STATE,
  effects: {
    ...orNull(listOf(EFFECT)),
    description: "The last effect first. `null` where the undoing has not ended, or has failed as a whole.",
  },
  error: orNull(SCHEMAS.ToolError as ApiSchema),
});

export const UNDO_CALL: RouteDescription = {
  id: "undoCall",
  tag: "calls",
  summary: "Undoes the tool calls of a call that has ended, each once.",
  description:
    "Tools say by their `undo` how. It is a second act, not a rollback: others have seen the first. Asked again, it answers with the same report.",
  params: ID,
  query: {
    wait: "Seconds to wait for the end, 0 to 25. Default 25.",
    again:
      "`true`: effects whose undoing has failed are tried again, and only these, up to four times. Default `false`.",
  },
  answers: {
    200: json("It has ended.", UNDO_REPORT),
    202: json("It goes on, or waits: ask again.", UNDO_REPORT),
    ...refusals({ 400: "`wait` or `again` is wrong." }),
    404: MISSING,
    409: problemJson("The call has not ended, has called no tools, or was tried too often.", CONFLICT),
    503: UNREADABLE,
  },
};

export const GET_CALLER: RouteDescription = {
  id: "getCaller",
  tag: "calls",
  summary: "Says for whom the server takes the sender, and what it may do.",
  answers: {
    200: json(
      "The caller.",
      exactly({
        key: orNull(text("Name of its key; `null` where the server requires none.")),
        tenant: orNull(text("Tenant of its calls; `null` where it may choose one.")),
        roles: listOf({ enum: ROLES }),
      }),
    ),
  },
};
