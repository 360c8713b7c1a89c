import { json, type RouteDescription } from "./route-description.ts";

const MESSAGE = { type: "object", description: "A JSON-RPC 2.0 message of the Model Context Protocol." };
const EVENTS = { "text/event-stream": { schema: { type: "string" } } };
const ERRORS = {
  400: json("It is no message of the protocol.", MESSAGE),
  404: json("There is no such session.", MESSAGE),
  405: json("Not in this revision of the protocol, or the stream is not kept.", MESSAGE),
  406: json("The answer would be of another type.", MESSAGE),
  413: json("The body is too large.", MESSAGE),
  415: json("The body is not JSON.", MESSAGE),
  500: json("The request could not be answered.", MESSAGE),
  503: json("The server is about to stop.", MESSAGE),
};

/** OpenAPI descriptions of the MCP endpoint, by method; the MCP specification defines the rest. */
export const MCP = {
  POST: {
    id: "postMcp",
    tag: "protocols",
    summary: "Accepts a message of the Model Context Protocol (Streamable HTTP).",
    headers: { "Mcp-Session-Id": "The session, if any.", "Mcp-Protocol-Version": "The revision." },
    body: { "application/json": { schema: {} } },
    answers: {
      ...ERRORS,
      200: {
        description: "The response, or a stream of it.",
        content: { "application/json": { schema: {} }, ...EVENTS },
      },
      202: { description: "The message has no response." },
    },
  },
  GET: {
    id: "getMcp",
    tag: "protocols",
    summary: "Streams notifications of the server, or resumes the stream of a call.",
    headers: { "Mcp-Session-Id": "The session.", "Last-Event-ID": "The last event that the client has of the call." },
    answers: { ...ERRORS, 200: { description: "A stream.", content: EVENTS } },
  },
  DELETE: {
    id: "deleteMcp",
    tag: "protocols",
    summary: "Ends a session.",
    headers: { "Mcp-Session-Id": "The session." },
    answers: { ...ERRORS, 200: { description: "The session has ended." } },
  },
} as const satisfies Readonly<Record<"POST" | "GET" | "DELETE", RouteDescription>>;

/** The same for code mode. */
export const MCP_CODE = {
  POST: {
    ...MCP.POST,
    id: "postMcpCode",
    summary: "Accepts a message of the Model Context Protocol, with run_code and search_tools in place of all tools.",
  },
  GET: { ...MCP.GET, id: "getMcpCode" },
  DELETE: { ...MCP.DELETE, id: "deleteMcpCode" },
} as const satisfies Readonly<Record<keyof typeof MCP, RouteDescription>>;
