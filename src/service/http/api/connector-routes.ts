import { json, refusals, type RouteDescription } from "./route-description.ts";

const TEXTS = { type: "array", items: { type: "string" } };
const NULLABLE = { type: ["string", "null"] };
const CONNECTOR = {
  type: "object",
  properties: {
    name: { type: "string" },
    kind: { type: "string", enum: ["openapi", "mcp"] },
    server: { ...NULLABLE, description: "URL of its server; `null` for a process." },
    state: { type: "string", enum: ["up", "down"] },
    problem: { ...NULLABLE, description: "Why it is down." },
    tools: { ...TEXTS, description: "Names of its tools." },
    digest: { ...NULLABLE, description: "Digest of the list that its server has now, for the option `pin`." },
    pin: NULLABLE,
    findings: {
      type: "array",
      description: "Operations that are not tools, with the reasons.",
      items: {
        type: "object",
        properties: { tool: NULLABLE, reason: { type: "string" } },
        required: ["tool", "reason"],
      },
    },
  },
  required: ["name", "kind", "server", "state", "problem", "tools", "digest", "pin", "findings"],
};

export const LIST_CONNECTORS: RouteDescription = {
  id: "listConnectors",
  tag: "tools",
  summary: "Lists the connectors.",
  answers: { 200: json("The connectors, as they are now.", { type: "array", items: CONNECTOR }) },
};

export const REFRESH_CONNECTOR: RouteDescription = {
  id: "refreshConnector",
  tag: "tools",
  summary: "Reads the tools of a connector again.",
  params: { name: "The connector's name." },
  answers: {
    200: json("The connector with its tools.", CONNECTOR),
    ...refusals({
      404: "There is no such connector.",
      422: "Its document or its list cannot be read: `error.message` says why.",
      502: "Its server cannot be reached.",
    }),
  },
};
