import type { Standing } from "../access/budget.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ANYBODY, type Caller, NOBODY, type Role } from "../access/caller.ts";
import { Failures } from "../access/failures.ts";
import type { ScopedEngine } from "../access/scoped-engine.ts";
import type { Keys } from "../access/keys.ts";
import type { Engine } from "../../engine/engine.ts";
import type { RequestRefusal } from "../../engine/telemetry/events.ts";
import { sendNotFound, sendRefusal } from "./answers.ts";
import type { RouteDescription } from "./api/route-description.ts";
import type { Sites } from "./sites.ts";

/** What is needed to tell who may do what. */
export interface Access {
  readonly engine: Engine;
  readonly gate: ScopedEngine;
  /** Where there are none, none is asked for. */
  readonly keys: Keys;
  /** Whether callers without a key may administer tools where there are no keys. */
  readonly isAdminOpen: boolean;
  readonly sites: Sites;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** What a caller must be to use the route. Each route says so, or the server does not start. */
    role?: Role | "anybody";
    /** Whether the route is closed where there are no keys, unless administration is open. */
    needsKey?: boolean;
    /** What `/openapi.json` says of the route; `none` where it only says which methods there are not, or is for people. */
    api?: RouteDescription | "none";
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** What browsers shall not do with any answer; a page that needs more says so itself. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
};
/** The rest of a longer body is not waited for. */
const REST_MAX_BYTES = 65_536;
const ADMIN_CLOSED =
  'without keys tools cannot be registered or removed: configure a key with the role "admin", or set admin to "open"';
const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;
const CHALLENGE = 'Bearer realm="glovebox"';

/** Finds out who asks, and whether they may, before anything else of a request is looked at. */
export function addAccess(app: FastifyInstance, access: Access): void {
  const { gate, keys, isAdminOpen, sites } = access;
  app.decorateRequest("caller", null);
  app.addHook("onRoute", ({ url, config }) => {
    if (config?.role === undefined) throw new TypeError(`the route ${url} does not say who may use it`);
  });
  app.addHook("onRequest", (request, reply, next) => {
    reply.headers(HEADERS);
    const refusal = sites.refusalOf(request);
    if (refusal !== null) refuse(access, request, reply, { code: "forbidden", key: null, reason: refusal });
    else if (sites.share(request, reply)) return;
    // Bodies that are sent to nowhere are not even read.
    else if (request.is404) sendNotFound(reply);
    else next();
  });
  const doorkeeper = new Doorkeeper(access);
  app.addHook("onRequest", (request, reply, next) => {
    if (keys.size > 0) return void doorkeeper.admit(request, reply).then((isIn) => isIn && next(), next);
    request.caller = ANYBODY;
    if (request.routeOptions.config.needsKey !== true || isAdminOpen) return next();
    refuse(access, request, reply, { code: "forbidden", key: null, reason: ADMIN_CLOSED });
  });
  app.addHook("onSend", ({ caller }, reply, _payload, next) => {
    if (caller === null || caller.key === null) return next();
    gate.standings(caller).then((standings) => {
      reply.headers(writeRateLimit(standings));
      next();
    }, next);
  });
}

/** Who sent a request. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new TypeError("nobody has found out who sent the request");
  return request.caller;
}

/** Asks for keys. A right one always passes, wherever wrong ones come from. */
class Doorkeeper {
  readonly #access: Access;
  readonly #failures = new Failures();

  constructor(access: Access) {
    this.#access = access;
  }

  /** Whether the request may go on; where it may not, it has been answered. */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const { role = "admin" } = request.routeOptions.config;
    if (role === "anybody") {
      request.caller = NOBODY;
      return true;
    }
    const sent = BEARER.exec(request.headers.authorization ?? "")?.[1];
    const caller = sent === undefined ? null : this.#access.keys.find(sent);
    if (caller === null) {
      await this.#refuseStranger(request, reply, sent !== undefined);
      return false;
    }
    if (caller.roles.has(role)) {
      request.caller = caller;
      return true;
    }
    reply.header("www-authenticate", `${CHALLENGE}, error="insufficient_scope", scope="${role}"`);
    const reason = `the key does not have the role "${role}", which this needs`;
    refuse(this.#access, request, reply, { code: "forbidden", key: caller.key, reason });
    return false;
  }

  async #refuseStranger(request: FastifyRequest, reply: FastifyReply, isWrong: boolean): Promise<void> {
    const retryAfterMs = isWrong ? await this.#failures.note(request.ip) : 0;
    if (retryAfterMs > 0) {
      const reason = "too many wrong keys from this address";
      refuse(this.#access, request, reply, { code: "rate_limited", key: null, reason }, { retryAfterMs });
      return;
    }
    reply.header("www-authenticate", isWrong ? `${CHALLENGE}, error="invalid_token"` : CHALLENGE);
    const reason = isWrong ? "the key is unknown" : "missing key; send Authorization: Bearer KEY";
    refuse(this.#access, request, reply, { code: "unauthorized", key: null, reason });
  }
}

function refuse(
  { engine }: Access,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Omit<RequestRefusal, "address">,
  details?: { readonly retryAfterMs: number },
): void {
  engine.tell("door:refuse", { ...refusal, address: request.ip });
  const { "content-length": length = "0", "transfer-encoding": coding } = request.headers;
  if (coding !== undefined || Number(length) > REST_MAX_BYTES) reply.header("connection", "close");
  sendRefusal(reply, refusal.code, refusal.reason, details === undefined ? {} : { details });
}

const MICROSECONDS = 1_000_000;

/**
 * What is left of a key's budgets, as `RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers: lists
 * of names with parameters, in whole seconds. Processor time is rounded so that nobody is promised what there is not.
 */
export function writeRateLimit(standings: readonly Standing[]): Readonly<Record<string, string>> {
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
