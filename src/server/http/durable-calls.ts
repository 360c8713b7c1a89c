import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GloveboxError, StoreError } from "../../kernel/base/errors.ts";
import { isObject, type JsonValue } from "../../kernel/base/json.ts";
import type { ToolResult } from "../../kernel/base/result.ts";
import { DecisionConflict, type UndoReport, WAIT_MAX_MS } from "../../kernel/engine/durable/durable-calls.ts";
import type { CallState, CallWait, Decision, DurableCall } from "../../kernel/store/calls/durable/durable-call.ts";
import type { DurablePage } from "../../kernel/store/calls/durable/durable-step.ts";
import type { CallerDurableCalls } from "../access/durable-access.ts";
import {
  type Answer,
  CALLS_URL,
  NO_HEADERS,
  problemAnswer,
  sendAnswer,
  sendJson,
  sendRefusal,
  writeResult,
} from "./answers.ts";
import { ROLES } from "../access/caller.ts";
import { CANCEL_CALL, DECIDE_CALL, GET_CALLER, SIGNAL_CALL, UNDO_CALL } from "./api/durable-call-routes.ts";
import { endsWithClient } from "./disconnection.ts";
import { problem, type Problem } from "./problem.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";

const CALL = `${CALLS_URL}/:id`;
const DECISIONS = `${CALL}/decisions`;
const SIGNAL = `${CALL}/signals/:name`;
const CANCEL = `${CALL}/cancel`;
const UNDO = `${CALL}/undo`;
const CALLER = "/v1/caller";
/** Form of the ids of durable calls. */
const ID = /^c_[\w.-]{1,126}$/;
const FILTERS: readonly string[] = ["state", "stale", "tool", "tenant", "limit", "cursor", "values"];
const DECISION = [
  "wait",
  "decision",
  "digest",
  "arguments",
  "data",
  "answer",
  "reason",
  "actor",
] satisfies (keyof Decision)[];
const DECISION_KEYS: readonly string[] = DECISION;
const WAIT_MAX_S = WAIT_MAX_MS / 1_000;
const REASON_MAX = 1_000;

/** Whether a text may be the id of a durable call. */
export function isDurableId(id: string): boolean {
  return ID.test(id);
}

/** Adds the routes that continue waiting calls: decisions, signals, and cancellation. */
export function addDurableCalls(app: FastifyInstance, { gate, onDrain }: Surface): void {
  const endOf = endsWithClient(onDrain);
  const decide = { config: { role: "approve", api: DECIDE_CALL } } as const;
  app.post<{ Params: { id: string } }>(DECISIONS, decide, (request, reply) =>
    answer(reply, async () => {
      const decisions = readDecisions(request.body);
      return found(await of(request, (calls, id) => calls.decide(id, decisions)), durableAnswer);
    }),
  );
  refuseOthers(app, DECISIONS, ["POST"]);

  const signal = { config: { role: "execute", api: SIGNAL_CALL } } as const;
  app.post<{ Params: { id: string; name: string } }>(SIGNAL, signal, (request, reply) =>
    answer(reply, async () => {
      const { body = null, params } = request;
      return found(await of(request, (calls, id) => calls.signal(id, params.name, body as JsonValue)), stateAnswer);
    }),
  );
  refuseOthers(app, SIGNAL, ["POST"]);

  const cancel = { config: { role: "execute", api: CANCEL_CALL } } as const;
  app.post<{ Params: { id: string } }>(CANCEL, cancel, (request, reply) =>
    answer(reply, async () => {
      const reason = readReason(request.body);
      return found(await of(request, (calls, id) => calls.cancel(id, reason)), stateAnswer);
    }),
  );
  refuseOthers(app, CANCEL, ["POST"]);

  const undo = { config: { role: "execute", api: UNDO_CALL } } as const;
  app.post<{ Params: { id: string }; Querystring: { wait?: unknown; again?: unknown } }>(UNDO, undo, (request, reply) =>
    answer(reply, async () => {
      const waitMs = request.query.wait === undefined ? WAIT_MAX_MS : waitOf(request.query);
      const { again = "false" } = request.query;
      if (again !== "true" && again !== "false") throw new RangeError("again is true or false");
      const wait = { waitMs, signal: endOf(request.raw, reply.raw), again: again === "true" };
      return found(await of(request, (calls, id) => calls.undo(id, wait)), reportAnswer);
    }),
  );
  refuseOthers(app, UNDO, ["POST"]);

  // A page requests this before it offers actions that would be refused.
  app.get(CALLER, { config: { role: ROLES, api: GET_CALLER } }, (request, reply) => {
    const { key, tenant, roles } = callerOf(request);
    return sendJson(reply, 200, { key, tenant, roles: [...roles] });
  });
  refuseOthers(app, CALLER, ["GET", "HEAD"]);

  function of<Value>(
    request: FastifyRequest<{ Params: { id: string } }>,
    work: (calls: CallerDurableCalls, id: string) => Promise<Value | undefined>,
  ): Promise<Value | undefined> {
    const { id } = request.params;
    return isDurableId(id) ? work(gate.durableFor(callerOf(request)), id) : Promise.resolve(undefined);
  }
}

function found<Value>(call: Value | undefined, tell: (call: Value) => Answer): Answer {
  return call === undefined ? problemOf(404, "there is no such call") : tell(call);
}

