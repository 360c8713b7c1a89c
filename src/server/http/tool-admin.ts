import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { registrantOf } from "../access/guests.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { isObject } from "../../kernel/base/json.ts";
import type { ToolDefinition, ToolInfo } from "../../kernel/tool/definition.ts";
import { compileSchema, type Validator } from "../../kernel/base/schema/schema.ts";
import { describeViolations } from "../../kernel/base/schema/violation.ts";
import { DELETE_TOOL, PUT_TOOL } from "./api/tool-routes.ts";
import { SCHEMAS } from "./api/schemas.ts";
import { sendJson, sendRefusal, sendUnregistered } from "./answers.ts";
import { etagOf, namesEtag } from "./etag.ts";
import { callerOf, type Surface } from "./surface.ts";

/** Fields that name files, which clients must not name on a server. */
const FILES: readonly string[] = ["entry", "path", "record"];

interface ToolRoute {
  readonly Params: { readonly name: string };
}

/** Reason for a refusal. Default status: that of the error code. */
interface Refused {
  readonly status?: number;
  readonly message: string;
  readonly details?: unknown;
}

const ADMIN = { role: "admin", needsKey: true } as const;
const NOT_OWN = "the tool belongs to another registrant; choose another name";
const NOT_AMONG = "the key has no access to the tool";
const UNDER_WAY: Refused = {
  status: 409,
  message: "another registration of this tool is in progress; try again when it has ended",
};

let definitions: Validator | undefined;

/** Adds the routes that register and remove tools. */
export function addToolAdmin(app: FastifyInstance, { engine, gate }: Surface): void {
  const underWay = new Set<string>();

  app.put<ToolRoute>("/v1/tools/:name", { config: { ...ADMIN, api: PUT_TOOL } }, async (request, reply) => {
    const { name } = request.params;
    if (!gate.mayName(callerOf(request), name)) return sendRefusal(reply, "forbidden", NOT_AMONG, { tool: name });
    const definition = readDefinition(request.body, name);
    if ("message" in definition) return refuse(reply, definition, name);
    const before = engine.get(name);
    const registrant = registrantOf(callerOf(request));
    if (!mayReplace(registrant, before)) return sendRefusal(reply, "forbidden", NOT_OWN, { tool: name });
    const obstacle = underWay.has(name) ? UNDER_WAY : findObstacle(request, before);
    if (obstacle !== null) return refuse(reply, obstacle, name);
    underWay.add(name);
    const registered = await register(engine, definition, registrant).finally(() => underWay.delete(name));
    if (registered instanceof GloveboxError) return sendFailure(reply, registered, name);
    return sendJson(reply.header("etag", etagOf(registered)), before === undefined ? 201 : 200, registered);
  });

  app.delete<ToolRoute>("/v1/tools/:name", { config: { ...ADMIN, api: DELETE_TOOL } }, async (request, reply) => {
    const { name } = request.params;
    if (!gate.mayName(callerOf(request), name)) return sendRefusal(reply, "forbidden", NOT_AMONG, { tool: name });
    const before = engine.get(name);
    if (!mayReplace(registrantOf(callerOf(request)), before)) {
      return sendRefusal(reply, "forbidden", NOT_OWN, { tool: name });
    }
    const obstacle = findObstacle(request, before);
    if (obstacle !== null) return refuse(reply, obstacle, name);
    return (await engine.unregister(name)) ? reply.code(204).send() : sendUnregistered(reply, name);
  });
}

function refuse(reply: FastifyReply, { status, message, details }: Refused, tool: string): FastifyReply {
  return sendRefusal(reply, "invalid_arguments", message, {
    ...(status === undefined ? {} : { status }),
    tool,
    details,
  });
}

/** Parses a tool definition; returns the refusal of an invalid one. */
function readDefinition(body: unknown, name: string): ToolDefinition | Refused {
  if (!isObject(body)) return { message: "the body is not an object with the name, description and source of a tool" };
  const file = FILES.find((one) => Object.hasOwn(body, one));
  if (file !== undefined) {
    return {
      message: `${file} would name a file of the server, which no client can; send the module's text as source`,
    };
  }
  definitions ??= compileSchema(SCHEMAS.ToolDefinition, "inputSchema");
  const violations = definitions.check(body);
  if (violations.length > 0) return { message: describeViolations(violations), details: { violations } };
  if (body["name"] !== name) return { message: "the name in the body differs from the name in the URL" };
  // The schema matches the type.
  return body as unknown as ToolDefinition;
}

/**
 * Checks `If-Match` and `If-None-Match` (RFC 9110) against the registered version; returns the refusal if they do not
 * hold.
 */
function findObstacle({ headers }: FastifyRequest, info: ToolInfo | undefined): Refused | null {
  const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = headers;
  const etag = info === undefined ? null : etagOf(info);
  if (ifMatch !== undefined && (etag === null || !namesEtag(ifMatch, etag))) {
    return { status: 412, message: "the tool's ETag does not match If-Match" };
  }
  if (ifNoneMatch !== undefined && etag !== null && namesEtag(ifNoneMatch, etag)) {
    return { status: 412, message: "the tool exists already, and If-None-Match requires that it does not" };
  }
  return null;
}

function mayReplace(registrant: string, before: ToolInfo | undefined): boolean {
  return before === undefined || before.registrant === registrant;
}

async function register(
  engine: Engine,
  definition: ToolDefinition,
  registrant: string,
): Promise<ToolInfo | GloveboxError> {
  try {
    return await engine.register(definition, { registrant });
  } catch (error) {
    if (error instanceof GloveboxError) return error;
    throw error;
  }
}

function sendFailure(reply: FastifyReply, { code, message, details }: GloveboxError, tool: string): FastifyReply {
  return sendRefusal(reply, code, message, { tool, details, ...(code === "load_error" ? { status: 422 } : {}) });
}
