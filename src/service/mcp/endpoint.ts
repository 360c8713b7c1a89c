import { randomBytes } from "node:crypto";
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type McpHttpHandler,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Caller } from "../access/caller.ts";
import type { ScopedEngine } from "../access/scoped-engine.ts";
import type { Engine } from "../../engine/engine.ts";
import { isObject } from "../../base/json.ts";
import { readVersion } from "../../base/check-node.ts";
import { createMcpServer } from "./server.ts";
import { type Held, type SessionLimits, Sessions } from "./sessions.ts";
import { createToolServer } from "./tool-server.ts";

/** Of sessions, and of streams on which clients without sessions wait for news. Each takes about ten kilobytes. */
const LIMITS: SessionLimits = { perKey: 1_024, total: 4_096, idleMs: 30 * 60_000 };
const SESSION_ID_BYTES = 32;

/**
 * The Model Context Protocol over HTTP, whatever carries the requests. Up to the revision of 2025-11-25 clients have
 * sessions; from that of 2026-07-28 on each request says all that there is to know.
 */
export class Endpoint {
  readonly #engine: Engine;
  readonly #gate: ScopedEngine;
  readonly #identity = { name: "glovebox", version: readVersion() };
  readonly #limits: SessionLimits;
  readonly #sessions: Sessions<McpSession>;
  readonly #sessionless: McpHttpHandler;
  readonly #callers = new WeakMap<Request, Caller>();
  /** How many streams of a key wait for news. */
  readonly #listening = new Map<string | null, number>();
  readonly #tell = (): void => this.#sessionless.notify.toolsChanged();

  constructor(engine: Engine, gate: ScopedEngine, limits: SessionLimits = LIMITS) {
    this.#engine = engine;
    this.#gate = gate;
    this.#limits = limits;
    this.#sessions = new Sessions(limits);
    this.#sessionless = createMcpHandler(
      ({ requestInfo }) => {
        const caller = requestInfo && this.#callers.get(requestInfo);
        if (caller === undefined) throw new TypeError("nobody has said who sent the request");
        return createToolServer(gate.runnerFor(caller), this.#identity);
      },
      { legacy: "reject", maxSubscriptions: limits.total },
    );
    engine.on("tool:register", this.#tell).on("tool:unregister", this.#tell);
  }

  /** Answers a request, whose signal is aborted when its connection is done with it. `body` is what was read of it. */
  async answer(request: Request, body: unknown, caller: Caller): Promise<Response> {
    if (await isLegacyRequest(request, body)) return this.#answerInSession(request, body, caller);
    if (isObject(body) && body["method"] === "subscriptions/listen" && !this.#mayListen(caller.key, request.signal)) {
      return refuse(429, RPC.REFUSED, "the key has reached its maximum number of streams");
    }
    this.#callers.set(request, caller);
    return this.#sessionless.fetch(request, { parsedBody: body });
  }

  /** Ends all sessions and streams. */
  async close(): Promise<void> {
    this.#engine.off("tool:register", this.#tell).off("tool:unregister", this.#tell);
    this.#sessions.close();
    await this.#sessionless.close();
  }

  #answerInSession(request: Request, body: unknown, caller: Caller): Promise<Response> | Response {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#open(request, body, caller);
    const use = request.method === "GET" ? "stream" : "request";
    const session = this.#sessions.use(id, caller.key, use, request.signal);
    return session?.answer(request, body) ?? refuse(404, RPC.NO_SESSION, "Session not found");
  }

  /** Answers a request without a session: the one that opens it, or one that has nothing to say without. */
  async #open(request: Request, body: unknown, caller: Caller): Promise<Response> {
    if (isInitializeRequest(body) && !this.#sessions.makeRoom(caller.key)) {
      return refuse(429, RPC.REFUSED, "the maximum number of sessions is reached, and all of them are in use");
    }
    const session = new McpSession((id) => this.#sessions.add(id, caller.key, session));
    const server = createMcpServer(this.#gate.runnerFor(caller), this.#identity);
    await server.connect(session.transport);
    const { onclose } = server;
    server.onclose = () => {
      onclose?.();
      this.#sessions.delete(session.transport.sessionId ?? "");
    };
    const response = await session.answer(request, body);
    if (session.transport.sessionId === undefined) session.end();
    return response;
  }

  #mayListen(key: string | null, until: AbortSignal): boolean {
    const open = this.#listening.get(key) ?? 0;
    if (open >= this.#limits.perKey || until.aborted) return false;
    this.#listening.set(key, open + 1);
    const leave = (): void => {
      const left = (this.#listening.get(key) ?? 1) - 1;
      if (left === 0) this.#listening.delete(key);
      else this.#listening.set(key, left);
    };
    until.addEventListener("abort", leave, { once: true });
    return true;
  }
}

/** One client's session. */
class McpSession implements Held {
  readonly transport: WebStandardStreamableHTTPServerTransport;

  constructor(onOpen: (id: string) => void) {
    this.transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomBytes(SESSION_ID_BYTES).toString("base64url"),
      onsessioninitialized: onOpen,
    });
  }

  async answer(request: Request, body: unknown): Promise<Response> {
    const response = await this.transport.handleRequest(request, body === undefined ? {} : { parsedBody: body });
    for (const message of Array.isArray(body) ? (body as unknown[]) : [body]) this.#forgetCancelled(message);
    return response;
  }

  end(): void {
    this.transport.close().catch(() => undefined);
  }

  /** A cancelled request has no answer, but its stream waits for one, and the transport for its number. */
  #forgetCancelled(message: unknown): void {
    if (!isObject(message) || message["method"] !== "notifications/cancelled" || !isObject(message["params"])) return;
    const { requestId } = message["params"];
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    const id: RequestId = requestId;
    this.transport.closeSSEStream(id);
    const error = { code: RPC.REFUSED, message: "the request was cancelled" };
    // Without its stream it goes nowhere.
    this.transport.send({ jsonrpc: "2.0", id, error }).catch(() => undefined);
  }
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json(rpcError(code, message), { status });
}

/** Errors of the protocol's transport, whose numbers its implementations agree on. */
export const RPC = { PARSE: -32_700, INTERNAL: -32_603, REFUSED: -32_000, NO_SESSION: -32_001 } as const;

/** An error that belongs to no request, as a message of the protocol. */
export function rpcError(code: number, message: string): { readonly jsonrpc: "2.0"; readonly error: object; id: null } {
  return { jsonrpc: "2.0", error: { code, message }, id: null };
}
