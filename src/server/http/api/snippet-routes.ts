import { json, refusals, type RouteDescription } from "./route-description.ts";
import { type ApiSchema, exactly, listOf, orNull, text } from "./schema-parts.ts";

const SCHEMA: ApiSchema = { type: "object", description: "JSON Schema." };
const SNIPPET = exactly({
  name: text("Its tool is called `snippets.NAME`."),
  tenant: text("The tenant whose calls find it; empty: calls without a tenant."),
  version: text("SHA-256 of its program as it is run."),
  description: text("What it does."),
  code: text("The program."),
  tools: { ...listOf({ type: "string" }), description: "Tools that it may call, of those that its caller may call." },
  inputSchema: SCHEMA,
  outputSchema: orNull(SCHEMA),
  inferredOutputSchema: orNull({
    ...SCHEMA,
    description: "JSON Schema made of the output of one call: models see it, and no output has to match it.",
  }),
  isInferred: { type: "boolean", description: "Whether `inputSchema` was made of the input of one call." },
  author: orNull(text("Name of the key that saved it.")),
  savedAt: text("When, in ISO 8601."),
  unusable: orNull(text("Why it cannot be called, or will fail.")),
});
const TENANT = { tenant: "The tenant, for a key without one of its own." };
const NAME = { name: "The snippet's name, without `snippets.`." };
const UNAVAILABLE = { 503: "The store of calls cannot be used." };

export const LIST_SNIPPETS: RouteDescription = {
  id: "listSnippets",
  tag: "tools",
  summary: "Lists the snippets of a tenant: programs that are its tools.",
  query: TENANT,
  answers: { 200: json("The snippets, by name.", listOf(SNIPPET)), ...refusals(UNAVAILABLE) },
};

export const GET_SNIPPET: RouteDescription = {
  id: "getSnippet",
  tag: "tools",
  summary: "Shows a snippet.",
  params: NAME,
  query: TENANT,
  answers: { 200: json("The snippet.", SNIPPET), ...refusals({ 404: "There is no such snippet.", ...UNAVAILABLE }) },
};

export const PUT_SNIPPET: RouteDescription = {
  id: "putSnippet",
  tag: "tools",
  summary: "Saves a program as a tool of one tenant.",
  description:
    "It may call the tools that its text names, of those that the key may call; and at each call only those that its caller may call. Calls of an earlier version end on it. With `callId` it is the program of a kept call of `run_code`, for which the key also needs the role `calls`.",
  params: NAME,
  query: TENANT,
  body: {
    "application/json": {
      schema: {
        type: "object",
        properties: {
          description: text("What it does."),
          code: text("The body of an async function in TypeScript, as `run_code` takes it."),
          callId: text("Id of a kept call of `run_code`, in place of `code`."),
          inputSchema: {
            type: "object",
            description: "JSON Schema of `input`. Default: made of the input of `callId`.",
          },
          outputSchema: {
            type: "object",
            description: "JSON Schema that each output has to match. Without it, all do.",
          },
        },
        required: ["description"],
      },
      example: {
        description: "Greets two.",
        code: "return [await tools.greet(input), await tools.greet({ name: 'all' })];",
      },
    },
  },
  answers: {
    200: json("The snippet.", SNIPPET),
    ...refusals({
      400: "The snippet is wrong: `error.message` says how, with the lines of a program's mistakes.",
      413: "The snippet is too large.",
      422: "Its tool cannot be registered, or there is no room for it.",
      ...UNAVAILABLE,
    }),
  },
};

export const DELETE_SNIPPET: RouteDescription = {
  id: "deleteSnippet",
  tag: "tools",
  summary: "Deletes a snippet.",
  params: NAME,
  query: TENANT,
  answers: {
    204: { description: "It is deleted." },
    ...refusals({ 404: "There is no such snippet.", ...UNAVAILABLE }),
  },
};
