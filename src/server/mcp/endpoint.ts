import { randomBytes } from "node:crypto";
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type McpHttpHandler,
  type RequestId,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Caller } from "../access/caller.ts";
import { Guest } from "../access/guests.ts";
import type { ToolChange } from "../access/scoped-engine.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import { isObject } from "../../kernel/base/json.ts";
import { readVersion } from "../../kernel/base/check-node.ts";
import type { ToolRunner } from "../../standard/contracts.ts";
import { type KeptLimits, KeptStreams } from "./kept-streams.ts";
import { findMismatch } from "./param-headers.ts";
import { type ChangingToolRunner, createMcpServer } from "./server.ts";
import { SessionStreams } from "./session-streams.ts";
import { type Held, type SessionLimits, Sessions } from "./sessions.ts";
import { createToolServer } from "./tool-server.ts";

/** The tools that a caller sees. */
type RunnerFor = (caller: Caller) => ChangingToolRunner;

/** Limits of sessions, and of sessionless notification streams. Each takes about 10 kB. */
const LIMITS: SessionLimits = { perKey: 1_024, total: 4_096, idleMs: 30 * 60_000 };
const SESSION_ID_BYTES = 32;
/** Time after which a client that lost its connection comes back, in milliseconds. */
const RETRY_MS = 1_000;
const LAST_EVENT = "last-event-id";
const REVISION = "mcp-protocol-version";
/** Maximum of the messages in a batch of JSON-RPC: each may be answered with a page of tools, on the host's thread. */
const BATCH_MAX = 16;

/**
 * The Model Context Protocol over HTTP, independent of the HTTP server. Up to revision 2025-11-25 clients have
 * sessions; from 2026-07-28 on each request carries all state.
 */
