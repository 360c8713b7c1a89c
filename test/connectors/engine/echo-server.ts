import fastifyMultipart from "@fastify/multipart";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import qs from "qs";

export interface DescribedSchema {
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly items?: DescribedSchema;
  readonly minItems?: number;
  readonly properties?: { readonly [name: string]: DescribedSchema };
  readonly required?: readonly string[];
}

interface DescribedContent {
  readonly [mediaType: string]: { readonly schema?: DescribedSchema; readonly encoding?: object };
}

interface DescribedParameter {
  readonly name: string;
  readonly in: "path" | "query" | "querystring" | "header" | "cookie";
  readonly required?: boolean;
  readonly style?: string;
  readonly explode?: boolean;
  readonly schema?: DescribedSchema;
  readonly content?: DescribedContent;
}

export interface DescribedOperation {
  readonly operationId: string;
  readonly parameters?: readonly DescribedParameter[];
  readonly requestBody?: { readonly required: true; readonly content: DescribedContent };
  readonly responses: object;
}

type DescribedPath = {
  readonly [method: string]: DescribedOperation;
};

/** The part of a document of OpenAPI 3.2 from which a server can be made. */
export interface DescribedApi {
  readonly openapi: "3.2.0";
  readonly info: object;
  readonly paths: {
    readonly [path: string]: DescribedPath | { readonly additionalOperations: DescribedPath };
  };
}

/** A request as a server got it. */
export interface Received {
  readonly method: string;
  readonly path: unknown;
  readonly query: unknown;
  /** Where a parameter is the whole query. */
  readonly querystring: string;
  readonly header: { readonly [name: string]: unknown };
  readonly cookie: { readonly [name: string]: string };
  readonly type: string | null;
  readonly body: unknown;
}

/** The operations of a document, each with its method and path. */
export function operationsOf({ paths }: DescribedApi): (DescribedOperation & { method: string; path: string })[] {
  return Object.entries(paths).flatMap(([path, { additionalOperations, ...fixed }]) =>
    [...Object.entries(fixed), ...Object.entries(additionalOperations ?? {})].map(([method, operation]) => {
      return { ...(operation as DescribedOperation), method: method.toUpperCase(), path };
    }),
  );
}

/**
 * A server with a route for each operation of the document. It answers with what it received; below `/mirror` with the bytes
 * of the body, in their media type.
 */
export async function serveDocument(document: DescribedApi): Promise<FastifyInstance> {
  const server = fastify({
    routerOptions: { maxParamLength: 10_000, querystringParser: (text) => qs.parse(text, { depth: 10 }) },
  });
  server.removeAllContentTypeParsers();
  await server.register(fastifyMultipart);
  server.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  for (const { method, path } of operationsOf(document)) {
    if (!server.supportedMethods.includes(method)) server.addHttpMethod(method, { hasBody: true });
    server.route({ method, url: path.replaceAll(/\{(\w+)\}/g, ":$1"), handler: echo });
  }
  await server.listen({ port: 0, host: "127.0.0.1" });
  return server;
}

async function echo(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const type = request.headers["content-type"] ?? null;
  if (request.url.startsWith("/mirror")) return reply.type(type ?? "").send(request.body);
  const { method, params, query, headers } = request;
  const [, querystring = ""] = request.url.split("?");
  const cookies = (headers.cookie ?? "").split("; ").filter((one) => one !== "");
  return {
    method,
    path: params,
    query,
    querystring: decodeURIComponent(querystring),
    header: headers,
    cookie: Object.fromEntries(cookies.map((one) => [one.split("=")[0], decodeURIComponent(one.split("=")[1] ?? "")])),
    type,
    body: request.isMultipart() ? await partsOf(request) : bodyOf(type ?? "", request.body),
  };
}

async function partsOf(request: FastifyRequest): Promise<readonly unknown[]> {
  const parts: unknown[] = [];
  for await (const part of request.parts()) {
    if (part.type === "field") parts.push([part.fieldname, part.mimetype, part.value]);
    else {
      const base64 = (await part.toBuffer()).toString("base64");
      parts.push([part.fieldname, part.mimetype, { filename: part.filename, base64 }]);
    }
  }
  return parts;
}

function bodyOf(type: string, body: unknown): unknown {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  if (/json/.test(type)) return JSON.parse(bytes.toString());
  if (/urlencoded/.test(type)) return qs.parse(bytes.toString());
  return type.startsWith("text/") ? bytes.toString() : { base64: bytes.toString("base64") };
}