/** The answer that shows a durable call. */
export function durableAnswer({ result, ...call }: DurableCall): Answer {
  const parts = [`${JSON.stringify(call).slice(0, -1)},"result":`, ...resultParts(result), "}"];
  return { status: 200, headers: NO_HEADERS, parts };
}

function resultParts(result: unknown): readonly string[] {
  return result === null ? ["null"] : writeResult(result as ToolResult).parts;
}

function reportAnswer(report: UndoReport): Answer {
  const hasEnded = report.effects !== null || report.error !== null;
  return { status: hasEnded ? 200 : 202, headers: NO_HEADERS, parts: [JSON.stringify(report)] };
}

function stateAnswer({ id, state }: DurableCall): Answer {
  return { status: 200, headers: NO_HEADERS, parts: [JSON.stringify({ id, state })] };
}

async function answer(reply: FastifyReply, work: () => Promise<Answer>): Promise<FastifyReply> {
  try {
    return await sendAnswer(reply, await work());
  } catch (error) {
    if (error instanceof StoreError) return sendAnswer(reply, problemOf(503, error.message));
    if (error instanceof RangeError) return sendRefusal(reply, "invalid_arguments", error.message);
    if (error instanceof GloveboxError) {
      const { code, message, details } = error;
      return sendRefusal(reply, code, message, { details });
    }
    if (!(error instanceof DecisionConflict)) throw error;
    const { message, call } = error;
    const { id, state } = call;
    // A sender of signals may lack permission to read the call.
    const shown = reply.request.routeOptions.config.role === "approve" ? call : { id, state };
    const told: Problem<string> & { readonly call: object } = { ...problem(409, message, message), call: shown };
    return sendAnswer(reply, problemAnswer(told));
  }
}

function problemOf(status: number, message: string): Answer {
  return problemAnswer(problem(status, message, message));
}

/** One decision, or a list. The engine checks the values. */
function readDecisions(body: unknown): Decision | readonly Decision[] {
  const given: readonly unknown[] = Array.isArray(body) ? body : [body];
  for (const one of given) {
    if (!isObject(one)) throw new RangeError('a decision is an object such as {"decision":"approve","digest":"…"}');
    const odd = Object.keys(one).find((name) => !DECISION_KEYS.includes(name));
    if (odd !== undefined)
      throw new RangeError(`${odd.slice(0, 64)} is not known; a decision has ${DECISION.join(", ")}`);
  }
  return body as Decision | readonly Decision[];
}

function readReason(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined;
  const odd = isObject(body) ? Object.keys(body).find((name) => name !== "reason") : "the body";
  if (odd !== undefined) throw new RangeError(`${odd.slice(0, 64)} is not known; the body has reason, or nothing`);
  const { reason } = body as { readonly reason?: unknown };
  if (reason === undefined || (typeof reason === "string" && reason.length <= REASON_MAX)) return reason;
  throw new RangeError(`reason is a text of at most ${REASON_MAX} characters`);
}

/** The page of durable calls for a query. Throws a `RangeError` if the query has an unknown name or a wrong value. */
export async function durablePage(
  calls: CallerDurableCalls,
  query: Readonly<Record<string, unknown>>,
): Promise<DurablePage> {
  const unknown = Object.keys(query).find((name) => !FILTERS.includes(name));
  if (unknown !== undefined) {
    const words = `${unknown.slice(0, 64)} is no filter beside state or stale; the filters are ${FILTERS.join(", ")}`;
    throw new RangeError(words);
  }
  const { limit, values = "true", state, stale, ...texts } = query;
  for (const [name, flag] of Object.entries({ values, stale }))
    if (flag !== undefined && flag !== "true" && flag !== "false") throw new RangeError(`${name} is true or false`);
  // The engine checks each.
  const states = String(state).split(",") as readonly CallState[];
  const page = await calls.list({
    ...texts,
    ...(limit === undefined ? {} : { limit: Number(limit) }),
    ...(stale === undefined ? {} : { stale: stale === "true" }),
    ...(state === undefined ? {} : { state: states }),
  });
  return values === "true" ? page : { ...page, calls: page.calls.map(withoutValues) };
}

/** A call without its long parts, for a list: arguments and results may be long. */
function withoutValues(call: DurableCall): DurableCall {
  return { ...call, waits: call.waits.map(bareWait), result: null };
}

function bareWait(wait: CallWait): CallWait {
  const settled = wait.settled === null ? null : { ...wait.settled, arguments: null, data: null };
  switch (wait.kind) {
    case "approval":
      return { ...wait, arguments: null, schema: null, settled };
    case "outcome":
      return { ...wait, arguments: "", settled };
    case "signal":
    case "time":
    case "call":
      return { ...wait, settled };
  }
}

/** The time for which a request waits for a call's end, of its query, in milliseconds. Throws a `RangeError`. */
export function waitOf({ wait }: { readonly wait?: unknown }): number {
  if (wait === undefined) return 0;
  const seconds = typeof wait === "string" && /^\d{1,2}$/.test(wait) ? Number(wait) : Number.NaN;
  if (seconds <= WAIT_MAX_S) return seconds * 1_000;
  throw new RangeError(`wait is a number of seconds from 0 to ${WAIT_MAX_S}`);
}