export class Endpoint {
  readonly #engine: Engine;
  readonly #runnerFor: RunnerFor;
  readonly #identity = { name: "glovebox", version: readVersion() };
  readonly #limits: SessionLimits;
  readonly #sessions: Sessions<McpSession>;
  readonly #kept: KeptStreams;
  readonly #sessionless: McpHttpHandler;
  readonly #asked = new WeakMap<Request, Asked>();
  /** Number of open notification streams by key. */
  readonly #listening = new Map<string | null, number>();
  readonly #notify = ({ info, tenant = info?.tenant }: ToolChange): void => {
    // All clients without a session receive it, of any tenant.
    if (tenant === undefined) this.#sessionless.notify.toolsChanged();
  };

  constructor(engine: Engine, runnerFor: RunnerFor, limits: SessionLimits = LIMITS, kept?: KeptLimits) {
    this.#engine = engine;
    this.#runnerFor = runnerFor;
    this.#limits = limits;
    this.#sessions = new Sessions(limits);
    this.#kept = new KeptStreams(kept);
    this.#sessionless = createMcpHandler(
      ({ requestInfo }) => {
        const asked = requestInfo && this.#asked.get(requestInfo);
        if (requestInfo === undefined || asked === undefined)
          throw new TypeError("nobody has said who sent the request");
        const runner = runnerFor(asked.caller);
        asked.refusal = refuseHeaders(runner, asked.body, requestInfo.headers);
        if (asked.refusal !== null) throw new TypeError("the request is refused");
        return createToolServer(runner, this.#identity);
      },
      { legacy: "reject", maxSubscriptions: limits.total },
    );
    engine.on("tool:register", this.#notify).on("tool:unregister", this.#notify);
  }

  /** Responds to a request. Its signal aborts when its connection is done with it. `body`: the parsed body. */
  async answer(request: Request, body: unknown, caller: Caller): Promise<Response> {
    if (Array.isArray(body) && body.length > BATCH_MAX) {
      return refuse(400, RPC.INVALID, `a batch has at most ${BATCH_MAX} messages, this one has ${body.length}`);
    }
    if (await isLegacyRequest(request, body)) return this.#answerInSession(request, body, caller);
    if (
      isObject(body) &&
      body["method"] === "subscriptions/listen" &&
      !this.#mayListen(ownerOf(caller), request.signal)
    ) {
      return refuse(429, RPC.REFUSED, "the key has reached its maximum number of streams");
    }
    const asked: Asked = { caller, body, refusal: null };
    this.#asked.set(request, asked);
    const response = await this.#sessionless.fetch(request, { parsedBody: body });
    return asked.refusal ?? response;
  }

  /** Ends all sessions and streams. */
  async close(): Promise<void> {
    this.#engine.off("tool:register", this.#notify).off("tool:unregister", this.#notify);
    this.#sessions.close();
    await this.#sessionless.close();
  }

  #answerInSession(request: Request, body: unknown, caller: Caller): Promise<Response> | Response {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#open(request, body, caller);
    const use = isNotificationStream(request) ? "stream" : "request";
    const session = this.#sessions.use(id, ownerOf(caller), use, request.signal);
    return session?.answer(request, body) ?? refuse(404, RPC.NO_SESSION, "Session not found");
  }

  /** Responds to a request without a session: one that opens it, or an invalid one. */
  async #open(request: Request, body: unknown, caller: Caller): Promise<Response> {
    if (isInitializeRequest(body) && !this.#sessions.makeRoom(ownerOf(caller))) {
      return refuse(429, RPC.REFUSED, "the maximum number of sessions is reached, and all of them are in use");
    }
    const server = createMcpServer(this.#runnerFor(caller), this.#identity);
    const streams = new SessionStreams(this.#kept, ownerOf(caller));
    const session = new McpSession(server, streams, (id) => this.#sessions.add(id, ownerOf(caller), session));
    await server.connect(session.transport);
    const { onclose } = server;
    server.onclose = () => {
      onclose?.();
      streams.end();
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

/** A request without a session. */
interface Asked {
  readonly caller: Caller;
  readonly body: unknown;
  /** The response of a request, unless the protocol's library itself refuses it. */
  refusal: Response | null;
}

/** Refuses a call whose headers contradict its arguments. The library does this only for tools that it registers. */
function refuseHeaders(runner: ToolRunner, body: unknown, headers: Headers): Response | null {
  if (!isObject(body) || body["method"] !== "tools/call" || !isObject(body["params"])) return null;
  const { name, arguments: args } = body["params"];
  const tool = typeof name === "string" ? runner.get(name) : undefined;
  const mismatch = tool === undefined ? null : findMismatch(tool, args, headers);
  if (mismatch === null) return null;
  const { header, problem } = mismatch;
  const error = {
    code: RPC.HEADER_MISMATCH,
    message: `the headers and the body disagree: ${header}: ${problem}`,
    data: { mismatch: { header, body: problem } },
  };
  return Response.json({ jsonrpc: "2.0", error, id: body["id"] }, { status: 400 });
}

/** The owner of a session: no other caller may use it. */
function ownerOf(caller: Caller): string | null {
  return caller instanceof Guest ? caller.identity : caller.key;
}

/** Whether a request opens a stream of notifications, and does not resume that of a call. */
function isNotificationStream({ method, headers }: Pick<Request, "method" | "headers">): boolean {
  return method === "GET" && headers.get(LAST_EVENT) === null;
}

class McpSession implements Held {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly #server: Server;
  readonly #streams: SessionStreams;

  constructor(server: Server, streams: SessionStreams, onOpen: (id: string) => void) {
    this.#server = server;
    this.#streams = streams;
    this.transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomBytes(SESSION_ID_BYTES).toString("base64url"),
      onsessioninitialized: onOpen,
      eventStore: streams,
      retryInterval: RETRY_MS,
    });
  }

  async answer(request: Request, body: unknown): Promise<Response> {
    this.#setRevision(request.headers);
    const eventId = request.method === "GET" ? request.headers.get(LAST_EVENT) : null;
    if (eventId !== null && !this.#streams.resume(eventId, request)) return refuseResumption();
    const options = body === undefined ? {} : { parsedBody: body };
    const response = await this.#streams.handle(request, callIn(body), () =>
      this.transport.handleRequest(request, options),
    );
    for (const message of Array.isArray(body) ? (body as unknown[]) : [body]) this.#forgetCancelled(message);
    return response;
  }

  /** A session's revision is that of its initialization, in spite of the header's revision. */
  #setRevision(headers: Headers): void {
    const revision = this.#server.getNegotiatedProtocolVersion();
    const said = headers.get(REVISION);
    if (revision !== undefined && (said === null || SUPPORTED_PROTOCOL_VERSIONS.includes(said)))
      headers.set(REVISION, revision);
  }

  end(): void {
    this.transport.close().catch(() => undefined);
  }

  /** Frees a cancelled request: it gets no response, but its stream and the transport's entry would wait for one. */
  #forgetCancelled(message: unknown): void {
    if (!isObject(message) || message["method"] !== "notifications/cancelled" || !isObject(message["params"])) return;
    const { requestId } = message["params"];
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    const id: RequestId = requestId;
    this.#streams.forget(id);
    this.transport.closeSSEStream(id);
    const error = { code: RPC.REFUSED, message: "the request was cancelled" };
    // The stream is closed, so the error is not sent.
    this.transport.send({ jsonrpc: "2.0", id, error }).catch(() => undefined);
  }
}

/** The number of the call in a body; `null` if it is no call. */
function callIn(body: unknown): RequestId | null {
  if (!isObject(body) || body["method"] !== "tools/call") return null;
  const { id } = body;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

/** The protocol's answer to a GET without a stream. Clients do not repeat it. */
function refuseResumption(): Response {
  const response = refuse(405, RPC.REFUSED, "the stream is not kept: its call was cancelled, or its time is over");
  response.headers.set("allow", "POST, DELETE");
  return response;
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json(rpcError(code, message), { status });
}

/** JSON-RPC error codes on which implementations of the transport agree. */
export const RPC = {
  PARSE: -32_700,
  INVALID: -32_600,
  INTERNAL: -32_603,
  REFUSED: -32_000,
  NO_SESSION: -32_001,
  HEADER_MISMATCH: -32_020,
} as const;

/** A JSON-RPC error without a request ID. */
export function rpcError(code: number, message: string): { readonly jsonrpc: "2.0"; readonly error: object; id: null } {
  return { jsonrpc: "2.0", error: { code, message }, id: null };
}
