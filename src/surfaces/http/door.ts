import type { FastifyInstance, FastifyRequest, HTTPMethods } from "fastify";
import { ANYBODY, type Caller, type Role } from "../../access/caller.ts";
import type { Gate } from "../../access/gate.ts";
import type { Engine } from "../../engine.ts";
import { sendRefusal } from "./answers.ts";

/** What routes are added to an app with. */
export interface Door {
  readonly engine: Engine;
  /** Through it go all calls, and all that a caller is shown of tools. */
  readonly gate: Gate;
  /** Whether the server is about to stop. */
  readonly isDraining: () => boolean;
  /** How many calls a batch may have. Default 256. */
  readonly batchCalls?: number;
  /** Whether `/metrics` has those of this process as well. Default: true. */
  readonly processMetrics?: boolean;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** What a caller must be to use the route. Each route says so, or the server does not start. */
    role?: Role | "anybody";
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

const METHODS: readonly HTTPMethods[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/** Finds out who asks, before anything else of a request is looked at. */
export function addAccess(app: FastifyInstance): void {
  app.decorateRequest("caller", null);
  app.addHook("onRoute", ({ url, config }) => {
    if (config?.role === undefined) throw new TypeError(`the route ${url} does not say who may use it`);
  });
  app.addHook("onRequest", (request, _reply, next) => {
    request.caller = ANYBODY;
    next();
  });
}

/** Who sent a request. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new TypeError("nobody has found out who sent the request");
  return request.caller;
}

/** Answers the methods that an address does not have: before the body is read, which nobody asked for. */
export function refuseOthers(app: FastifyInstance, url: string, allowed: readonly HTTPMethods[]): void {
  const allow = allowed.join(", ");
  app.route({
    url,
    method: METHODS.filter((method) => !allowed.includes(method)),
    config: { role: "anybody" },
    onRequest: async (_request, reply) => {
      reply.header("allow", allow);
      return sendRefusal(reply, "invalid_arguments", `this address takes ${allow}`, { status: 405 });
    },
    handler: (_request, reply) => reply,
  });
}
