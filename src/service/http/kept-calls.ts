import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { StoreError } from "../../base/errors.ts";
import type { CallFilter } from "../../store/calls/call-record.ts";
import { problemAnswer, sendAnswer, sendJson } from "./answers.ts";
import { GET_CALL, LIST_CALLS } from "./api/kept-call-routes.ts";
import { problem } from "./problem.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";

const CALLS = "/v1/calls";
const CALL = "/v1/calls/:id";
const NAMES: readonly string[] = Object.keys(LIST_CALLS.query ?? {});

/** Adds the routes that list kept calls and show one. */
export function addKeptCalls(app: FastifyInstance, { engine, gate }: Surface): void {
  app.get(CALLS, { config: { role: "calls", api: LIST_CALLS } }, (request, reply) =>
    answer(reply, engine, () => gate.listCalls(callerOf(request), filterOf(request))),
  );
  refuseOthers(app, CALLS, ["GET", "HEAD"]);

  app.get<{ Params: { id: string } }>(CALL, { config: { role: "calls", api: GET_CALL } }, (request, reply) =>
    answer(reply, engine, () => gate.getCall(callerOf(request), request.params.id)),
  );
  refuseOthers(app, CALL, ["GET", "HEAD"]);
}

async function answer(
  reply: FastifyReply,
  { calls }: Pick<Surface["engine"], "calls">,
  read: () => Promise<object | undefined>,
): Promise<FastifyReply> {
  if (calls.status() === undefined) {
    return refuse(reply, 404, "the server keeps no calls: its setting calls.keep says what it keeps");
  }
  try {
    const found = await read();
    return await (found === undefined ? refuse(reply, 404, "there is no such call") : sendJson(reply, 200, found));
  } catch (error) {
    if (error instanceof RangeError) return refuse(reply, 400, error.message);
    if (error instanceof StoreError) return refuse(reply, 503, error.message);
    throw error;
  }
}

function refuse(reply: FastifyReply, status: number, message: string): FastifyReply {
  return sendAnswer(reply, problemAnswer(problem(status, message, message)));
}

/** The filter of a query. Throws a `RangeError` where it has an unknown name or a wrong value. */
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

/** The number that a text is; another value as it is, which the filter's own check judges. */
function numberOf(value: unknown): unknown {
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
}
