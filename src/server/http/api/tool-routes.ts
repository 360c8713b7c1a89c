import { json, refusals, type RouteDescription } from "./route-description.ts";
import { SCHEMAS } from "./schemas.ts";

const TOOL_INFOS = { type: "array", items: SCHEMAS.ToolInfo };
const PARAMS = { name: "The tool's name." };
const ETAG = { ETag: "Identifies the tool's current description." };
const PRECONDITION = { 412: "The tool's ETag does not satisfy the request's conditions." };

const DEFINITION = {
  name: "add",
  description: "Adds two numbers.",
  source: "export default ({ a, b }) => ({ sum: a + b });",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
};

export const LIST_TOOLS: RouteDescription = {
  id: "listTools",
  tag: "tools",
  summary: "Lists the tools.",
  answers: { 200: json("The tools that the caller may use.", TOOL_INFOS) },
};

export const GET_TOOL: RouteDescription = {
  id: "getTool",
  tag: "tools",
  summary: "Describes one tool.",
  params: PARAMS,
  headers: { "If-None-Match": "ETags of the client's cached copies." },
  answers: {
    200: { ...json("The tool.", SCHEMAS.ToolInfo), headers: ETAG },
    304: { description: "The client's cached copy is current." },
    ...refusals({ 404: "There is no such tool." }),
  },
};

export const GET_TYPES: RouteDescription = {
  id: "getTypes",
  tag: "tools",
  summary: "Declares the tools in TypeScript.",
  description:
    "A file of declarations: what callers send to each tool that the caller may use, and what they are answered.",
  query: { register: "`true`: with the types of engines and clients that are made without type arguments." },
  answers: {
    200: { description: "The file.", content: { "text/plain": { schema: { type: "string" } } } },
    ...refusals({ 400: "`register` is neither `true` nor `false`." }),
  },
};

export const EXPLAIN_TOOL: RouteDescription = {
  id: "explainTool",
  tag: "tools",
  summary: "Explains a tool's grants, limits and denied requests.",
  params: PARAMS,
  query: { tenant: "Tenant of the calls, unless the key has one." },
  answers: {
    200: json("The tool's grants, limits and denied requests.", SCHEMAS.Explanation),
    ...refusals({
      400: "The query has several tenants, or the tenant's name is too long.",
      404: "There is no such tool.",
    }),
  },
};

export const PUT_TOOL: RouteDescription = {
  id: "putTool",
  tag: "tools",
  summary: "Registers a tool, or replaces the tool of that name.",
  description: "Calls in flight end on the old version. The module is sent as text and must not import anything.",
  params: PARAMS,
  headers: {
    "If-Match": "ETags, one of which the current tool must have.",
    "If-None-Match": "`*`: no tool of that name may exist.",
  },
  body: { "application/json": { schema: SCHEMAS.ToolDefinition, example: DEFINITION } },
  answers: {
    200: { ...json("The tool replaced another one.", SCHEMAS.ToolInfo), headers: ETAG },
    201: { ...json("The tool is new.", SCHEMAS.ToolInfo), headers: ETAG },
    ...refusals({
      400: "The body is not a valid definition, or has another name than the URL.",
      409: "Another registration of the name is in progress.",
      ...PRECONDITION,
      413: "The body is too large.",
      422: "The tool could not be loaded: `error.message` says why.",
      503: "The server is stopping.",
    }),
  },
};

export const DELETE_TOOL: RouteDescription = {
  id: "deleteTool",
  tag: "tools",
  summary: "Removes a tool.",
  description: "Running calls continue to their end.",
  params: PARAMS,
  headers: { "If-Match": "ETags, one of which the current tool must have." },
  answers: {
    204: { description: "The tool is removed." },
    ...refusals({ 404: "There is no such tool.", ...PRECONDITION }),
  },
};
