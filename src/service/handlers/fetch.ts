import type { Engine } from "../../engine/engine.ts";
import { MountedApp } from "./mounted-app.ts";
import { below } from "./node.ts";
import { type HandlerOptions, type Mounted, readOptions } from "./options.ts";
import { openPair } from "./web-pair.ts";

/** A handler for servers that speak the web's `Request` and `Response`: Hono, Next, Bun, Deno. */
export interface FetchHandler extends Mounted {
  (request: Request): Promise<Response>;
}

/**
 * Makes a handler of an engine's routes, for a server that speaks `Request` and `Response`. Throws a `TypeError` if an
 * option is invalid, or if none says who may call.
 */
export function toFetchHandler(engine: Engine, options: HandlerOptions<Request>): FetchHandler {
  const settings = readOptions(options);
  const app = new MountedApp(engine, settings);
  const basePath = settings.basePath ?? "";
  const answer = (request: Request): Promise<Response> =>
    answerWith(app, request, { basePath, url: below(pathOf(request), basePath) ?? NOWHERE });
  return Object.assign(answer, { drain: app.drain.bind(app) });
}

/** No route has this address. */
const NOWHERE = "/-";

/** Answers a request at an address. */
export function answerWith(
  app: MountedApp<Request>,
  request: Request,
  place: { readonly url: string; readonly basePath: string },
): Promise<Response> {
  const { incoming, outgoing, response } = openPair(request, place.url);
  app.answer({ incoming: () => request, ...place }, incoming, outgoing);
  return response;
}

function pathOf({ url }: Request): string {
  // A URL that the server has read: its path begins behind the third slash.
  const at = url.indexOf("/", url.indexOf("//") + 2);
  const end = url.indexOf("#", at);
  return end < 0 ? url.slice(at) : url.slice(at, end);
}
