import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ConnectorOptions, EngineOptions } from "../../../src/glovebox/index.ts";

/** A request as an API got it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Answer = (request: Seen, response: ServerResponse) => unknown;

/** An HTTP server on this machine, with the folder of its document. */
export interface Api extends AsyncDisposable {
  readonly origin: string;
  readonly seen: Seen[];
  /** Writes a document and returns its path. */
  write(document: unknown, name?: string): Promise<string>;
}

export async function serveApi(answer: Answer = (_request, response) => sendJson(response, {})): Promise<Api> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, body };
      seen.push(one);
      void answer(one, response);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const folder = await mkdtemp(path.join(tmpdir(), "glovebox-api-"));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    write: async (document, name = "api.json") => {
      const file = path.join(folder, name);
      await writeFile(file, typeof document === "string" ? document : JSON.stringify(document));
      return file;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

/** A document with one operation for each path: `GET /items/{id}` as `get_item`. */
export function documentOf(
  operations: readonly (readonly [method: string, path: string, operationId: string, more?: object])[],
  version = "3.1.0",
): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const [method, at, operationId, more = {}] of operations) {
    const parameters = [...at.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
      return { name, in: "path", required: true, schema: { type: "string" } };
    });
    const responses = {
      200: { description: "Done.", content: { "application/json": { schema: { type: "object" } } } },
    };
    (paths[at] ??= {})[method.toLowerCase()] = {
      operationId,
      summary: `It does ${operationId}.`,
      parameters,
      responses,
      ...more,
    };
  }
  return { openapi: version, info: { title: "An API", version: "1" }, paths };
}

/** A JSON body of an operation, with these properties. */
export function bodyWith(properties: object): object {
  return { requestBody: { content: { "application/json": { schema: { type: "object", properties } } } } };
}

export const SECRET = "correct-horse-battery-staple";

/** Options of an engine with the connector `crm`, which sends a secret, and a rule for its tools. */
export function engineWith(api: Api, document: string, more: Partial<ConnectorOptions> = {}): EngineOptions {
  return {
    workers: 1,
    executor: "threads",
    connectors: {
      crm: {
        openapi: { document, server: api.origin },
        headers: { "x-key": "{secret:CRM}" },
        ...more,
      } as ConnectorOptions,
    },
    secrets: { CRM: { value: SECRET, bind: [{ origin: api.origin, in: "header:x-key" }] } },
    policy: { rules: [{ tools: ["crm.*"], allow: { connector: ["crm"] } }] },
  };
}
