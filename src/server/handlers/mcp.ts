import type { IncomingMessage, ServerResponse } from "node:http";
import type { Engine } from "../../kernel/engine/engine.ts";
import { answerWith, type FetchHandler } from "./fetch.ts";
import { MountedApp } from "./mounted-app.ts";
import { type NodeHandler, readBefore } from "./node.ts";
import { type HandlerOptions, readOptions } from "./options.ts";

/** The Model Context Protocol alone, at any address. Both handlers share their sessions. */
export interface McpHandler {
  readonly fetch: FetchHandler;
  readonly node: NodeHandler;
  /** Ends all sessions and streams. The engine stays its owner's. */
  close(): Promise<void>;
}

const URL_INSIDE = "/mcp";

/**
 * Makes handlers of an engine's MCP endpoint. `authenticate` gets a `Request` without a body from `node`, too. Throws a
 * `TypeError` if an option is invalid, or if no option defines the permitted callers.
 */
export function toMcpHandler(engine: Engine, options: Omit<HandlerOptions<Request>, "routes">): McpHandler {
  const app = new MountedApp(engine, readOptions({ ...options, routes: ["mcp"] }));
  const place = { url: URL_INSIDE, basePath: options.basePath ?? "" };
  const drain = app.drain.bind(app);
  const fetch = (request: Request): Promise<Response> => answerWith(app, request, place);
  const node = (request: IncomingMessage, response: ServerResponse): void =>
    app.answer({ incoming: () => headOf(request), ...place, ...readBefore(request) }, request, response);
  return { fetch: Object.assign(fetch, { drain }), node: Object.assign(node, { drain }), close: () => app.close() };
}

/** A request without its body, as the web has it. */
function headOf({ method = "GET", headers, url = "/" }: IncomingMessage): Request {
  const named = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Request(new URL(url, `http://${headers.host ?? "localhost"}`), {
    method,
    headers: named.filter(([name]) => !name.startsWith(":")),
  });
}
