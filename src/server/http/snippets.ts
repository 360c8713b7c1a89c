import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GloveboxError, StoreError } from "../../kernel/base/errors.ts";
import { isObject } from "../../kernel/base/json.ts";
import type { SnippetAuthor, SnippetDefinition } from "../../kernel/engine/snippets/snippet.ts";
import { sendJson, sendRefusal } from "./answers.ts";
import { DELETE_SNIPPET, GET_SNIPPET, LIST_SNIPPETS, PUT_SNIPPET } from "./api/snippet-routes.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";

const SNIPPETS = "/v1/snippets";
const SNIPPET = `${SNIPPETS}/:name`;
const MEMBERS: readonly string[] = ["name", "description", "code", "callId", "inputSchema", "outputSchema"];
const NOT_FOUND = "there is no such snippet";
/** A tool that cannot be registered, and a full store. */
const UNPROCESSABLE = 422;

interface Route {
  Params: { name: string };
  Querystring: { tenant?: unknown };
}

/** Adds the routes that save programs as tools of one tenant. */
export function addSnippets(app: FastifyInstance, { engine, gate }: Surface): void {
  const { snippets } = engine;
  const authorOf = (request: FastifyRequest<Pick<Route, "Querystring">>): SnippetAuthor => {
    const { tenant } = request.query;
    if (tenant === undefined || typeof tenant === "string") return gate.authorOf(callerOf(request), tenant);
    throw new GloveboxError("invalid_arguments", "tenant is one name");
  };

  const list = { config: { role: "admin", api: LIST_SNIPPETS } } as const;
  app.get<Pick<Route, "Querystring">>(SNIPPETS, list, (request, reply) =>
    answer(reply, async () => sendJson(reply, 200, await snippets.list(authorOf(request)))),
  );
  refuseOthers(app, SNIPPETS, ["GET", "HEAD"]);

  app.get<Route>(SNIPPET, { config: { role: "admin", api: GET_SNIPPET } }, (request, reply) =>
    answer(reply, async () => {
      const found = await snippets.get(request.params.name, authorOf(request));
      return found === undefined ? refuseMissing(reply) : sendJson(reply, 200, found);
    }),
  );

  app.put<Route>(SNIPPET, { config: { role: "admin", api: PUT_SNIPPET } }, (request, reply) =>
    answer(reply, async () => {
      const definition = definitionOf(request);
      // A kept program is a value of a call.
      if (definition.callId !== undefined && !callerOf(request).roles.has("calls"))
        throw new GloveboxError("forbidden", "the program of a kept call needs a key with the role calls, too");
      return sendJson(reply, 200, await snippets.save(definition, authorOf(request)));
    }),
  );

  app.delete<Route>(SNIPPET, { config: { role: "admin", api: DELETE_SNIPPET } }, (request, reply) =>
    answer(reply, async () => {
      const isGone = await snippets.delete(request.params.name, authorOf(request));
      return isGone ? reply.code(204).send() : refuseMissing(reply);
    }),
  );
  refuseOthers(app, SNIPPET, ["GET", "HEAD", "PUT", "DELETE"]);
}

function definitionOf({ body, params }: FastifyRequest<Route>): SnippetDefinition {
  const odd = isObject(body) ? Object.keys(body).find((name) => !MEMBERS.includes(name)) : "the body";
  if (odd !== undefined || !isObject(body)) {
    const message = `${String(odd).slice(0, 64)} is not known; the body is an object with ${MEMBERS.slice(1).join(", ")}`;
    throw new GloveboxError("invalid_arguments", message);
  }
  // The engine checks any value.
  return { ...body, name: params.name } as unknown as SnippetDefinition;
}

function refuseMissing(reply: FastifyReply): Promise<FastifyReply> | FastifyReply {
  return sendRefusal(reply, "invalid_arguments", NOT_FOUND, { status: 404 });
}

async function answer(reply: FastifyReply, work: () => Promise<FastifyReply> | FastifyReply): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreError) return sendRefusal(reply, "store_failed", error.message);
    if (!(error instanceof GloveboxError)) throw error;
    const status = error.code === "load_error" ? { status: UNPROCESSABLE } : {};
    return sendRefusal(reply, error.code, error.message, { ...status, details: error.details });
  }
}
