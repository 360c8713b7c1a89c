import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { RegistryError, type RegistryErrorCode } from "../../contrib/agentspace/records.ts";
import type { Registry } from "../../contrib/agentspace/registry.ts";
import type { RecordFilter } from "../../contrib/agentspace/shown-record.ts";
import { type ErrorCode, GloveboxError, StoreError } from "../../kernel/base/errors.ts";
import { isObject } from "../../kernel/base/json.ts";
import { ContractError } from "../../kernel/tool/contracts/contract.ts";
import { registrantOf } from "../access/guests.ts";
import type { RecordScope, ScopedEngine } from "../access/scoped-engine.ts";
import * as API from "./api/agentspace-routes.ts";
import { sendJson, sendRefusal, sendUnregistered } from "./answers.ts";
import { namesEtag } from "./etag.ts";
import { answerErrors } from "./failure.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";

interface ToolRoute {
  readonly Params: { readonly id: string };
}

const TOOLS = "/v1/agentspace/tools";
const TOOL = `${TOOLS}/:id`;
const SEARCH = "/v1/agentspace/search";
const READ = { role: "execute" } as const;
const CHANGE = { role: "admin", needsKey: true } as const;
const TEXT_MAX = 1_000;
const TAGS_MAX = 64;
const NOT_AMONG = "the key has no access to the tool";
const OF_ALL = "the tool is one of all tenants; a key without a tenant may remove it";
const MARKDOWN = "text/markdown; charset=utf-8";
const BUSY_MS = 1_000;
const NO_PATH =
  "/tool_source_code_link: a client cannot name a file of the server; upload the package, or give the address of an archive";

/** Responses to errors of the registry. */
const REFUSALS: Readonly<Record<RegistryErrorCode, { readonly code: ErrorCode; readonly status: number }>> = {
  conflict: { code: "invalid_arguments", status: 409 },
  not_found: { code: "tool_not_found", status: 404 },
  full: { code: "input_too_large", status: 413 },
  too_large: { code: "input_too_large", status: 413 },
  busy: { code: "queue_full", status: 503 },
  closed: { code: "engine_closed", status: 503 },
};

/** Adds the routes of AgentSpace's registry, if there is one. */
export function addAgentSpace(app: FastifyInstance, surface: Surface): void {
  const { registry, gate } = surface;
  if (registry === undefined) return;
  void app.register(async (scope) => {
    answerErrors(scope, sendFailure);
    addChanges(scope, registry, surface);
    addLists(scope, registry, gate);
    addReading(scope, registry, gate);
  });
  refuseOthers(app, TOOLS, ["GET", "HEAD", "POST"]);
  refuseOthers(app, TOOL, ["GET", "HEAD", "DELETE"]);
  refuseOthers(app, SEARCH, ["GET", "HEAD"]);
}

function addChanges(app: FastifyInstance, registry: Registry, { gate, uploadAt }: Surface): void {
  app.post<{ Querystring: { replace?: unknown } }>(
    TOOLS,
    { config: { ...CHANGE, api: API.REGISTER_RECORD } },
    (request, reply) => {
      const { body, host } = request;
      const caller = callerOf(request);
      if (!isObject(body)) return sendRefusal(reply, "invalid_arguments", "the body is not a registration record");
      const { tool_id: id, tool_source_code_link: link } = body;
      if (typeof id === "string" && !gate.mayName(caller, id)) {
        return sendRefusal(reply, "forbidden", NOT_AMONG, { tool: id });
      }
      if (typeof link === "string" && !/^https?:\/\//i.test(link)) {
        return sendRefusal(reply, "invalid_arguments", NO_PATH, { details: { pointer: "/tool_source_code_link" } });
      }
      const { tenant } = gate.recordsOf(caller);
      const upload = typeof link === "string" ? uploadAt?.(link, host) : undefined;
      const { tool_id: toolId } = registry.register(body, {
        replace: readReplace(request.query.replace),
        registeredBy: registrantOf(caller),
        ...(tenant === undefined ? {} : { tenant }),
        ...(upload === undefined ? {} : { upload }),
      });
      return sendRecord(reply, 201, registry, toolId, gate.recordsOf(caller));
    },
  );

  app.delete<ToolRoute>(TOOL, { config: { ...CHANGE, api: API.REMOVE_RECORD } }, async (request, reply) => {
    const { id } = request.params;
    const caller = callerOf(request);
    if (!gate.mayName(caller, id)) return sendRefusal(reply, "forbidden", NOT_AMONG, { tool: id });
    const scope = gate.recordsOf(caller);
    if (await registry.remove(id, scope)) return reply.code(204).send();
    const isOfAll = registry.find(id, scope) !== undefined;
    return isOfAll ? sendRefusal(reply, "forbidden", OF_ALL, { tool: id }) : sendUnregistered(reply, id);
  });
}

function addLists(app: FastifyInstance, registry: Registry, gate: ScopedEngine): void {
  app.get(TOOLS, { config: { ...READ, api: API.LIST_RECORDS } }, (request, reply) => {
    const query = readQuery(request);
    if (typeof query === "string") return sendRefusal(reply, "invalid_arguments", query);
    const { filter, limit, after } = query;
    const scope = gate.recordsOf(callerOf(request));
    const page = {
      ...filter,
      ...scope,
      ...(after === undefined ? {} : { after }),
      ...(limit === undefined ? {} : { limit }),
    };
    return sendJson(reply, 200, registry.page(page));
  });

  app.get(SEARCH, { config: { ...READ, api: API.SEARCH_RECORDS } }, async (request, reply) => {
    const query = readQuery(request);
    if (typeof query === "string") return sendRefusal(reply, "invalid_arguments", query);
    const { filter, limit, q = "" } = query;
    const scope = gate.recordsOf(callerOf(request));
    const options = { ...filter, ...scope, ...(limit === undefined ? {} : { limit }) };
    return sendJson(reply, 200, await registry.searchSummaries(q, options));
  });
}

