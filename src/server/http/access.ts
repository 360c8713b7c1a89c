import type { IncomingMessage } from "node:http";
import type { Standing } from "../access/budget.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ANYBODY, type Caller, NOBODY, type Role } from "../access/caller.ts";
import { Failures } from "../access/failures.ts";
import { Guest } from "../access/guests.ts";
import { isKey } from "../access/secret.ts";
import type { ScopedEngine } from "../access/scoped-engine.ts";
import type { Keys } from "../access/keys.ts";
import type { Tokens } from "../access/tokens.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import type { RequestRefusal } from "../../kernel/engine/telemetry/events.ts";
import { sendNotFound, sendRefusal } from "./answers.ts";
import type { RouteDescription } from "./api/route-description.ts";
import { isPlainHead } from "./head-check.ts";
import type { OriginCheck } from "./origin-check.ts";
import { ResourceMetadata } from "./resource-metadata.ts";

/** Dependencies of access control. */
export interface Access {
  readonly engine: Engine;
  readonly gate: ScopedEngine;
  /** If empty, requests need no key, unless tokens are accepted. */
  readonly keys: Keys;
  /** Tokens of an authorization server that are accepted besides the keys. */
  readonly tokens?: Tokens;
  /** Whether callers without a key may administer tools if there are no keys. */
  readonly isAdminOpen: boolean;
  readonly originCheck: OriginCheck;
  /** Identifies the sender of a request, instead of keys; `null` for an unknown one. */
  readonly authenticate?: (request: IncomingMessage) => Promise<Caller | null>;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Role required by the route, or roles of which one is. A route without one stops the server from starting. */
    role?: Role | readonly [Role, ...Role[]] | "anybody";
    /** Whether the route is closed if no keys are configured, unless administration is open. */
    needsKey?: boolean;
    /** Description in `/openapi.json`; `none` for routes that only reject other methods, and for pages. */
    api?: RouteDescription | "none";
  }
  interface FastifyInstance {
    access: AccessCheck;
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** Restrictive browser headers of every response; a page that needs more sets its own. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
};
/** Maximum size of a refused request's body for which the connection stays open. */
const REST_MAX_BYTES = 65_536;
const ADMIN_CLOSED =
  'without keys tools cannot be registered or removed: configure a key with the role "admin", or set admin to "open"';
const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;
const CHALLENGE = 'Bearer realm="glovebox"';
/** Time until a client may send its token again that could not be checked. */
const UNCHECKED_MS = 5_000;

/** Authenticates and authorizes each request before the rest of it is read. */
export function addAccess(app: FastifyInstance, access: Access): void {
  const { keys, tokens, isAdminOpen, originCheck } = access;
  const check = new AccessCheck(access);
  app.decorate("access", check);
  app.decorateRequest("caller", null);
  app.addHook("onRoute", ({ url, config }) => {
    if (config?.role === undefined) throw new TypeError(`the route ${url} does not say who may use it`);
  });
  app.addHook("onRequest", (request, reply, next) => {
    reply.headers(check.headers);
    const refusal = originCheck.refusalOf(request);
    if (refusal !== null) refuse(access, request, reply, { code: "forbidden", key: null, reason: refusal });
    else if (originCheck.share(request, reply)) return;
    // Refuse before the body is read.
    else if (request.is404) sendNotFound(reply);
    else next();
  });
  app.addHook("onRequest", (request, reply, next) => {
    if (keys.size > 0 || tokens !== undefined || access.authenticate !== undefined)
      return void check.admit(request, reply).then((isIn) => isIn && next(), next);
    request.caller = ANYBODY;
    if (request.routeOptions.config.needsKey !== true || isAdminOpen) return next();
    refuse(access, request, reply, { code: "forbidden", key: null, reason: ADMIN_CLOSED });
  });
  app.addHook("onSend", ({ caller }, reply, _payload, next) => {
    if (caller === null || caller.key === null) return next();
    check.rateLimitOf(caller).then((headers) => {
      reply.headers(headers);
      next();
    }, next);
  });
}

/** Caller of a request, set by the access check. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new TypeError("nobody has found out who sent the request");
  return request.caller;
}

/** Checks origins and keys. A valid key always passes, even from an address rate-limited for wrong keys. */
class AccessCheck {
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #access: Access;
  readonly #failures = new Failures();
  readonly #missing: string;
  readonly #metadata: ResourceMetadata | null;

  constructor(access: Access) {
    this.#access = access;
    this.#metadata = access.tokens === undefined ? null : new ResourceMetadata(access.tokens.settings);
    this.headers = { ...HEADERS, ...access.originCheck.headers };
    this.#missing =
      access.authenticate === undefined
        ? `missing key${access.tokens === undefined ? "" : " or token"}; send Authorization: Bearer KEY`
        : "the application does not know who has sent the request";
  }

  /**
   * The caller of a request that is not refused here, and whose response gets no headers but `headers` and
   * `rateLimitOf`. `null` for any other, which has to go through the hooks.
   */
  callerOf(request: IncomingMessage, role: Role): Caller | null {
    const { keys, tokens, originCheck } = this.#access;
    if (request.headers.origin !== undefined || !isPlainHead(request)) return null;
    if (originCheck.refusalOf(request) !== null) return null;
    if (keys.size === 0 && tokens === undefined) return ANYBODY;
    const sent = keyIn(request);
    const caller = sent === undefined ? null : (keys.find(sent) ?? tokens?.known(sent));
    return caller?.roles.has(role) === true ? caller : null;
  }

