import type { FastifyInstance, FastifyRequest, HTTPMethods } from "fastify";
import type { ScopedEngine } from "../access/scoped-engine.ts";
import type { Registry } from "../../contrib/agentspace/registry.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import { sendRefusal } from "./answers.ts";

export { callerOf } from "./access.ts";

/** Dependencies of the routes. */
export interface Surface {
  readonly engine: Engine;
  /** Scoped engine through which routes call and list tools. */
  readonly gate: ScopedEngine;
  /** Whether the server is stopping. */
  readonly isDraining: () => boolean;
  /** Registers a function that runs when the server stops, to end streams that have no end of their own. */
  readonly onDrain: (end: () => void) => void;
  /** Registry of AgentSpace's records. Default: none, and no routes for it. */
  readonly registry?: Registry;
  /** The place of an upload, if a link to the server of a request is one. */
  readonly uploadAt?: (link: string, host: string) => string | undefined;
  /** Maximum number of calls in a batch. Default 256. */
  readonly batchCalls?: number;
  /** Whether `/metrics` includes the metrics of this process. Default: true. */
  readonly processMetrics?: boolean;
  /** URL at which clients reach the server. Default: the host of the request. */
  readonly publicUrl?: string;
  /** Path below which the routes are mounted, as a request reached them. Default: none. */
  readonly basePathOf?: (request: FastifyRequest) => string;
}

const METHODS: readonly HTTPMethods[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/** Responds 405 to the other methods of an address, before the body is read. */
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
