import { json, type RouteDescription } from "./route-description.ts";

const MESSAGE = { type: "object", description: "JSON-RPC 2.0, as the Model Context Protocol has it." };
const EVENTS = { "text/event-stream": { schema: { type: "string" } } };
const ERRORS = {
  400: json("It is no message of the protocol.", MESSAGE),
  404: json("There is no such session.", MESSAGE),
  405: json("Not in this revision of the protocol.", MESSAGE),
  406: json("The answer would be of another type.", MESSAGE),
  413: json("The body is too large.", MESSAGE),
  415: json("The body is not JSON.", MESSAGE),
  500: json("The request could not be answered.", MESSAGE),
  503: json("The server is about to stop.", MESSAGE),
};

/** What the API's description says of the Model Context Protocol, by method: the rest of it is its own document's. */
export const MCP = {
  POST: {
    id: "postMcp",
    tag: "protocols",
    summary: "Takes a message of the Model Context Protocol, Streamable HTTP.",
    headers: { "Mcp-Session-Id": "The session, where there is one.", "Mcp-Protocol-Version": "The revision." },
    body: { "application/json": { schema: {} } },
    answers: {
      ...ERRORS,
      200: {
        description: "The answer, or a stream of it.",
        content: { "application/json": { schema: {} }, ...EVENTS },
      },
      202: { description: "It has no answer." },
    },
  },
  GET: {
    id: "getMcp",
    tag: "protocols",
    summary: "Streams what the server has to say of its own accord.",
    headers: { "Mcp-Session-Id": "The session." },
    answers: { ...ERRORS, 200: { description: "A stream.", content: EVENTS } },
  },
  DELETE: {
    id: "deleteMcp",
    tag: "protocols",
    summary: "Ends a session.",
    headers: { "Mcp-Session-Id": "The session." },
    answers: { ...ERRORS, 200: { description: "It has ended." } },
  },
} as const satisfies Readonly<Record<"POST" | "GET" | "DELETE", RouteDescription>>;
