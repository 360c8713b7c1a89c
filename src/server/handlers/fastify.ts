import "../../kernel/base/check-node.ts";
import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import type { Engine } from "../../kernel/engine/engine.ts";
import { sendError } from "../http/answers.ts";
import { MountedApp } from "./mounted-app.ts";
import { below } from "./node.ts";
import { type HandlerOptions, readOptions } from "./options.ts";

export type { Caller, HandlerOptions } from "./options.ts";
export type { RouteGroup } from "../http/route-groups.ts";

export interface GloveboxFastifyOptions extends Omit<HandlerOptions<FastifyRequest>, "basePath"> {
  readonly engine: Engine;
  /** Maximum time to finish running calls when the application closes, in milliseconds. Default 5,000. */
  readonly drainMs?: number;
}

/**
 * Adds an engine's routes to a Fastify application, below the plugin's prefix. The application's hooks run before; when
 * it closes, calls in progress end first, and the engine stays open. Rejects with a `TypeError` if an option is
 * invalid, or if no option defines the permitted callers.
 */
export const gloveboxFastify: FastifyPluginAsync<GloveboxFastifyOptions> = async (
  scope,
  { engine, drainMs, ...options },
) => {
  const basePath = scope.prefix.replace(/\/$/, "");
  const settings = readOptions(options);
  const app = new MountedApp(engine, settings);
  // The route itself reads and parses the body.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
  scope.setErrorHandler((error: FastifyError, _request, reply) => sendError(reply, error, settings.bodyBytes));
  for (const url of new Set((await app.urls()).map(wholePath))) {
    scope.all(url, (request, reply) => {
      const { raw } = request;
      keepHeaders(reply);
      const place = { basePath, url: below(raw.url ?? "/", basePath) ?? "/" };
      app.answer({ incoming: () => request, ...place }, raw, reply.raw);
    });
  }
  scope.addHook("preClose", () => app.drain(drainMs === undefined ? {} : { drainMs }));
};

/** An address with a wildcard as its parameter: the application may limit the length of named parameters. */
function wholePath(url: string): string {
  return url.replace(/:.*$/, "*");
}

/** Detaches a response from the application, which may have set headers for it. */
function keepHeaders(reply: FastifyReply): void {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
}