function addReading(app: FastifyInstance, registry: Registry, gate: ScopedEngine): void {
  /** Adds a route of one record, whose answer `read` makes; `undefined` is a 404. */
  const add = (
    part: string,
    api: typeof API.GET_RECORD,
    read: (id: string, scope: RecordScope, reply: FastifyReply) => unknown,
  ): void => {
    app.get<ToolRoute>(`${TOOL}${part}`, { config: { ...READ, api } }, async (request, reply) => {
      const { id } = request.params;
      const caller = callerOf(request);
      const found = gate.mayName(caller, id) ? registry.find(id, gate.recordsOf(caller)) : undefined;
      if (found === undefined) return sendUnregistered(reply, id);
      const etag = etagOf(found.registration.revision);
      reply.header("etag", etag);
      if (namesEtag(request.headers["if-none-match"] ?? "", etag)) return reply.code(304).send();
      return read(id, gate.recordsOf(caller), reply);
    });
    if (part !== "") refuseOthers(app, `${TOOL}${part}`, ["GET", "HEAD"]);
  };
  add("", API.GET_RECORD, (id, scope, reply) => sendRecord(reply, 200, registry, id, scope));
  add("/man", API.GET_MAN_PAGE, (id, scope, reply) =>
    reply.header("content-type", MARKDOWN).send(registry.manPage(id, scope)),
  );
  add("/form", API.GET_FORM, (id, scope, reply) => sendJson(reply, 200, registry.form(id, scope)));
  add("/versions", API.GET_VERSIONS, (id, scope, reply) =>
    sendJson(reply, 200, { versions: registry.versions(id, scope) }),
  );
  add("/spec", API.GET_SPEC, (id, scope, reply) => {
    const tool = registry.describe(id, scope);
    return sendJson(reply, 200, { input: tool?.inputSchema, output: tool?.outputSchema });
  });
  add("/commands", API.GET_COMMANDS, async (id, scope, reply) => {
    // The commands are defined only in its code, which runs only in an isolate.
    const { commands } = await registry.load(id, scope);
    return sendJson(reply, 200, { supported: commands !== undefined, commands: commands ?? [] });
  });
}

function sendRecord(
  reply: FastifyReply,
  status: number,
  registry: Registry,
  id: string,
  scope: RecordScope,
): FastifyReply {
  const found = registry.find(id, scope);
  if (found === undefined) return sendUnregistered(reply, id);
  const { record, registration } = found;
  return sendJson(reply.header("etag", etagOf(registration.revision)), status, { ...record, registration });
}

/** A revision is used once. */
function etagOf(revision: number): string {
  return `"r${revision}"`;
}

function readReplace(given: unknown): boolean | string {
  if (typeof given !== "string" || given === "false") return false;
  return given === "true" || given === "" ? true : given;
}

interface ReadQuery {
  readonly filter: RecordFilter;
  readonly q?: string;
  readonly after?: string;
  readonly limit?: number;
}

/** The query of a list or a search; a string describes a mistake in it. */
function readQuery({ query }: FastifyRequest): ReadQuery | string {
  const { tag = [], limit, ...texts } = isObject(query) ? query : {};
  const tags = [tag].flat() as readonly unknown[];
  if (tags.length > TAGS_MAX || !tags.every(isText)) return `tag is at most ${TAGS_MAX} texts`;
  if (limit !== undefined && !(typeof limit === "string" && /^[1-9]\d?$|^100$/.test(limit))) return "limit is 1 to 100";
  const { q, after, type, sub_type: subType } = texts;
  for (const [name, value] of Object.entries({ q, after, type, sub_type: subType })) {
    if (value !== undefined && !isText(value)) return `${name} is one text of at most ${TEXT_MAX} characters`;
  }
  return {
    filter: {
      tags: tags.filter(isText),
      ...(isText(type) ? { type } : {}),
      ...(isText(subType) ? { subType } : {}),
    },
    ...(isText(q) ? { q } : {}),
    ...(isText(after) ? { after } : {}),
    ...(limit === undefined ? {} : { limit: Number(limit) }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= TEXT_MAX;
}

/** Responds to errors of the registry, and of a tool that could not be loaded. Rethrows others. */
function sendFailure(reply: FastifyReply, error: unknown): FastifyReply {
  if (error instanceof ContractError) {
    const { message, pointer } = error;
    return sendRefusal(reply, "invalid_arguments", message.replace(/^agentspace /, ""), { details: { pointer } });
  }
  if (error instanceof RegistryError) {
    const { code, status } = REFUSALS[error.code];
    const details = status === 503 ? { details: { retryAfterMs: BUSY_MS } } : {};
    return sendRefusal(reply, code, error.message, { status, ...details });
  }
  if (error instanceof GloveboxError) {
    const { code, message, details } = error;
    return sendRefusal(reply, code, message, { details, ...(code === "load_error" ? { status: 422 } : {}) });
  }
  if (error instanceof StoreError) return sendRefusal(reply, "store_failed", error.message);
  throw error;
}
