import type { FastifyInstance, HTTPMethods } from "fastify";
import type { ScopedEngine } from "../access/scoped-engine.ts";
import type { Engine } from "../../engine/engine.ts";
import { sendRefusal } from "./answers.ts";

export { callerOf } from "./access.ts";

/** What routes are added to an app with. */
export interface Surface {
  readonly engine: Engine;
  /** Through it go all calls, and all that a caller is shown of tools. */
  readonly gate: ScopedEngine;
  /** Whether the server is stopping. */
  readonly isDraining: () => boolean;
  /** Has something ended once the server stops: streams that would go on for ever. */
  readonly onDrain: (end: () => void) => void;
  /** How many calls a batch may have. Default 256. */
  readonly batchCalls?: number;
  /** Whether `/metrics` has those of this process as well. Default: true. */
  readonly processMetrics?: boolean;
}

const METHODS: readonly HTTPMethods[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/** Answers the methods that an address does not have: before the body is read, which nobody asked for. */
export function refuseOthers(app: FastifyInstance, url: string, allowed: readonly HTTPMethods[]): void {
  const allow = allowed.join(", ");
  app.route({
    url,
    method: METHODS.filter((method) => !allowed.includes(method)),
    config: { role: "anybody", api: "none" },
    onRequest: async (_request, reply) => {
      reply.header("allow", allow);
      return sendRefusal(reply, "invalid_arguments", `this address takes ${allow}`, { status: 405 });
    },
    handler: (_request, reply) => reply,
  });
}
