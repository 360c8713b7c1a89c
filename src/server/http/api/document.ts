import type { FastifyInstance } from "fastify";
import { sendJsonText } from "../answers.ts";
import { GET_OPENAPI } from "./watch-routes.ts";
import { refuseOthers, type Surface } from "../surface.ts";
import type { Role } from "../../access/caller.ts";
import { type ApiAnswer, json, problemJson, refusals, type RouteDescription } from "./route-description.ts";
import { type ApiSchema, SCHEMAS } from "./schemas.ts";

/** A route and its description. */
export interface DescribedRoute {
  readonly method: string;
  /** In the router's format: `/v1/tools/:name`. */
  readonly url: string;
  /** One role, or those of which one is needed. */
  readonly role: Role | readonly Role[] | "anybody";
  readonly description: RouteDescription;
}

type Json = Readonly<Record<string, unknown>>;

/** Version of the API, not of the package. */
const VERSION = "1.0.0";

const TAGS = {
  calls: "Calls of tools.",
  tools: "Registered tools.",
  packages: "Packages of tools.",
  registry: "AgentSpace's registry of tools.",
  watching: "Metrics, probes and statistics.",
  protocols: "Other protocols.",
} as const satisfies Readonly<Record<RouteDescription["tag"], string>>;

/** Responses common to all routes that require a key. */
const KEYED: Readonly<Record<number, ApiAnswer>> = {
  ...refusals({ 401: "The key is missing or unknown.", 403: "The key lacks the required role." }),
  429: { ...json("Too many requests.", SCHEMAS.ToolResult), headers: { "Retry-After": "Seconds." } },
};
/** Responses common to all routes. */
const ANY: Readonly<Record<number, ApiAnswer>> = {
  ...refusals({ 403: "The request is for another host, or comes from another site's page." }),
  500: problemJson("Internal error.", SCHEMAS.PlainError),
};

const REFERENCE = /"#\/components\/schemas\/(\w+)"/g;
const schemas = new Map<string, unknown>(Object.entries(SCHEMAS));
/** Names of schemas, which are replaced with references everywhere. */
const nameOf = new Map<unknown, string>([...schemas].map(([name, schema]) => [schema, name]));

/** The OpenAPI 3.1 document of the routes. `basePath`: the path below which they are mounted. */
function openApiDocument(routes: readonly DescribedRoute[], basePath = ""): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) (paths[pathOf(route.url)] ??= {})[route.method.toLowerCase()] = operationOf(route);
  return {
    openapi: "3.1.0",
    info: {
      title: "Glovebox",
      version: VERSION,
      description: "Runs tools nobody has to trust.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: basePath === "" ? "/" : basePath }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemasOf(paths),
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "Required only where the server has keys." },
      },
    },
  };
}

/** The named schemas that the paths refer to, themselves or through others. */
function schemasOf(paths: unknown): Json {
  const found = new Map<string, unknown>();
  const left = [paths];
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    for (const [, name = ""] of JSON.stringify(part).matchAll(REFERENCE)) {
      if (found.has(name)) continue;
      const schema = withReferences(schemas.get(name), name);
      found.set(name, schema);
      left.push(schema);
    }
  }
  return Object.fromEntries(
    [...schemas.keys()].filter((name) => found.has(name)).map((name) => [name, found.get(name)]),
  );
}

function operationOf({ role, description: said }: DescribedRoute): Json {
  const answers = { ...ANY, ...(role === "anybody" ? {} : KEYED), ...said.answers };
  return {
    operationId: said.id,
    tags: [said.tag],
    summary: said.summary,
    ...(said.description === undefined ? {} : { description: said.description }),
    parameters: [
      ...parametersOf(said.params ?? {}, "path"),
      ...parametersOf(said.query ?? {}, "query"),
      ...parametersOf(said.headers ?? {}, "header"),
    ],
    ...(said.body === undefined ? {} : { requestBody: { required: true, content: withReferences(said.body) } }),
    responses: Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)])),
    security: role === "anybody" ? [] : [{ key: [] }, {}],
    "x-role": typeof role === "string" ? role : role.join(" or "),
    ...(said.events === undefined ? {} : { "x-events": withReferences(said.events) }),
  };
}

function parametersOf(named: Readonly<Record<string, string>>, place: "path" | "query" | "header"): readonly Json[] {
  const required = place === "path";
  const schema = { type: "string" };
  return Object.entries(named).map(([name, description]) => ({ name, in: place, required, description, schema }));
}

function responseOf({ description, content, headers }: ApiAnswer): Json {
  const described = Object.entries(headers ?? {}).map(([name, text]) => [
    name,
    { description: text, schema: { type: "string" } },
  ]);
  return {
    description,
    ...(headers === undefined ? {} : { headers: Object.fromEntries(described) }),
    ...(content === undefined ? {} : { content: withReferences(content) }),
  };
}

/** Replaces named schemas with references, except the one named `self`. */
function withReferences(value: unknown, self?: string): unknown {
  const name = nameOf.get(value);
  if (name !== undefined && name !== self) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(value)) return value.map((one) => withReferences(one));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value as ApiSchema).map(([key, one]) => [key, withReferences(one)]));
}

/** Converts the router's `/v1/tools/:name` to OpenAPI's `/v1/tools/{name}`. */
function pathOf(url: string): string {
  return url.replaceAll(/:(\w+)/g, "{$1}");
}

/** Adds `/openapi.json`, which describes the routes added after it. */
export function addOpenApi(app: FastifyInstance, { basePathOf = () => "" }: Pick<Surface, "basePathOf"> = {}): void {
  const routes: DescribedRoute[] = [];
  app.addHook("onRoute", ({ method, url, config }) => {
    const { api, role = "anybody" } = config ?? {};
    if (api === undefined || api === "none") return;
    const methods = [method].flat().filter((one) => one !== "HEAD");
    routes.push(...methods.map((one) => ({ method: one, url, role, description: api })));
  });
  /** The last document, and the path for which it was written: almost all requests come by the same. */
  let last: { readonly basePath: string; readonly text: string } | undefined;
  app.get("/openapi.json", { config: { role: "anybody", api: GET_OPENAPI } }, (request, reply) => {
    const basePath = basePathOf(request);
    if (last?.basePath !== basePath) last = { basePath, text: JSON.stringify(openApiDocument(routes, basePath)) };
    return sendJsonText(reply, 200, last.text);
  });
  refuseOthers(app, "/openapi.json", ["GET", "HEAD"]);
}
