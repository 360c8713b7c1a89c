import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ERRORS, GloveboxError, StoreError } from "../../kernel/base/errors.ts";
import type { ToolResult } from "../../kernel/base/result.ts";
import { type CallFilter, type CallSummary, NotKeptError } from "../../kernel/store/calls/call-record.ts";
import { type Answer, CALLS_URL, NO_HEADERS, problemAnswer, sendAnswer, sendJson, writeResult } from "./answers.ts";
import { COMPARE_CALLS, GET_CALL, LIST_CALLS, REPLAY_CALL } from "./api/kept-call-routes.ts";
import { durableAnswer, durablePage, isDurableId, waitOf } from "./durable-calls.ts";
import { endsWithClient } from "./disconnection.ts";
import { EVENT_STREAM, EventStream } from "./event-stream.ts";
import { chooseType } from "./media-type.ts";
import { problem } from "./problem.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";

const CALL = `${CALLS_URL}/:id`;
const REPLAY = `${CALL}/replay`;
const COMPARISON = `${CALL}/comparison`;
const TYPES = ["application/json", EVENT_STREAM] as const;
/** Filters that only calls have that wait, or have waited. */
const OF_WAITING: readonly string[] = ["stale", "values"];
const NAMES: readonly string[] = Object.keys(LIST_CALLS.query ?? {}).filter((name) => !OF_WAITING.includes(name));

/** Adds the routes of kept calls: they list, watch, show, replay and compare them. */
export function addKeptCalls(app: FastifyInstance, surface: Surface): void {
  const { engine, gate } = surface;
  const endOf = endsWithClient(surface.onDrain);
  const list = { config: { role: ["calls", "approve"], api: LIST_CALLS } } as const;
  app.get(CALLS_URL, list, (request, reply) => {
    const query = request.query as Readonly<Record<string, unknown>>;
    if (query["state"] !== undefined || query["stale"] !== undefined)
      return answerFound(reply, () => durablePage(gate.durableFor(callerOf(request)), query));
    if (!mayReadKept(app, request, reply)) return reply;
    const type = chooseType(request.headers.accept, TYPES);
    const isWatched = type === EVENT_STREAM && request.method === "GET" && engine.calls.status() !== undefined;
    if (!isWatched) return answer(reply, engine, () => gate.listCalls(callerOf(request), filterOf(request)));
    const signal = endOf(request.raw, reply.raw);
    return watch(reply, () => gate.watchCalls(callerOf(request), filterOf(request), signal));
  });
  refuseOthers(app, CALLS_URL, ["GET", "HEAD"]);

  const get = { config: { role: ["calls", "approve", "execute"], api: GET_CALL } } as const;
  app.get<{ Params: { id: string }; Querystring: { wait?: unknown } }>(CALL, get, async (request, reply) => {
    const { id } = request.params;
    const caller = callerOf(request);
    if (!isDurableId(id)) {
      if (!mayReadKept(app, request, reply)) return reply;
      return answer(reply, engine, () => gate.getCall(caller, id));
    }
    const signal = endOf(request.raw, reply.raw);
    return answerFound(reply, async () => {
      const call = await gate.durableFor(caller).ended(id, { waitMs: waitOf(request.query), signal });
      if (call !== undefined) return durableAnswer(call);
      // A caller may name another call by an id of this form.
      return caller.roles.has("calls") && engine.calls.status() !== undefined ? gate.getCall(caller, id) : undefined;
    });
  });
  refuseOthers(app, CALL, ["GET", "HEAD"]);

  const replay = { config: { role: "calls", api: REPLAY_CALL } } as const;
  app.post<{ Params: { id: string } }>(REPLAY, replay, (request, reply) =>
    answer(reply, engine, async () => {
      const replayed = await gate.replayCall(callerOf(request), request.params.id);
      if (replayed === undefined) return undefined;
      const { result, ...judged } = replayed;
      return { status: 200, headers: NO_HEADERS, parts: withResult(judged, result) };
    }),
  );
  refuseOthers(app, REPLAY, ["POST"]);

  const compare = { config: { role: "calls", api: COMPARE_CALLS } } as const;
  app.get<{ Params: { id: string }; Querystring: { with?: unknown } }>(COMPARISON, compare, (request, reply) =>
    answer(reply, engine, () => {
      const { with: other } = request.query;
      if (typeof other !== "string") throw new RangeError("with is the id of the other call");
      return gate.compareCalls(callerOf(request), request.params.id, other);
    }),
  );
  refuseOthers(app, COMPARISON, ["GET", "HEAD"]);
}

