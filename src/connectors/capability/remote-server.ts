import type { LoginReport } from "../../kernel/base/connector-report.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { RemoteAnswer, RemoteRequest } from "../../kernel/guest/host.ts";
import { answerBody, sentBody } from "./bodies.ts";
import {
  type OnHost,
  CapabilityRefusal,
  LoginRequired,
  type OpenCall,
} from "../../kernel/broker/capabilities/capability.ts";
import type { Connections } from "../../kernel/broker/capabilities/fetch/connections.ts";
import { Exchange } from "../../kernel/broker/capabilities/fetch/exchange.ts";
import { FetchFailure } from "../../kernel/broker/capabilities/fetch/failure.ts";
import { type Header, headerOf, requestHeaders, retryAfterMs } from "../../kernel/broker/capabilities/fetch/headers.ts";
import { lookingUpFor } from "../../kernel/broker/capabilities/fetch/lookups.ts";
import type { OriginPattern } from "../../kernel/broker/capabilities/fetch/origin-pattern.ts";
import { type RequestHop, readTarget } from "../../kernel/broker/capabilities/fetch/redirect.ts";
import { type ResponseBody, readBodyData } from "../../kernel/broker/capabilities/fetch/response-body.ts";
import { RateLimiter } from "../../kernel/broker/capabilities/rate-limit.ts";
import type { SecretViolation } from "../../kernel/broker/capabilities/secrets/placeholders.ts";
import type { Secrets } from "../../kernel/broker/capabilities/secrets/secrets.ts";
import { isRefusedBefore, LoginFailure } from "../login/failure.ts";
import type { Logins, RequestToken } from "../login/logins.ts";
import type { LoginUse } from "../login/settings.ts";
import { WaitingSlots } from "../../kernel/broker/capabilities/waiting-slots.ts";
import { READING } from "./methods.ts";
import { ConnectorPermission, patternBelow } from "./permission.ts";
import type { CallSessionTool, ConnectorRoute } from "./route.ts";

/** The parts of the broker that requests of connectors need. */
export interface ConnectorHost {
  readonly connections: Connections;
  readonly secrets: Secrets;
  readonly callTool: CallSessionTool;
  readonly onViolation: (violation: SecretViolation) => void;
  readonly onLogin: (report: LoginReport) => void;
}

/** A call that uses a connector. */
export interface RemoteCaller extends Pick<OpenCall, "callId" | "tool" | "signal"> {
  readonly callNumber: number | null;
  readonly tenant: string;
  readonly onHost: OnHost;
  /** By `performance.now`. */
  readonly endsMs: number;
  readonly isRepeatable: boolean;
}

/** Statuses of a server that has not executed the request, and names a time for a retry. */
const BUSY: ReadonlySet<number> = new Set([429, 503]);
/** Pause before asking a busy server again that names no time; it doubles. */
const PAUSE_MS = 1_000;
const REPEATS_MAX = 10;
/** Status of a server that requires another token. */
const UNAUTHORIZED = 401;
/** Headers of an answer that concern the connection, or a user. */
const DROPPED: ReadonlySet<string> = new Set(["set-cookie", "set-cookie2", "transfer-encoding", "connection"]);

/** The server of one connector, with its limits. */
export class RemoteServer {
  readonly route: ConnectorRoute;
  readonly #host: ConnectorHost;
  readonly #pattern: OriginPattern | null;
  readonly #limiter: RateLimiter | null;
  readonly #slots: WaitingSlots;
  readonly #logins: Promise<Logins> | null;

  constructor(route: ConnectorRoute, host: ConnectorHost) {
    const { server, rateLimit, concurrency, login } = route;
    this.#logins = login === null || server === null ? null : openLogins(login, server, host);
    this.route = route;
    this.#host = host;
    this.#pattern = server === null ? null : patternBelow(server);
    this.#limiter = rateLimit === null ? null : new RateLimiter(rateLimit);
    const late = () => new FetchFailure("no request of the connector ended in time");
    this.#slots = new WaitingSlots({ max: concurrency, reserved: Math.floor(concurrency / 4), waitMs: null, late });
  }

