import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sendNotFound } from "../http/answers.ts";
import { answerErrors } from "../http/failure.ts";
import { callerOf, type Surface, refuseOthers } from "../http/surface.ts";
import { sendWebResponse, toWebRequest } from "../http/web-exchange.ts";
import type { ServerResponse } from "node:http";
import { isObject } from "../../kernel/base/json.ts";
import type { Caller } from "../access/caller.ts";
import { MCP, MCP_CODE } from "../http/api/mcp-routes.ts";
import type { Endpoint } from "./endpoint.ts";
import { RPC, rpcError } from "./endpoint.ts";
import { fill } from "./long-outputs.ts";

const METHODS = ["GET", "POST", "DELETE"] as const;
const HEADERS: readonly string[] = ["accept", "content-type", "last-event-id"];

const UNREADABLE = [RPC.PARSE, "the body is not JSON, or has too many values, or too deep ones"] as const;
const UNANSWERED = [RPC.INTERNAL, "the request could not be answered"] as const;
const FAILURES = new Map([
  [413, [RPC.REFUSED, "the body is too large"] as const],
  [415, [RPC.REFUSED, "the body's content-type is not application/json"] as const],
]);

/**
 * Adds the Model Context Protocol, over Streamable HTTP: with all tools, and with the two of code mode if there is one.
 */
export function addMcp(app: FastifyInstance, surface: Surface): void {
  const { engine, gate } = surface;
  addEndpoint(app, surface, { path: "/mcp", api: MCP, runnerFor: (caller) => gate.runnerFor(caller, "mcp") });
  addEndpoint(app, surface, {
    path: "/mcp/code",
    api: MCP_CODE,
    runnerFor: (caller) => gate.codeModeFor(caller, "mcp"),
    // The engine may be reconfigured with code mode, or without.
    ready: (caller) => (engine.codeMode === undefined ? null : gate.codeModeFor(caller).ready()),
  });
}

interface EndpointRoute {
  readonly path: string;
  readonly api: typeof MCP | typeof MCP_CODE;
  readonly runnerFor: ConstructorParameters<typeof Endpoint>[1];
  /** Resolves when the runner lists its tools at once; `null` if there is nothing left to serve. */
  readonly ready?: (caller: Caller) => Promise<void> | null;
}

function addEndpoint(
  app: FastifyInstance,
  { engine, onDrain }: Surface,
  { path, api, runnerFor, ready }: EndpointRoute,
): void {
  const listening = new Set<ServerResponse>();
  let isEnding = false;
  onDrain(() => {
    isEnding = true;
    for (const response of listening) response.end();
  });
  let loading: Promise<Endpoint> | null = null;
  // Load on first use: not every server needs it, and loading takes a tenth of a second.
  const load = (): Promise<Endpoint> =>
    (loading ??= import("./endpoint.ts").then(({ Endpoint }) => new Endpoint(engine, runnerFor)));
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const asked = toWebRequest(request, reply.raw, (name) => HEADERS.includes(name) || name.startsWith("mcp-"));
    const endpoint = await load();
    const readiness = ready?.(callerOf(request));
    if (readiness === null) return sendNotFound(reply);
    await readiness;
    if (isListening(request)) {
      if (isEnding) return reply.code(503).send(rpcError(RPC.REFUSED, "the server is stopping"));
      listening.add(reply.raw);
      reply.raw.once("close", () => listening.delete(reply.raw));
    }
    const response = await endpoint.answer(asked, request.body, callerOf(request));
    return sendWebResponse(reply, response, (chunk) => fill(asked, chunk));
  };
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => (closing ??= (async () => (await loading)?.close())());
  // Close the endpoint after calls in flight have their responses. The engine is closing already; `close` only waits
  // for it.
  const closeLast = (): void => queueMicrotask(() => void engine.close().then(close));
  engine.on("engine:close", closeLast);
  app.addHook("onClose", async () => {
    engine.off("engine:close", closeLast);
    await close();
  });
  void app.register(async (scope) => {
    answerErrors(scope, sendFailure);
    for (const method of METHODS) {
      scope.route({
        method,
        url: path,
        exposeHeadRoute: false,
        config: { role: "execute", api: api[method] },
        handler: answer,
      });
    }
  });
  refuseOthers(app, path, METHODS);
}

/**
 * Whether the response is a notification stream, which stays open as long as the client wants, and not that of a call.
 */
function isListening({ method, headers, body }: FastifyRequest): boolean {
  if (method === "GET") return headers["last-event-id"] === undefined;
  return isObject(body) && body["method"] === "subscriptions/listen";
}

/** Responds to errors outside the protocol handler with a JSON-RPC error. */
function sendFailure(reply: FastifyReply, { statusCode = 500 }: FastifyError): FastifyReply {
  const [code, message] = FAILURES.get(statusCode) ?? (statusCode < 500 ? UNREADABLE : UNANSWERED);
  return reply.code(statusCode < 500 ? statusCode : 500).send(rpcError(code, message));
}
