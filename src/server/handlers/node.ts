import type { IncomingMessage, ServerResponse } from "node:http";
import type { Engine } from "../../kernel/engine/engine.ts";
import { type Exchange, MountedApp } from "./mounted-app.ts";
import { type HandlerOptions, type Mounted, readOptions } from "./options.ts";

/** A handler for Node's own server, Express, Connect and frameworks based on them. */
export interface NodeHandler<Incoming extends IncomingMessage = IncomingMessage> extends Mounted {
  /** `next`: receives requests without a route here. Without it they get 404. */
  (request: Incoming, response: ServerResponse, next?: (error?: unknown) => void): void;
}

/** A request with the members that Express and body parsers add. */
export type NodeRequest = IncomingMessage & { readonly baseUrl?: unknown; readonly body?: unknown };

/**
 * Makes a handler of an engine's routes, for a server that has its own listener. Throws a `TypeError` if an option is
 * invalid, or if no option defines the permitted callers.
 */
export function toNodeHandler<Incoming extends IncomingMessage = IncomingMessage>(
  engine: Engine,
  options: HandlerOptions<Incoming>,
): NodeHandler<Incoming> {
  const settings = readOptions(options);
  const app = new MountedApp(engine, settings);
  const answer = (request: Incoming, response: ServerResponse, next?: (error?: unknown) => void): void => {
    const place = placeOf(request, settings.basePath);
    if (place === null && next !== undefined) return next();
    app.answer(
      { incoming: () => request, ...(place ?? NOWHERE), ...readBefore(request), ...nextOf(next) },
      request,
      response,
    );
  };
  return Object.assign(answer, { drain: app.drain.bind(app) });
}

/** No route has this address. */
const NOWHERE = { url: "/-", basePath: "" };

/** Path of a request below the mount; `null` if it is elsewhere. */
function placeOf(
  { url = "/", baseUrl }: NodeRequest,
  basePath: string | null,
): Pick<Exchange<unknown>, "url" | "basePath"> | null {
  const taken = typeof baseUrl === "string" ? baseUrl : "";
  if (basePath === null || taken.endsWith(basePath)) return { url, basePath: taken };
  const rest = below(url, basePath);
  return rest === null ? null : { url: rest, basePath };
}

/** The part of an address that follows a path; `null` if it is not below it. */
export function below(url: string, basePath: string): string | null {
  if (!url.startsWith(basePath)) return null;
  const rest = url.slice(basePath.length);
  if (rest.startsWith("/")) return rest;
  return rest === "" || rest.startsWith("?") ? `/${rest}` : null;
}

/** The body as another parser has read it, if it has read it to its end. */
export function readBefore(request: NodeRequest): Pick<Exchange<unknown>, "body" | "isRead"> {
  return request.readableEnded ? { isRead: true, body: request.body } : {};
}

function nextOf(next: unknown): Pick<Exchange<unknown>, "next"> {
  return typeof next === "function" ? { next: () => void next() } : {};
}