  /**
   * Sends a request, with retries while the server is busy and the call may wait. Rejects with an error that a tool may
   * see.
   */
  async request(request: RemoteRequest, caller: RemoteCaller): Promise<RemoteAnswer> {
    const hop = this.#hopOf(request);
    for (let repeats = 0; ; repeats++) {
      const answer = await this.#inSlot(caller, (signal) => this.#sendWithToken(hop, caller, signal));
      if (!BUSY.has(answer.status)) return answer;
      const waitMs =
        retryAfterMs(headerOf(answer.headers as readonly Header[], "retry-after")) ?? PAUSE_MS * 2 ** repeats;
      const mayWait = caller.isRepeatable && repeats < REPEATS_MAX && performance.now() + waitMs < caller.endsMs;
      if (!mayWait) {
        throw new FetchFailure(`the server is busy: it answered ${answer.status}; retryAfterMs: ${Math.ceil(waitMs)}`);
      }
      await sleep(waitMs, undefined, { signal: caller.signal });
    }
  }

  /** Calls a tool of the connector's session. Resolves with its answer as JSON, without secrets. */
  async call(tool: string, args: string, caller: RemoteCaller): Promise<string> {
    const { name, secrets } = this.route;
    const { secrets: all, callTool } = this.#host;
    const { tenant, isRepeatable, callNumber } = caller;
    const request = { connector: name, tool, args, tenant, call: callNumber, isRepeatable };
    const answer = await this.#inSlot(caller, (signal) => callTool(request, signal));
    const redactor = all.redactorOf(new Set(secrets));
    return redactor === null ? answer : await caller.onHost(() => redactor.text(answer));
  }

