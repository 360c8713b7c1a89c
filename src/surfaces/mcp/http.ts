import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { callerOf, type Door, refuseOthers } from "../http/door.ts";
import { describeForeign } from "../http/origin.ts";
import { sendWebResponse, toWebRequest } from "../http/web-exchange.ts";
import type { Endpoint } from "./endpoint.ts";
import { RPC, rpcError } from "./rpc-error.ts";

const PATH = "/mcp";
const METHODS = ["GET", "POST", "DELETE"] as const;
const HEADERS: readonly string[] = ["accept", "content-type", "last-event-id"];

const UNREADABLE = [RPC.PARSE, "the body is not JSON, or has too many values, or too deep ones"] as const;
const UNANSWERED = [RPC.INTERNAL, "the request could not be answered"] as const;
const FAILURES = new Map([
  [413, [RPC.REFUSED, "the body is too large"] as const],
  [415, [RPC.REFUSED, "the body's content-type is not application/json"] as const],
]);

/** Adds the Model Context Protocol, over Streamable HTTP. */
export function addMcp(app: FastifyInstance, { engine, gate, isDraining }: Door): void {
  let loading: Promise<Endpoint> | null = null;
  // Not every server is asked for it, and it takes a tenth of a second.
  const load = (): Promise<Endpoint> =>
    (loading ??= import("./endpoint.ts").then(({ Endpoint }) => new Endpoint(engine, gate)));
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const asked = toWebRequest(request, reply.raw, (name) => HEADERS.includes(name) || name.startsWith("mcp-"));
    const endpoint = await load();
    return sendWebResponse(reply, await endpoint.answer(asked, request.body, callerOf(request)), isDraining);
  };
  // Calls in flight end first, and are answered. The engine closes already: this only waits for it.
  engine.on("engine:close", () => {
    queueMicrotask(() => void engine.close().then(async () => (await loading)?.close()));
  });
  void app.register(async (scope) => {
    scope.setErrorHandler((error: FastifyError, _request, reply) => sendFailure(reply, error));
    for (const method of METHODS) {
      scope.route({
        method,
        url: PATH,
        exposeHeadRoute: false,
        config: { role: "execute" },
        onRequest: async (request, reply) => {
          const foreign = describeForeign(request, callerOf(request));
          return foreign === null ? undefined : reply.code(403).send(rpcError(RPC.REFUSED, foreign));
        },
        handler: answer,
      });
    }
  });
  refuseOthers(app, PATH, METHODS);
}

/** Answers what was wrong with a request before the protocol had its turn, in its terms. */
function sendFailure(reply: FastifyReply, { statusCode = 500 }: FastifyError): FastifyReply {
  const [code, message] = FAILURES.get(statusCode) ?? (statusCode < 500 ? UNREADABLE : UNANSWERED);
  return reply.code(statusCode < 500 ? statusCode : 500).send(rpcError(code, message));
}
