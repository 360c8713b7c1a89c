import { json, refusals, type RouteDescription } from "./route-description.ts";
import { SCHEMAS } from "./schemas.ts";

const TOOL_INFOS = { type: "array", items: SCHEMAS.ToolInfo };
const PARAMS = { name: "The tool's name." };
const ETAG = { ETag: "Names what is told: other once the tool is." };
const PRECONDITION = { 412: "The tool is not the one that the request's conditions ask for." };

const DEFINITION = {
  name: "add",
  description: "Adds two numbers.",
  source: "export default ({ a, b }) => ({ sum: a + b });",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
};

export const LIST_TOOLS: RouteDescription = {
  id: "listTools",
  tag: "tools",
  summary: "Tells which tools there are.",
  answers: { 200: json("All tools that the caller may use.", TOOL_INFOS) },
};

export const GET_TOOL: RouteDescription = {
  id: "getTool",
  tag: "tools",
  summary: "Tells of one tool.",
  params: PARAMS,
  headers: { "If-None-Match": "ETags of what the client has already." },
  answers: {
    200: { ...json("The tool.", SCHEMAS.ToolInfo), headers: ETAG },
    304: { description: "It is what the client has." },
    ...refusals({ 404: "There is no such tool." }),
  },
};

export const EXPLAIN_TOOL: RouteDescription = {
  id: "explainTool",
  tag: "tools",
  summary: "Tells what a tool's calls are granted, within which limits, and what it asks for in vain.",
  params: PARAMS,
  query: { tenant: "For whose calls, where the key does not say so." },
  answers: {
    200: json("What it may do.", SCHEMAS.Explanation),
    ...refusals({ 400: "There are several tenants, or it is too long.", 404: "There is no such tool." }),
  },
};

export const PUT_TOOL: RouteDescription = {
  id: "putTool",
  tag: "tools",
  summary: "Registers a tool, or replaces the one of that name.",
  description: "Calls in flight end on the old version. The module is text, and imports nothing but what is in it.",
  params: PARAMS,
  headers: {
    "If-Match": "ETags: the tool has to be one of those.",
    "If-None-Match": "`*`: there may be no tool of that name yet.",
  },
  body: { "application/json": { schema: SCHEMAS.ToolDefinition, example: DEFINITION } },
  answers: {
    200: { ...json("It has replaced another.", SCHEMAS.ToolInfo), headers: ETAG },
    201: { ...json("It is new.", SCHEMAS.ToolInfo), headers: ETAG },
    ...refusals({
      400: "The body is no definition that a client may send, or of another name.",
      409: "Another registration of the name is under way.",
      ...PRECONDITION,
      413: "The body is too large.",
      422: "The tool could not be loaded: `error.message` says what to mend.",
      503: "The server stops.",
    }),
  },
};

export const DELETE_TOOL: RouteDescription = {
  id: "deleteTool",
  tag: "tools",
  summary: "Takes a tool out.",
  description: "Calls in flight end as they would.",
  params: PARAMS,
  headers: { "If-Match": "ETags: the tool has to be one of those." },
  answers: {
    204: { description: "It is gone." },
    ...refusals({ 404: "There is no such tool.", ...PRECONDITION }),
  },
};