  /** Waits for the tenant's rate and for a slot, and ends the work in time. */
  async #inSlot<Value>(caller: RemoteCaller, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const { signal, tenant } = caller;
    await this.#keepRate(caller);
    return this.#slots.run(signal, tenant, async () => {
      const { timeoutMs } = this.route;
      const late = new AbortController();
      const timer = setTimeout(() => {
        late.abort(new FetchFailure(`the server did not answer within ${timeoutMs} ms`));
      }, timeoutMs);
      const ends = AbortSignal.any([signal, late.signal]);
      const { promise: ended, reject } = Promise.withResolvers<never>();
      const onAbort = () => reject(ends.reason as Error);
      ends.addEventListener("abort", onAbort, { once: true });
      try {
        return await Promise.race([work(ends), ended]);
      } finally {
        clearTimeout(timer);
        ends.removeEventListener("abort", onAbort);
      }
    });
  }

  async #keepRate({ tenant, signal, endsMs }: RemoteCaller): Promise<void> {
    const { rateLimit, name } = this.route;
    for (;;) {
      const waitMs = this.#limiter?.take(tenant, performance.now()) ?? 0;
      if (waitMs === 0) return;
      if (performance.now() + waitMs >= endsMs) {
        const granted = `${rateLimit?.calls} calls of a tenant in ${rateLimit?.perMs} ms`;
        throw new CapabilityRefusal(
          "limit",
          `the rate limit of the connector "${name}" is reached; retryAfterMs: ${waitMs}`,
          {
            asked: "one more call",
            granted,
            remedy: `raise connectors.${name}.rateLimit of the engine, or call later`,
          },
        );
      }
      await sleep(waitMs, undefined, { signal });
    }
  }

  #hopOf({ method, target, headers, body }: RemoteRequest): RequestHop {
    const { server, headers: own, query } = this.route;
    if (server === null) throw new FetchFailure("the connector's server takes no requests");
    if (!target.startsWith("/")) throw new FetchFailure("the target of a request begins with a slash");
    const url = readTarget(server.replace(/\/$/, "") + target);
    url.hash = "";
    for (const [name] of query) if (url.searchParams.has(name)) url.searchParams.delete(name);
    const added = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    url.search = [url.search.slice(1), ...added].filter((part) => part !== "").join("&");
    const names = new Set(own.map(([name]) => name));
    const given = requestHeaders(headers).filter(([name]) => !names.has(name));
    return { url, method, headers: [...given, ...own], body: sentBody(body), hasLeftOrigin: false };
  }

  async close(): Promise<void> {
    await (await this.#logins)?.close();
  }

  /**
   * Sends a request with the connector's token; once more with another token if the server has refused it before any
   * effect.
   */
  async #sendWithToken(hop: RequestHop, caller: RemoteCaller, signal: AbortSignal): Promise<RemoteAnswer> {
    if (this.#logins === null) return this.#send(hop, null, caller, signal);
    const logins = await this.#logins;
    const token = await shown(logins.token(caller.tenant));
    signal.throwIfAborted();
    const answer = await this.#send(hop, token, caller, signal);
    if (answer.status !== UNAUTHORIZED) return answer;
    const challenge = headerOf(answer.headers as readonly Header[], "www-authenticate");
    const mayRepeat = READING.has(hop.method) || caller.isRepeatable || isRefusedBefore(challenge);
    const other = await shown(logins.token(caller.tenant, token));
    signal.throwIfAborted();
    return other.value === token.value || !mayRepeat ? answer : this.#send(hop, other, caller, signal);
  }

  async #send(
    { headers: given, ...hop }: RequestHop,
    token: RequestToken | null,
    caller: RemoteCaller,
    signal: AbortSignal,
  ): Promise<RemoteAnswer> {
    if (this.#pattern === null) throw new FetchFailure("the connector's URL is not one of a server");
    const { connections, onViolation } = this.#host;
    const { callId, tool, tenant, onHost } = caller;
    const secrets = token?.secrets ?? this.#host.secrets;
    const names = token === null ? this.route.secrets : [...this.route.secrets, token.secrets.name];
    const sent = token === null ? given : [...given.filter(([name]) => name !== "authorization"), token.secrets.header];
    const exchange = new Exchange({
      connections,
      secrets,
      permission: new ConnectorPermission(this.#pattern, this.route.isPrivate),
      grantedSecrets: () => names,
      onUnbound: (request) => onViolation({ callId, tool, tenant, ...request }),
      onHost,
    });
    const cancel = () => exchange.cancel(signal.reason as Error);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const whole = { ...hop, headers: sent };
      const { status, headers } = await lookingUpFor(tenant, () => exchange.send(whole, "follow"));
      const bytes = exchange.body === null ? Buffer.alloc(0) : await readAll(exchange.body);
      const body = await onHost(() => answerBody(bytes, headerOf(headers, "content-type")));
      return { status, headers: headers.filter(([name]) => !DROPPED.has(name)), body };
    } catch (error) {
      exchange.cancel(error as Error);
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }
}

/** Loaded lazily, because most connectors have no login. */
async function openLogins(
  login: LoginUse,
  server: string,
  { connections, secrets, onLogin: onReport }: ConnectorHost,
): Promise<Logins> {
  const { Logins: Opened } = await import("../login/logins.ts");
  return new Opened(login, server, { connections, secrets, onReport });
}

/** A failure to get a token, in the form that a tool may see. */
async function shown(token: Promise<RequestToken>): Promise<RequestToken> {
  try {
    return await token;
  } catch (error) {
    if (!(error instanceof LoginFailure)) throw error;
    const later = error.retryAfterMs === null ? "" : `; retryAfterMs: ${error.retryAfterMs}`;
    if (error.kind === "refused") throw new LoginRequired(error.message + later);
    throw new FetchFailure(error.message + later);
  }
}

async function readAll(body: ResponseBody): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (;;) {
    const { part, more } = await body.read();
    if (part !== null) parts.push(Buffer.from(readBodyData(part) as string));
    if (!more) return Buffer.concat(parts);
  }
}