/** Whether a caller may read kept calls; if not, the refusal has been sent. */
function mayReadKept(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): boolean {
  const caller = callerOf(request);
  const may = caller.roles.has("calls");
  if (!may) app.access.refuseRole(request, reply, caller, ["calls"]);
  return may;
}

async function answerFound(
  reply: FastifyReply,
  read: () => Promise<Answer | object | undefined>,
): Promise<FastifyReply> {
  try {
    return await tell(reply, await read());
  } catch (error) {
    return refuseWith(reply, error);
  }
}

function tell(reply: FastifyReply, found: Answer | object | undefined): FastifyReply {
  if (found === undefined) return refuse(reply, 404, "there is no such call");
  return "parts" in found ? sendAnswer(reply, found) : sendJson(reply, 200, found);
}

/** The parts of the JSON of an object that ends with a result. */
function withResult(judged: object, result: ToolResult): readonly string[] {
  return [`${JSON.stringify(judged).slice(0, -1)},"result":`, ...writeResult(result).parts, "}"];
}

/** Streams calls until the client disconnects or the server stops. Mistakes are answered before the stream begins. */
async function watch(reply: FastifyReply, open: () => AsyncIterable<CallSummary>): Promise<FastifyReply> {
  // The client may have disconnected while its key was looked up.
  if (reply.raw.destroyed) return reply.hijack();
  let calls: AsyncIterable<CallSummary>;
  try {
    calls = open();
  } catch (error) {
    return refuseWith(reply, error);
  }
  const stream = new EventStream(reply);
  reply.raw.on("error", () => reply.raw.destroy());
  for await (const call of calls) stream.send("call", JSON.stringify(call));
  reply.raw.end();
  return reply;
}

async function answer(
  reply: FastifyReply,
  { calls }: Pick<Surface["engine"], "calls">,
  read: () => Promise<Answer | object | undefined>,
): Promise<FastifyReply> {
  if (calls.status() !== undefined) return answerFound(reply, read);
  return refuse(reply, 404, "the server keeps no calls: its setting calls.keep says what it keeps");
}

function refuseWith(reply: FastifyReply, error: unknown): FastifyReply {
  if (error instanceof RangeError) return refuse(reply, 400, error.message);
  if (error instanceof NotKeptError)
    return refuse(reply, 409, `the call cannot be replayed or compared: ${error.message}`);
  if (error instanceof StoreError) return refuse(reply, 503, error.message);
  if (error instanceof GloveboxError) return refuse(reply, ERRORS[error.code].http, error.message);
  throw error;
}

function refuse(reply: FastifyReply, status: number, message: string): FastifyReply {
  return sendAnswer(reply, problemAnswer(problem(status, message, message)));
}

/** The filter of a query. Throws a `RangeError` if it has an unknown name or a wrong value. */
function filterOf({ query }: FastifyRequest): CallFilter {
  const given = Object.entries(query as Readonly<Record<string, unknown>>);
  const unknown = given.find(([name]) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`${unknown[0].slice(0, 64)} is no filter; the filters are ${NAMES.join(", ")}`);
  }
  const { limit, since, until, ...texts } = Object.fromEntries(given);
  return {
    ...texts,
    ...(limit === undefined ? {} : { limit: numberOf(limit) as number }),
    ...(since === undefined ? {} : { since: numberOf(since) as number }),
    ...(until === undefined ? {} : { until: numberOf(until) as number }),
  };
}

/** The number in a text; another value unchanged, which the filter's own check refuses if invalid. */
function numberOf(value: unknown): unknown {
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
}
