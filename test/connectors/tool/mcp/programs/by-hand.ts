import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { Handle } from "./http.ts";

type Params = Readonly<Record<string, unknown>>;

interface HandOptions {
  /** What follows a call, in place of its result. */
  readonly streamed?: (response: ServerResponse, id: number) => void | Promise<void>;
  /** What follows an answer of the client. Default: it is accepted. */
  readonly answered?: (response: ServerResponse) => void;
  /** The status and the headers with which a request of a method is refused; `null` where it is not. */
  readonly refuse?: (method: string) => { readonly status: number; readonly [header: string]: string | number } | null;
}

/** A server that answers each request by hand: `answer` makes the result of a method. */
export function byHand(
  answer: (method: string, params: Params, headers: IncomingHttpHeaders) => object,
  { streamed, answered, refuse }: HandOptions = {},
): Handle {
  return async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const {
      id,
      method,
      params = {},
    } = JSON.parse(await text(request)) as { id?: number; method?: string; params?: Params };
    if (method === undefined && answered !== undefined) return answered(response);
    if (id === undefined || method === undefined) return void response.writeHead(202).end();
    const say = (message: object): void => {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, ...message }));
    };
    const refused = refuse?.(method) ?? null;
    if (refused !== null) {
      const { status, ...headers } = refused;
      return void response.writeHead(status, headers).end();
    }
    if (method === "tools/call" && streamed !== undefined) return await streamed(response, id);
    if (method === "server/discover") return say({ error: { code: -32_601, message: "Method not found" } });
    const serverInfo = { name: "hand", version: "1" };
    if (method === "initialize")
      return say({ result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo } });
    say({ result: answer(method, params, request.headers) });
  };
}