  /** Headers with the rest of a caller's budgets. */
  async rateLimitOf(caller: Caller): Promise<Readonly<Record<string, string>>> {
    return writeRateLimit(await this.#access.gate.standings(caller));
  }

  /** Whether the request may continue; if not, the refusal has been sent. */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const { role = "admin" } = request.routeOptions.config;
    if (role === "anybody") {
      request.caller = NOBODY;
      return true;
    }
    const { authenticate } = this.#access;
    const caller = authenticate === undefined ? await this.#holderOf(request, reply) : await authenticate(request.raw);
    if (caller === null && authenticate !== undefined) await this.#refuseStranger(request, reply, null);
    if (caller === null) return false;
    const roles: readonly [Role, ...Role[]] = typeof role === "string" ? [role] : role;
    if (roles.some((one) => caller.roles.has(one))) {
      request.caller = caller;
      return true;
    }
    this.refuseRole(request, reply, caller, roles);
    return false;
  }

  /** Refuses a request whose caller lacks all of some roles. */
  refuseRole(request: FastifyRequest, reply: FastifyReply, caller: Caller, roles: readonly [Role, ...Role[]]): void {
    const [role] = roles;
    const scope = caller instanceof Guest ? (this.#metadata?.scopesFor(role) ?? role) : role;
    this.#challenge(request, reply, `, error="insufficient_scope", scope="${scope}"`);
    const named = roles.map((one) => `"${one}"`).join(" or ");
    const reason = `the ${caller instanceof Guest ? "caller" : "key"} does not have the role ${named}, which this needs`;
    refuse(this.#access, request, reply, { code: "forbidden", key: caller.key, reason });
  }

  /** The holder of the key or the token of a request; `null` if it is unknown, and the refusal has been sent. */
  async #holderOf(request: FastifyRequest, reply: FastifyReply): Promise<Caller | null> {
    const { keys, tokens } = this.#access;
    const sent = keyIn(request);
    const holder = sent === undefined ? null : keys.find(sent);
    if (holder !== null) return holder;
    if (sent === undefined || tokens === undefined || isKey(sent)) {
      await this.#refuseStranger(request, reply, sent === undefined ? null : "the key is unknown");
      return null;
    }
    const known = tokens.known(sent);
    if (known !== null) return known;
    const verdict = await tokens.check(sent, await this.#failures.isExhausted(request.ip));
    if (verdict.kind === "caller") return verdict.caller;
    const { kind, reason } = verdict;
    if (kind === "invalid") await this.#refuseStranger(request, reply, reason);
    else {
      const more = { status: 503, details: { retryAfterMs: UNCHECKED_MS } };
      refuse(this.#access, request, reply, { code: "rate_limited", key: null, reason }, more);
    }
    return null;
  }

  #challenge({ url }: FastifyRequest, reply: FastifyReply, more: string): void {
    reply.header("www-authenticate", `${CHALLENGE}${more}${this.#metadata?.challenge(url) ?? ""}`);
  }

  /** `wrong`: the mistake in the key or the token; `null` if none was sent. */
  async #refuseStranger(request: FastifyRequest, reply: FastifyReply, wrong: string | null): Promise<void> {
    const retryAfterMs = wrong !== null ? await this.#failures.note(request.ip) : 0;
    if (retryAfterMs > 0) {
      const reason = "too many wrong keys from this address";
      refuse(this.#access, request, reply, { code: "rate_limited", key: null, reason }, { details: { retryAfterMs } });
      return;
    }
    this.#challenge(request, reply, wrong === null ? "" : ', error="invalid_token"');
    refuse(this.#access, request, reply, { code: "unauthorized", key: null, reason: wrong ?? this.#missing });
  }
}

function keyIn({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  return BEARER.exec(headers.authorization ?? "")?.[1];
}

function refuse(
  { engine }: Access,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Omit<RequestRefusal, "address">,
  more: { readonly status?: number; readonly details?: { readonly retryAfterMs: number } } = {},
): void {
  engine.emit("request:refused", { ...refusal, address: request.ip });
  const { "content-length": length = "0", "transfer-encoding": coding } = request.headers;
  if (coding !== undefined || Number(length) > REST_MAX_BYTES) reply.header("connection", "close");
  sendRefusal(reply, refusal.code, refusal.reason, more);
}

const MICROSECONDS = 1_000_000;

/**
 * A key's remaining budgets as `RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers: lists of
 * names with parameters, in whole seconds. CPU time is rounded down, so that the headers never promise too much.
 */
function writeRateLimit(standings: readonly Standing[]): Readonly<Record<string, string>> {
  if (standings.length === 0) return {};
  return {
    "ratelimit-policy": standings.map(writePolicy).join(", "),
    ratelimit: standings.map(writeStanding).join(", "),
  };
}

function writePolicy({ name, quota, windowMs }: Standing): string {
  const seconds = Math.ceil(windowMs / 1_000);
  if (name !== "cpu") return `"${name}";q=${quota};w=${seconds}`;
  return `"cpu";q=${Math.floor(quota / MICROSECONDS)};qu="cpu-seconds";w=${seconds}`;
}

function writeStanding({ name, remaining, resetMs }: Standing): string {
  const left = name === "cpu" ? Math.floor(remaining / MICROSECONDS) : remaining;
  return `"${name}";r=${left};t=${Math.ceil(resetMs / 1_000)}`;
}
