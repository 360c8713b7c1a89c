import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { createV1Server } from "./v1.ts";
import { createV2Server } from "./v2.ts";

export type Handle = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** A server of this test. */
export interface Served {
  readonly url: string;
  /** Its requests, as it got them. */
  readonly requests: readonly {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage["headers"];
  }[];
  readonly close: () => Promise<void>;
}

/** Serves on a free port of this machine, or on the given one, until the test ends. */
export async function serve(handle: Handle, port = 0): Promise<Served> {
  const requests: Served["requests"][number][] = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers });
    void Promise.try(handle, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, requests, close };
}

/** Sessions of the SDK's first version. */
export function v1Sessions(): Handle {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) return void response.writeHead(404).end();
    if (known !== undefined) return await known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    // The SDK's own types disagree under `exactOptionalPropertyTypes`.
    await createV1Server().connect(transport as Parameters<ReturnType<typeof createV1Server>["connect"]>[0]);
    await transport.handleRequest(request, response);
  };
}

/** Requests of the SDK's second version: 2026-07-28 alone where `legacy` is `reject`. */
export function v2Requests(legacy: "stateless" | "reject" = "stateless"): Handle {
  const handler = createMcpHandler(() => createV2Server(), { legacy });
  return async (request, response) => {
    const body = request.method === "POST" ? await buffer(request) : null;
    const headers = new Headers(
      Object.entries(request.headers).flatMap(([name, value]) =>
        typeof value === "string" ? [[name, value] as [string, string]] : [],
      ),
    );
    const abort = new AbortController();
    response.once("close", () => abort.abort());
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? "GET",
        headers,
        body,
        signal: abort.signal,
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) return void response.end();
    Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0])
      .on("error", () => response.destroy())
      .pipe(response);
  };
}
